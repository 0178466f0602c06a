//! Heat in a plate: explicit steps of the heat equation with fixed borders.

use clap::Parser;
use rayon::prelude::*;

/// Simulates heat in a square plate.
#[derive(Parser, Debug, Clone)]
struct Options {
    /// Points along an edge.
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// Number of steps.
    #[arg(long, default_value_t = 200)]
    steps: usize,
    /// Diffusivity times the time step over the squared distance of points.
    #[arg(long, default_value_t = 0.2)]
    alpha: f64,
}

struct Grid {
    size: usize,
    cells: Vec<f64>,
}

impl Grid {
    fn new(size: usize) -> Grid {
        let mut cells = vec![0.0; size * size];
        cells[..size].fill(100.0);
        Grid { size, cells }
    }

    fn next(&self, i: usize, alpha: f64) -> f64 {
        let (n, cells) = (self.size, &self.cells);
        let (x, y) = (i % n, i / n);
        if x == 0 || y == 0 || x == n - 1 || y == n - 1 {
            return cells[i];
        }
        let around = cells[i - 1] + cells[i + 1] + cells[i - n] + cells[i + n];
        cells[i] + alpha * (around - 4.0 * cells[i])
    }

    fn step(&mut self, alpha: f64) {
        let mut next = vec![0.0; self.cells.len()];
        next.par_iter_mut()
            .enumerate()
            .for_each(|(i, to)| *to = self.next(i, alpha));
        self.cells = next;
    }

    fn mean(&self) -> f64 {
        self.cells.iter().sum::<f64>() / self.cells.len() as f64
    }
}

fn main() {
    let options = Options::parse();
    let mut grid = Grid::new(options.size);
    for _ in 0..options.steps {
        grid.step(options.alpha);
    }
    println!(
        "heat: mean {:.6} after {} steps",
        grid.mean(),
        options.steps
    );
}
