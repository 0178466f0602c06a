//! Turns the hue of an image.
use palette::{IntoColor, Oklch, ShiftHue, Srgb};
use rayon::prelude::*;

fn turned(color: Srgb<u8>, degrees: f32) -> Srgb<u8> {
    let color: Oklch = color.into_linear::<f32>().into_color();
    let color: palette::LinSrgb = color.shift_hue(degrees).into_color();
    Srgb::from_linear(color)
}

fn main() {
    let mut image: Vec<Srgb<u8>> = (0..64 * 64u32)
        .map(|i| Srgb::new((i % 64) as u8 * 4, (i / 64) as u8 * 4, 128))
        .collect();
    image
        .par_iter_mut()
        .for_each(|pixel| *pixel = turned(*pixel, 90.0));
    let sum: u32 = image
        .iter()
        .map(|p| u32::from(p.red) + 3 * u32::from(p.green) + 5 * u32::from(p.blue))
        .sum();
    println!("{:?} {sum}", image[100]);
}
