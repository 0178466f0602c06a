use crate::{Outcome, close, floats, start};
use cust::prelude::*;
use samples_kernels::physics::*;

#[test]
fn n_body() -> Outcome {
    let (module, stream) = start();
    let numbers = floats(4 * 200);
    let bodies: Vec<Body> = numbers
        .chunks(4)
        .map(|x| Body {
            place: [x[0], x[1], x[2]],
            mass: x[3],
        })
        .collect();
    let mut to = DeviceBuffer::<[f32; 3]>::zeroed(bodies.len())?;
    let config = LaunchConfig::for_elements(bodies.len(), BODIES as u32);
    module.launch(
        &stream,
        config,
        samples_kernels::physics::n_body::args(&bodies.as_dbuf()?, &mut to),
    )?;
    let expected: Vec<f32> = bodies
        .iter()
        .flat_map(|on| {
            let pulls = bodies.iter().map(|&by| pull(on.place, by));
            pulls.fold([0.0; 3], |sum, pull| {
                std::array::from_fn(|i| sum[i] + pull[i])
            })
        })
        .collect();
    close(to.as_host_vec()?.as_flattened(), &expected, 1e-4);
    Ok(())
}

#[test]
fn stencil_in_three_dimensions() -> Outcome {
    let (module, stream) = start();
    let volume = Volume { x: 12, y: 10, z: 9 };
    let mut expected = floats(volume.x * volume.y * volume.z);
    let (mut a, mut b) = (
        expected.as_dbuf()?,
        DeviceBuffer::<f32>::zeroed(expected.len())?,
    );
    for _ in 0..3 {
        let config = LaunchConfig::for_elements(expected.len(), 128);
        module.launch(&stream, config, stencil_3d::args(volume, &a, &mut b))?;
        std::mem::swap(&mut a, &mut b);
        let from = expected.clone();
        for z in 1..volume.z - 1 {
            for y in 1..volume.y - 1 {
                for x in 1..volume.x - 1 {
                    let i = (z * volume.y + y) * volume.x + x;
                    let around: f32 = [1, volume.x, volume.x * volume.y]
                        .iter()
                        .map(|d| from[i - d] + from[i + d])
                        .sum();
                    expected[i] = 0.4 * from[i] + 0.1 * around;
                }
            }
        }
    }
    close(&a.as_host_vec()?, &expected, 1e-5);
    Ok(())
}

#[test]
fn heat_equation() -> Outcome {
    let (module, stream) = start();
    let (width, height) = (50, 20);
    let mut expected = floats(width * height);
    let (mut a, mut b) = (
        expected.as_dbuf()?,
        DeviceBuffer::<f32>::zeroed(expected.len())?,
    );
    for _ in 0..4 {
        module.launch(
            &stream,
            ((2, 3), (32, 8)),
            heat::args(0.2, &a, b.rows_mut(width)),
        )?;
        std::mem::swap(&mut a, &mut b);
        let from = expected.clone();
        for (i, to) in expected.iter_mut().enumerate() {
            let (x, y) = (i % width, i / width);
            let mut around = 0.0;
            around += if x > 0 { from[i - 1] } else { 0.0 };
            around += if x + 1 < width { from[i + 1] } else { 0.0 };
            around += if y > 0 { from[i - width] } else { 0.0 };
            around += if y + 1 < height { from[i + width] } else { 0.0 };
            *to = from[i] + 0.2 * (around - 4.0 * from[i]);
        }
    }
    close(&a.as_host_vec()?, &expected, 1e-5);
    Ok(())
}

#[test]
fn heat_in_a_graph() -> Outcome {
    let (module, stream) = start();
    let kernel = module.kernel::<heat_rod>()?;
    const N: usize = 300;
    let from = floats(N);
    let mut graph = GraphBuilder::new()?;
    let input = graph.buffer(LockedBuffer::from_slice(&from)?);
    let a = graph.buffer(DeviceBuffer::<f32>::zeroed(N)?);
    let b = graph.buffer(DeviceBuffer::<f32>::zeroed(N)?);
    let config = LaunchConfig::for_elements(N, 128);
    graph.copy(input, a)?;
    for _ in 0..5 {
        graph.launch(&kernel, config, heat_rod::args(0.25, a.read(), b.write()))?;
        graph.launch(&kernel, config, heat_rod::args(0.25, b.read(), a.write()))?;
    }
    graph.copy(a, input)?;
    let mut graph = graph.instantiate()?;
    for _ in 0..2 {
        graph.launch(&stream)?;
    }
    let mut expected = from;
    for _ in 0..20 {
        let from = expected.clone();
        for i in 1..N - 1 {
            expected[i] = from[i] + 0.25 * (from[i - 1] - 2.0 * from[i] + from[i + 1]);
        }
    }
    close(graph.get(input), &expected, 1e-5);
    Ok(())
}

#[test]
fn magnet() -> Outcome {
    let (module, stream) = start();
    const WIDTH: usize = 32;
    // Hot, a magnet is nothing; cold, it stays as it was.
    for (beta, ordered) in [(0.1, false), (1.0, true)] {
        let mut spins = vec![1i8; WIDTH * WIDTH].as_dbuf()?;
        for sweep in 0..20 {
            module.launch(
                &stream,
                (4, 128),
                ising::args(sweep, WIDTH, beta, &mut spins),
            )?;
        }
        let sum: i32 = spins
            .as_host_vec()?
            .iter()
            .map(|&spin| i32::from(spin))
            .sum();
        assert_eq!(sum > 900, ordered, "{sum}");
        assert_eq!(sum.abs() < 300, !ordered, "{sum}");
    }
    Ok(())
}

#[test]
fn wave_with_a_barrier_of_the_grid() -> Outcome {
    let (module, stream) = start();
    const N: usize = 200;
    let row: Vec<f32> = (0..N)
        .map(|i| (-(i as f32 - 60.0).powi(2) / 50.0).exp())
        .collect();
    let mut expected = [row.clone(), row.clone(), vec![0.0; N]];
    let mut rows = expected.concat().as_dbuf()?;
    const STEPS: usize = 12;
    let args = wave::args(STEPS, 0.25, &mut rows);
    module.launch(&stream, LaunchConfig::new(3, 64).cooperative(), args)?;
    for _ in 0..STEPS {
        for i in 1..N - 1 {
            let [before, now, next] = &mut expected;
            next[i] = 2.0 * now[i] - before[i] + 0.25 * (now[i - 1] - 2.0 * now[i] + now[i + 1]);
        }
        expected.rotate_left(1);
    }
    // After a multiple of three steps each row is where it began.
    close(&rows.as_host_vec()?, &expected.concat(), 1e-4);
    Ok(())
}
