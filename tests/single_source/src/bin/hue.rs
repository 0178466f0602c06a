//! Turns the hue of an image.
use bytemuck::TransparentWrapper;
use cuda_std::prelude::*;
use cust::memory::Plain;
use palette::{IntoColor, Oklch, ShiftHue, Srgb};

fn turned(color: Srgb<u8>, degrees: f32) -> Srgb<u8> {
    let color: Oklch = color.into_linear::<f32>().into_color();
    let color: palette::LinSrgb = color.shift_hue(degrees).into_color();
    Srgb::from_linear(color)
}

#[kernel]
fn turn(degrees: f32, mut image: PerThread<Plain<Srgb<u8>>>) {
    image.each(|_, pixel| pixel.0 = turned(pixel.0, degrees));
}

fn main() {
    cust::init_auto().unwrap();
    let mut image: Vec<Srgb<u8>> = (0..64 * 64u32)
        .map(|i| Srgb::new((i % 64) as u8 * 4, (i / 64) as u8 * 4, 128))
        .collect();
    let original = image.clone();
    cust::launch(
        (16, 256),
        turn::args(90.0, Plain::wrap_slice_mut(&mut image)),
    )
    .unwrap();
    let of_cpu: Vec<Srgb<u8>> = original.iter().map(|&pixel| turned(pixel, 90.0)).collect();
    // The device's `cbrt`, `sin` and `cos` round otherwise.
    for (a, b) in image.iter().zip(&of_cpu) {
        let difference = |a: u8, b: u8| a.abs_diff(b) <= 1;
        assert!(
            difference(a.red, b.red) && difference(a.green, b.green) && difference(a.blue, b.blue)
        );
    }
    let sum: u32 = image
        .iter()
        .map(|p| u32::from(p.red) + 3 * u32::from(p.green) + 5 * u32::from(p.blue))
        .sum();
    println!("{:?} {sum}", image[100]);
}
