//! Low-pass filters, one for each channel.
use biquad::{Biquad, Coefficients, DirectForm2Transposed, Q_BUTTERWORTH_F32, ToHertz, Type};
use rayon::prelude::*;

const SAMPLES: usize = 64;

type Channel = [f32; SAMPLES];

fn low_pass(i: usize) -> Coefficients<f32> {
    let cutoff = (100.0 + 50.0 * i as f32).hz();
    Coefficients::from_params(Type::LowPass, 8.khz(), cutoff, Q_BUTTERWORTH_F32).unwrap()
}

fn filter(coefficients: Coefficients<f32>, channel: &mut Channel) {
    let mut filter = DirectForm2Transposed::<f32>::new(coefficients);
    for sample in channel {
        *sample = filter.run(*sample);
    }
}

fn main() {
    let mut channels = vec![[1.0; SAMPLES]; 32];
    channels
        .par_iter_mut()
        .enumerate()
        .for_each(|(i, channel)| filter(low_pass(i), channel));
    println!("{:.5}", channels[31][SAMPLES - 1]);
}
