//! Runs each program at a small size on the emulator. The programs compare their results with the
//! CPU and fail if they differ; the tests check that the pictures decode.

use example_gallery::{PROGRAMS, Report, find, run};
use std::io::Cursor;

/// Runs a program and checks that its PNG decodes to the same pixels.
fn check(name: &str, size: usize) -> Report {
    let device = cust::init_auto().unwrap();
    let report = run(find(name).unwrap(), Some(size), device.backend()).unwrap();
    let mut file = Vec::new();
    report.picture.encode(&mut file).unwrap();
    let mut decoder = png::Decoder::new(Cursor::new(&file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let info = reader.info();
    assert_eq!(info.width as usize, report.picture.width());
    assert_eq!(info.height as usize, report.picture.height());
    for frame in report.picture.frames() {
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels == frame.concat(), "{name}: the PNG has other pixels");
    }
    // Not a picture of one color.
    let first = &report.picture.frames()[0];
    assert!(first.iter().any(|color| *color != first[0]));
    report
}

#[test]
fn nbody() {
    // Not a multiple of the tile.
    assert_eq!(check("nbody", 70).picture.frames().len(), 40);
}

#[test]
fn filter() {
    // Not a multiple of the tile.
    assert_eq!(check("filter", 37).picture.height(), 37);
}

#[test]
fn wave() {
    assert_eq!(check("wave", 40).picture.frames().len(), 30);
}

#[test]
fn raytracer() {
    assert_eq!(check("raytracer", 24).picture.width(), 32);
}

#[test]
fn equalize() {
    check("equalize", 50);
}

#[test]
fn kmeans() {
    check("kmeans", 30);
}

#[test]
fn spectrogram() {
    assert_eq!(check("spectrogram", 5).picture.width(), 5);
}

#[test]
fn options() {
    check("options", 4);
}

#[test]
fn life() {
    assert_eq!(check("life", 21).picture.frames().len(), 40);
}

#[test]
fn network() {
    check("network", 16);
}

#[test]
fn wrong_input_is_an_error() {
    let error = find("mandelbrot").err().unwrap().to_string();
    assert!(error.starts_with("unknown program `mandelbrot`, expected one of nbody, "));
    for program in PROGRAMS {
        for size in [
            0,
            program.sizes.least - 1,
            program.sizes.most + 1,
            usize::MAX,
        ] {
            let device = cust::init_auto().unwrap();
            let error = run(program, Some(size), device.backend()).err().unwrap();
            let expected = format!("invalid size {size} for `{}`: expected", program.name);
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        let sizes = &program.sizes;
        assert!((sizes.least..=sizes.most).contains(&sizes.emulator));
        assert!((sizes.least..=sizes.most).contains(&sizes.gpu));
    }
}
