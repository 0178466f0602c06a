//! Heat in a plate: explicit steps of the heat equation with fixed borders, `heat_cpu`
//! with a kernel.

use clap::Parser;
use cuda_std::prelude::*;
use cust::prelude::*;

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
    cells: DeviceBuffer<f64>,
}

impl Grid {
    fn new(size: usize) -> CudaResult<Grid> {
        let mut cells = vec![0.0; size * size];
        cells[..size].fill(100.0);
        let cells = DeviceBuffer::from_slice(&cells)?;
        Ok(Grid { size, cells })
    }

    fn step(&mut self, alpha: f64) -> CudaResult<()> {
        let mut next = DeviceBuffer::zeroed(self.cells.len())?;
        let config = LaunchConfig::for_elements(next.len(), 256);
        cust::launch(config, step::args(self.size, alpha, &self.cells, &mut next))?;
        self.cells = next;
        Ok(())
    }

    fn mean(&self) -> CudaResult<f64> {
        Ok(self.cells.as_host_vec()?.iter().sum::<f64>() / self.cells.len() as f64)
    }
}

fn next(n: usize, cells: &[f64], i: usize, alpha: f64) -> f64 {
    let (x, y) = (i % n, i / n);
    if x == 0 || y == 0 || x == n - 1 || y == n - 1 {
        return cells[i];
    }
    let around = cells[i - 1] + cells[i + 1] + cells[i - n] + cells[i + n];
    cells[i] + alpha * (around - 4.0 * cells[i])
}

#[kernel]
fn step(size: usize, alpha: f64, cells: &[f64], mut to: PerThread<f64>) {
    to.each(|i, to| *to = next(size, cells, i, alpha));
}

fn main() -> CudaResult<()> {
    cust::init_auto()?;
    let options = Options::parse();
    let mut grid = Grid::new(options.size)?;
    for _ in 0..options.steps {
        grid.step(options.alpha)?;
    }
    let mut expected = Grid::new(options.size)?.cells.as_host_vec()?;
    for _ in 0..options.steps {
        let cell = |i| next(options.size, &expected, i, options.alpha);
        expected = (0..expected.len()).map(cell).collect();
    }
    let sum: f64 = expected.iter().sum();
    assert!((grid.mean()? - sum / expected.len() as f64).abs() < 1e-9);
    println!(
        "heat: mean {:.6} after {} steps",
        grid.mean()?,
        options.steps
    );
    Ok(())
}
