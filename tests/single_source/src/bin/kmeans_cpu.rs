//! Clusters random points by Lloyd's algorithm.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::prelude::*;
use rayon::prelude::*;

const CLUSTERS: usize = 8;
const DIMENSIONS: usize = 4;

/// Points around `CLUSTERS` centers.
fn points(count: usize, rng: &mut impl Rng) -> Array2<f32> {
    let centers = Array2::from_shape_fn((CLUSTERS, DIMENSIONS), |_| rng.random_range(-10.0..10.0));
    Array2::from_shape_fn((count, DIMENSIONS), |(i, d)| {
        centers[[i % CLUSTERS, d]] + rng.random_range(-1.0..1.0f32)
    })
}

fn distance(a: ArrayView1<f32>, b: ArrayView1<f32>) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

fn nearest(point: ArrayView1<f32>, centroids: &Array2<f32>) -> usize {
    (0..centroids.nrows())
        .min_by(|&a, &b| {
            let of = |i| distance(point, centroids.row(i));
            of(a).total_cmp(&of(b))
        })
        .unwrap()
}

fn assign(points: &Array2<f32>, centroids: &Array2<f32>) -> Vec<usize> {
    (0..points.nrows())
        .into_par_iter()
        .map(|i| nearest(points.row(i), centroids))
        .collect()
}

fn update(points: &Array2<f32>, labels: &[usize], centroids: &mut Array2<f32>) {
    for (k, mut centroid) in centroids.axis_iter_mut(Axis(0)).enumerate() {
        let members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == k).collect();
        if members.is_empty() {
            continue;
        }
        let sum = members
            .iter()
            .fold(Array1::zeros(DIMENSIONS), |sum: Array1<f32>, &i| {
                sum + points.row(i)
            });
        centroid.assign(&(sum / members.len() as f32));
    }
}

fn main() {
    let mut rng = StdRng::seed_from_u64(7);
    let points = points(4000, &mut rng);
    let chosen = rand::seq::index::sample(&mut rng, points.nrows(), CLUSTERS).into_vec();
    let mut centroids = points.select(Axis(0), &chosen);
    let mut labels = Vec::new();
    for round in 1.. {
        let new = assign(&points, &centroids);
        let changed = (0..new.len())
            .filter(|&i| labels.get(i) != Some(&new[i]))
            .count();
        labels = new;
        if changed == 0 {
            println!("kmeans: converged after {round} rounds");
            break;
        }
        update(&points, &labels, &mut centroids);
    }
    let inertia: f32 = (0..points.nrows())
        .map(|i| distance(points.row(i), centroids.row(labels[i])))
        .sum();
    println!("inertia {inertia:.3}");
}
