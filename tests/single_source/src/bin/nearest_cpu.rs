//! The nearest neighbors of points.
use heapless::{BinaryHeap, binary_heap::Max};
use nalgebra::{Isometry3, Point3, Vector3};
use ordered_float::OrderedFloat;
use rayon::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    Near { index: u32, distance: f32 },
    Far(f32),
    Nothing,
}

fn nearest<const K: usize>(
    points: &[Point3<f32>],
    query: Point3<f32>,
    limit: Option<f32>,
) -> [Found; K] {
    let mut heap: BinaryHeap<(OrderedFloat<f32>, u32), Max, K> = BinaryHeap::new();
    for (i, point) in points.iter().enumerate() {
        let item = (OrderedFloat((point - query).norm_squared()), i as u32);
        if heap.push(item).is_err() && item < *heap.peek().unwrap() {
            *heap.peek_mut().unwrap() = item;
        }
    }
    let mut found = [Found::Nothing; K];
    for slot in found.iter_mut().rev() {
        if let Some((OrderedFloat(distance), index)) = heap.pop() {
            *slot = match limit {
                Some(limit) if distance > limit => Found::Far(distance),
                _ => Found::Near { index, distance },
            };
        }
    }
    found
}

fn main() {
    let turn = Isometry3::new(Vector3::new(1.0, 0.0, 0.5), Vector3::y() * 0.7);
    let points: Vec<Point3<f32>> = (0..200)
        .map(|i| {
            Point3::new(
                (i * 37 % 101) as f32,
                (i * 53 % 97) as f32,
                (i * 71 % 89) as f32,
            )
        })
        .collect();
    let found: Vec<[Found; 5]> = points
        .par_iter()
        .map(|p| nearest(&points, turn * p, Some(150.0)))
        .collect();
    println!("{:?} {:?}", found[17], found[150]);
}
