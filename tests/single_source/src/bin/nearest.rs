//! The nearest neighbors of points.
use cuda_std::prelude::*;
use cust::memory::DeviceCopy;
use heapless::{BinaryHeap, binary_heap::Max};
use nalgebra::{Isometry3, Point3, Vector3};
use ordered_float::OrderedFloat;

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
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

#[kernel]
fn find<const K: usize>(
    points: &[Point3<f32>],
    turn: Isometry3<f32>,
    limit: Option<f32>,
    mut to: PerThread<[Found; K]>,
) {
    to.each(|i, to| *to = nearest(points, turn * points[i], limit));
}

fn main() {
    cust::init_auto().unwrap();
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
    let mut found = vec![[Found::Nothing; 5]; points.len()];
    cust::launch((1, 256), find::args(&points, turn, Some(150.0), &mut found)).unwrap();
    for (point, of_device) in points.iter().zip(&found) {
        let of_cpu = nearest::<5>(&points, turn * point, Some(150.0));
        for (a, b) in of_device.iter().zip(&of_cpu) {
            // The device contracts multiplications and additions.
            let near = |a: &f32, b: &f32| (a - b).abs() < 1e-5 * b;
            let is_same = match (a, b) {
                (
                    Found::Near {
                        index: i,
                        distance: a,
                    },
                    Found::Near {
                        index: j,
                        distance: b,
                    },
                ) => i == j && near(a, b),
                (Found::Far(a), Found::Far(b)) => near(a, b),
                _ => a == b,
            };
            assert!(is_same, "{a:?}, {b:?}");
        }
    }
    println!("{:?} {:?}", found[17], found[150]);
}
