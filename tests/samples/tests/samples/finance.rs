use crate::{Outcome, close, floats, start};
use cuda_std::random::{Philox, Xorwow};
use cust::prelude::*;
use samples_kernels::finance::*;

const MARKET: Market = Market {
    rate: 0.02,
    volatility: 0.3,
};

fn contracts(count: usize) -> Vec<Contract> {
    let numbers = floats(3 * count);
    let contract = |x: &[f32]| Contract {
        price: 5.0 + 25.0 * x[0],
        strike: 1.0 + 99.0 * x[1] / 4.0,
        years: 0.25 + 9.75 * x[2],
    };
    numbers.chunks(3).map(contract).collect()
}

#[test]
fn black_scholes() -> Outcome {
    let (module, stream) = start();
    let contracts = contracts(1000);
    let (mut call, mut put) = (
        DeviceBuffer::<f32>::zeroed(1000)?,
        DeviceBuffer::<f32>::zeroed(1000)?,
    );
    let config = LaunchConfig::for_elements(1000, 128);
    let device = contracts.as_dbuf()?;
    let args = samples_kernels::finance::black_scholes::args(&device, MARKET, &mut call, &mut put);
    module.launch(&stream, config, args)?;
    let expected: Vec<[f32; 2]> = contracts.iter().map(|c| c.black_scholes(MARKET)).collect();
    let part = |k: usize| expected.iter().map(|both| both[k]).collect::<Vec<_>>();
    close(&call.as_host_vec()?, &part(0), 1e-5);
    close(&put.as_host_vec()?, &part(1), 1e-5);
    Ok(())
}

#[test]
fn binomial_options() -> Outcome {
    let (module, stream) = start();
    let contracts = contracts(8);
    let mut prices = DeviceBuffer::<f32>::zeroed(8)?;
    module.launch(
        &stream,
        (8, 128),
        binomial::args(&contracts.as_dbuf()?, MARKET, &mut prices),
    )?;
    // The tree comes near to the formula.
    for (contract, price) in contracts.iter().zip(prices.as_host_vec()?) {
        let [call, _] = contract.black_scholes(MARKET);
        assert!((price - call).abs() < 0.05, "{contract:?}: {price}, {call}");
    }
    Ok(())
}

#[test]
fn monte_carlo_pi() -> Outcome {
    let (module, stream) = start();
    const THREADS: u64 = 256;
    const POINTS: u32 = 20;
    for generator in [0, 1] {
        let mut inside = DeviceBox::new(&0u32)?;
        let args =
            samples_kernels::finance::monte_carlo_pi::args(generator, 42, POINTS, &mut inside);
        module.launch(&stream, (2, THREADS as u32 / 2), args)?;
        let found = inside.as_host_value()?;
        let mut expected = 0;
        for thread in 0..THREADS {
            let (mut philox, mut xorwow) = (Philox::new(42, thread, 0), Xorwow::new(42, thread, 0));
            let mut coordinate = || {
                let word = if generator == 0 {
                    philox.next_u32()
                } else {
                    xorwow.next_u32()
                };
                (word >> 8) as f32 / 16_777_216.0
            };
            for _ in 0..POINTS {
                let (x, y) = (coordinate(), coordinate());
                expected += u32::from(x * x + y * y < 1.0);
            }
        }
        // Where a product and a sum are one operation, a point on the edge may be on the other side.
        assert!(found.abs_diff(expected) <= 1, "{found}, {expected}");
        let pi = 4.0 * found as f32 / (THREADS as u32 * POINTS) as f32;
        assert!((pi - std::f32::consts::PI).abs() < 0.1, "{pi}");
    }
    Ok(())
}

#[test]
fn monte_carlo_options() -> Outcome {
    let (module, stream) = start();
    let contract = Contract {
        price: 20.0,
        strike: 21.0,
        years: 1.0,
    };
    let mut prices = DeviceBuffer::<f32>::zeroed(256)?;
    module.launch(
        &stream,
        (2, 128),
        monte_carlo_call::args(contract, MARKET, 100, &mut prices),
    )?;
    let mean = prices.as_host_vec()?.iter().sum::<f32>() / 256.0;
    let [call, _] = contract.black_scholes(MARKET);
    assert!((mean - call).abs() < 0.1, "{mean}, {call}");
    Ok(())
}

/// Direction numbers of the first three dimensions, after Joe and Kuo.
fn directions() -> [[u32; 31]; 3] {
    // Degree, coefficients and first numbers of a polynomial.
    let make = |degree: usize, coefficients: u32, first: &[u32]| {
        let mut v = [0u32; 31];
        for i in 0..31 {
            v[i] = if i < degree {
                first[i] << (31 - i)
            } else {
                let mut x = v[i - degree] ^ (v[i - degree] >> degree);
                for k in 1..degree {
                    if coefficients >> (degree - 1 - k) & 1 == 1 {
                        x ^= v[i - k];
                    }
                }
                x
            };
        }
        v
    };
    let plain = std::array::from_fn(|i| 1 << (31 - i));
    [plain, make(1, 0, &[1]), make(2, 1, &[1, 3])]
}

#[test]
fn quasirandom() -> Outcome {
    let (mut module, stream) = start();
    module.global_mut::<DIRECTIONS>()?.set(&directions())?;
    const N: usize = 256;
    let mut numbers = DeviceBuffer::<f32>::zeroed(3 * N)?;
    module.launch(&stream, ((2, 3), 128), sobol::args(numbers.rows_mut(N)))?;
    for (dimension, numbers) in numbers.as_host_vec()?.chunks(N).enumerate() {
        // In each of as many equal parts there is one.
        let mut parts: Vec<u32> = numbers.iter().map(|x| (x * N as f32) as u32).collect();
        parts.sort_unstable();
        assert_eq!(
            parts,
            (0..N as u32).collect::<Vec<_>>(),
            "dimension {dimension}"
        );
    }
    Ok(())
}
