//! Whole kernels, compared with Rust's results.

mod common;

use common::{Device, Params};

#[test]
fn vecadd() {
    let device = Device::new(include_str!("ptx/vecadd.ptx"));
    let n = 10_000u32;
    let a: Vec<f32> = (0..n).map(|i| i as f32 * 0.1).collect();
    let b: Vec<f32> = (0..n).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let (da, db, dc) = (
        device.upload(&a),
        device.upload(&b),
        device.upload(&vec![0f32; n as usize]),
    );
    let params = Params::new().u64(da).u64(db).u64(dc).u32(n);
    let stats = device
        .launch("vecadd", n.div_ceil(256), 256, params)
        .unwrap();
    assert_eq!(stats.threads, 40 * 256);
    let c: Vec<f32> = device.download(dc, n as usize);
    assert!(
        c.iter()
            .zip(a.iter().zip(&b))
            .all(|(c, (a, b))| *c == a + b)
    );
}
