//! Lengths of Bézier curves.
use cuda_std::prelude::*;
use cust::memory::DeviceCopy;
use kurbo::{BezPath, CubicBez, ParamCurveArclen, PathSeg};

const PATH: &str = "M0 0C10 40 60 -20 80 30C90 60 20 70 10 90S40 120 70 110Q90 100 100 60";

fn length(curve: CubicBez) -> f64 {
    curve.arclen(1e-9)
}

#[derive(Clone, Copy)]
struct Curve(CubicBez);
// SAFETY: four points, each of two numbers.
unsafe impl DeviceCopy for Curve {}

#[kernel]
fn measure(curves: &[Curve], mut lengths: PerThread<f64>) {
    lengths.each_with(curves, |_, to, curve| *to = length(curve.0));
}

fn main() {
    cust::init_auto().unwrap();
    let path = BezPath::from_svg(PATH).unwrap();
    let curves: Vec<Curve> = path
        .segments()
        .map(|segment: PathSeg| Curve(segment.to_cubic()))
        .collect();
    let mut lengths = vec![0.0; curves.len()];
    cust::launch((1, 32), measure::args(&curves, &mut lengths)).unwrap();
    for (of_device, curve) in lengths.iter().zip(&curves) {
        let of_cpu = length(curve.0);
        assert!((of_device - of_cpu).abs() < 1e-12, "{of_device}, {of_cpu}");
    }
    println!("{lengths:.6?}");
}
