//! Low-pass filters, one for each channel.
use biquad::{Biquad, Coefficients, DirectForm2Transposed, Q_BUTTERWORTH_F32, ToHertz, Type};
use cuda_std::prelude::*;
use cust::memory::DeviceCopy;

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

#[derive(Clone, Copy)]
struct Filter(Coefficients<f32>);
// SAFETY: five numbers.
unsafe impl DeviceCopy for Filter {}

#[kernel]
fn filter_all(filters: &[Filter], mut channels: PerThread<Channel>) {
    channels.each_with(filters, |_, channel, of_channel| {
        filter(of_channel.0, channel)
    });
}

fn main() {
    cust::init_auto().unwrap();
    let mut channels = vec![[1.0; SAMPLES]; 32];
    let filters: Vec<Filter> = (0..32).map(|i| Filter(low_pass(i))).collect();
    cust::launch((1, 32), filter_all::args(&filters, &mut channels)).unwrap();
    for (i, of_device) in channels.iter().enumerate() {
        let mut of_cpu = [1.0; SAMPLES];
        filter(low_pass(i), &mut of_cpu);
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
        assert!(of_device.iter().zip(&of_cpu).all(close), "channel {i}");
    }
    println!("{:.5}", channels[31][SAMPLES - 1]);
}
