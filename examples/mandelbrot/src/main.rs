//! Example `mandelbrot`: draws the Mandelbrot set on the device and on the CPU, with the same
//! functions, checks that the images are equal byte for byte, and writes a PNG.

use cust::prelude::*;
use mandelbrot_kernels::{Complex, Rgb, View};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The module that `build.rs` compiled from the crate `kernels`.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

const HELP: &str = "\
Draws the Mandelbrot set on the device, compares with the CPU, and writes a PNG.

usage: example-mandelbrot [OPTIONS] [FILE]

  --width N, --height N   pixels (1024 × 1024)
  --iterations N          steps after which a point counts as inside (50)
  --re X, --im Y          the point in the middle (-0.5 + 0i)
  --size X                how wide a part of the plane to show (3)
  --check                 compare 16 small images of different steps, too (always on a GPU)
  FILE                    where to write the image (mandelbrot.png)";

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = pico_args::Arguments::from_env();
    if args.contains(["-h", "--help"]) {
        println!("{HELP}");
        return Ok(());
    }
    let check = args.contains("--check");
    let width = args.opt_value_from_str("--width")?.unwrap_or(1024);
    let height = args.opt_value_from_str("--height")?.unwrap_or(1024);
    let size = args.opt_value_from_str("--size")?.unwrap_or(3.0);
    let step = size / f64::from(width);
    let view = View {
        width,
        height,
        iterations: args.opt_value_from_str("--iterations")?.unwrap_or(50),
        center: Complex {
            re: args.opt_value_from_str("--re")?.unwrap_or(-0.5),
            im: args.opt_value_from_str("--im")?.unwrap_or(0.0),
        },
        step: Complex { re: step, im: step },
    };
    let file: Option<PathBuf> = args.opt_free_from_str()?;
    if let Some(unknown) = args.finish().first() {
        return Err(format!("unknown argument {unknown:?}\n\n{HELP}").into());
    }
    if width == 0 || height == 0 {
        return Err("an image has at least one pixel".into());
    }

    let device = cust::init_auto()?;
    println!("running on {device}");
    let module = Module::from_ptx(PTX, &[])?;
    let (image, time) = compare(&module, &view)?;
    let file = file.unwrap_or_else(|| "mandelbrot.png".into());
    write_png(&file, &view, &image)?;
    println!(
        "drew {width} × {height} pixels in {time:.3?}, equal to the CPU's: {}",
        file.display()
    );
    if check || device.backend() == Backend::Gpu {
        compare_small(&module)?;
        println!("16 images of different steps are equal to the CPU's");
    }
    Ok(())
}

/// Draws on both, compares, and says how long the device took.
fn compare(module: &Module, view: &View) -> Result<(Vec<Rgb>, Duration), Box<dyn Error>> {
    let start = Instant::now();
    let image = draw_on_device(module, view)?;
    let time = start.elapsed();
    let expected = draw_on_cpu(view);
    if let Some(i) = (0..image.len()).find(|&i| image[i] != expected[i]) {
        let (x, y) = (i % view.width as usize, i / view.width as usize);
        return Err(format!(
            "pixel ({x}, {y}) is {:?}, but on the CPU {:?}, of {view:?}",
            image[i].0, expected[i].0
        )
        .into());
    }
    Ok((image, time))
}

fn draw_on_device(module: &Module, view: &View) -> CudaResult<Vec<Rgb>> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let pixels = view.width as usize * view.height as usize;
    let image = DeviceBuffer::from_slice(&vec![Rgb::default(); pixels])?;
    let block = (16, 8);
    let grid = (view.width.div_ceil(block.0), view.height.div_ceil(block.1));
    // SAFETY: the image has as many pixels as the view, nobody else uses it, and it lives until
    // the stream is synchronized.
    unsafe {
        launch!(module.mandelbrot<<<grid, block, 0, stream>>>(*view, image.as_device_ptr()))?;
    }
    stream.synchronize()?;
    image.as_host_vec()
}

fn draw_on_cpu(view: &View) -> Vec<Rgb> {
    (0..view.height)
        .flat_map(|y| (0..view.width).map(move |x| view.pixel(x, y)))
        .collect()
}

/// Compares small images with many iterations, for steps of all combinations of four sizes.
fn compare_small(module: &Module) -> Result<(), Box<dyn Error>> {
    const STEPS: [f64; 4] = [0.01, 0.02, 0.04, 0.08];
    for re in STEPS {
        for im in STEPS {
            let view = View {
                width: 100,
                height: 100,
                iterations: 1000,
                center: Complex { re: -0.5, im: 0.0 },
                step: Complex { re, im },
            };
            compare(module, &view)?;
        }
    }
    Ok(())
}

fn write_png(path: &Path, view: &View, image: &[Rgb]) -> Result<(), Box<dyn Error>> {
    let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), view.width, view.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let bytes: Vec<u8> = image.iter().flat_map(|pixel| pixel.0).collect();
    encoder.write_header()?.write_image_data(&bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_images_equal_the_cpus() -> Result<(), Box<dyn Error>> {
        let _device = cust::init_auto()?;
        compare_small(&Module::from_ptx(PTX, &[])?)
    }
}
