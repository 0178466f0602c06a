//! Lengths of Bézier curves.
use kurbo::{BezPath, CubicBez, ParamCurveArclen, PathSeg};
use rayon::prelude::*;

const PATH: &str = "M0 0C10 40 60 -20 80 30C90 60 20 70 10 90S40 120 70 110Q90 100 100 60";

fn length(curve: CubicBez) -> f64 {
    curve.arclen(1e-9)
}

fn main() {
    let path = BezPath::from_svg(PATH).unwrap();
    let curves: Vec<CubicBez> = path
        .segments()
        .map(|segment: PathSeg| segment.to_cubic())
        .collect();
    let lengths: Vec<f64> = curves.par_iter().map(|&curve| length(curve)).collect();
    println!("{lengths:.6?}");
}
