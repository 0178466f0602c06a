//! Runs loops over parts of slices before and after `ptx::finish` unrolls them: a row of a sparse
//! matrix, whose columns are indices of another slice. Results and panics must be the same, and no
//! load may be outside of a slice, which the emulator reports.

mod common;

use common::generator::{Code, Generator, PANIC, settings};
use common::{Device, Params, before_and_after, module};
use fastrand::Rng;

/// Returns a kernel in which each thread adds up the elements of a row, times those of a vector.
fn kernel(rng: &mut Rng) -> String {
    let mut pick = |all: &[&str]| all[rng.usize(..all.len())].to_owned();
    // The test of the row's end may be missing: then the slices need not contain the row.
    let end = pick(&[
        "setp.gt.u64 %p3, %end, %columns_len;\n@%p3 bra $P1;",
        "setp.gt.u64 %p3, %end, %columns_len;\n@%p3 bra $P1;\n\
         setp.gt.u64 %p3, %end, %values_len;\n@%p3 bra $P2;",
        "",
    ]);
    let start = pick(&["0", "%lane"]);
    let step = pick(&["1", "2", "32"]);
    let scaled = |index: &str, bits: u32, to: &str| match bits {
        64 => format!("shl.b64 {to}, {index}, 2;"),
        _ => format!("cvt.u32.u64 %r8, {index};\nmul.wide.u32 {to}, %r8, 4;"),
    };
    let bits = [32, 64][rng.usize(..2)];
    let from_start = scaled("%start", bits, "%rd9");
    let from_index = scaled("%i", 64, "%rd15");
    let mut pick = |all: &[&str]| all[rng.usize(..all.len())].to_owned();
    let sum = |rng: &str, a: &str, b: &str| match rng {
        "a" => format!("{a}, {b}"),
        _ => format!("{b}, {a}"),
    };
    let order = pick(&["a", "b"]);
    let columns = sum(&order, "%columns", "%rd9");
    let values = sum(&pick(&["a", "b"]), "%values", "%rd9");
    let at_column = sum(&pick(&["a", "b"]), "%rd10", "%rd15");
    let at_value = sum(&pick(&["a", "b"]), "%rd11", "%rd15");
    let offset = pick(&["", "", "", "+4"]);
    let exits = pick(&["setp.lt.u64", "setp.lt.u64", "setp.ne.s64"]);
    let mut body = format!(
        "
        .reg .b64 %columns, %columns_len, %values, %values_len, %xs, %xs_len, %starts, %to;
        .reg .b64 %columns_param, %values_param, %xs_param, %starts_param, %to_param;
        .reg .b64 %start, %end, %n, %i, %lane, %zero;
        .reg .b32 %sum;
        ld.param.u64 %columns_param, [k_param_0];
        cvta.to.global.u64 %columns, %columns_param;
        ld.param.u64 %columns_len, [k_param_1];
        ld.param.u64 %values_param, [k_param_2];
        cvta.to.global.u64 %values, %values_param;
        ld.param.u64 %values_len, [k_param_3];
        ld.param.u64 %xs_param, [k_param_4];
        cvta.to.global.u64 %xs, %xs_param;
        ld.param.u64 %xs_len, [k_param_5];
        ld.param.u64 %starts_param, [k_param_6];
        cvta.to.global.u64 %starts, %starts_param;
        ld.param.u64 %to_param, [k_param_7];
        cvta.to.global.u64 %to, %to_param;
        mov.u64 %zero, 0;
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %laneid;
        and.b32 %r2, %r2, 3;
        cvt.u64.u32 %lane, %r2;
        mad.wide.u32 %starts, %r1, 16, %starts;
        mad.wide.u32 %to, %r1, 32, %to;
        ld.global.u64 %start, [%starts];
        ld.global.u64 %end, [%starts+8];
        setp.lt.u64 %p1, %end, %start;
        @%p1 bra $P0;
        sub.s64 %n, %end, %start;
        {end}
        mov.u32 %sum, 7;
        mov.u64 %i, {start};
        setp.le.u64 %p2, %n, %i;
        @%p2 bra $done;
        {from_start}
        add.s64 %rd10, {columns};
        add.s64 %rd11, {values};
        $loop:
        {from_index}
        add.s64 %rd16, {at_column};
        ld.global.nc.u32 %r3, [%rd16{offset}];
        cvt.u64.u32 %rd17, %r3;
        setp.lt.u64 %p4, %rd17, %xs_len;
        @!%p4 bra $P3;
        add.s64 %rd18, {at_value};
        ld.global.nc.u32 %r4, [%rd18];
        shl.b64 %rd19, %rd17, 2;
        add.s64 %rd20, %xs, %rd19;
        ld.global.nc.u32 %r5, [%rd20];
        mad.lo.s32 %r6, %r4, %r5, %sum;
        xor.b32 %sum, %r6, %r4;
        add.s64 %i, %i, {step};
        {exits} %p5, %i, %n;
        @%p5 bra $loop;
        $done:
        st.global.u32 [%to], %sum;
        ret;
        "
    );
    let mut code = Code::default();
    for (number, index) in (0..).zip(["%start", "%end", "%end", "%rd17"]) {
        code.add_panic("panic", "%to", number, index, "%zero");
    }
    body += &code.panics;
    let params: Vec<String> = (0..8).map(|n| format!(".param .u64 k_param_{n}")).collect();
    module(PANIC, &params.join(", "), &body)
}

#[test]
fn unrolled_rows_have_the_same_results() {
    const THREADS: usize = 32;
    let (seed, kernels) = settings(300);
    let (mut unrolled, mut started, mut faults) = (0, 0, 0);
    for seed in seed.map_or(0..kernels, |seed: u64| seed..seed + 1) {
        let mut rng = Rng::with_seed(seed);
        let text = kernel(&mut rng);
        let slices = [(0, 4), (2, 4), (4, 4)];
        let [plain, fast] = before_and_after(&text, &slices, &[]);
        unrolled += u64::from(fast.matches("ld.global.nc").count() > 12);
        // Loads behind checks are predicated if others start with the indices.
        let is_guarded = |line: &&str| line.contains("@") && line.contains("ld.global.nc");
        started += u64::from(fast.lines().filter(is_guarded).count() >= 10);
        // The emulator detects accesses past the last 256 bytes of an allocation.
        let columns_len = rng.usize(1..200);
        let values_len = match rng.bool() {
            true => columns_len,
            false => 64 * rng.usize(1..3),
        };
        let xs_len = rng.usize(1..20);
        let is_wrong = rng.u32(..3) == 0;
        let most = match is_wrong {
            true => xs_len + 1,
            false => xs_len,
        };
        let mut words = |len: usize, most: usize| -> Vec<u32> {
            (0..len).map(|_| rng.usize(..most) as u32).collect()
        };
        let mut columns = words(columns_len, most);
        let (values, xs) = (words(values_len, 1 << 31), words(xs_len, 1 << 31));
        if rng.bool() {
            // A thread panics before it would load a value past the end.
            columns
                .iter_mut()
                .skip(values_len)
                .for_each(|column| *column = xs_len as u32);
        }
        let ends: Vec<u64> = (0..THREADS)
            .flat_map(|_| {
                let mut pair = [(); 2].map(|()| rng.u64(..=columns_len as u64));
                if rng.u32(..20) > 0 {
                    pair.sort_unstable();
                }
                pair
            })
            .collect();
        let run = |text: &str| -> Result<Vec<u64>, String> {
            let device = Device::new(text);
            let params = Params::new()
                .u64(device.upload(&columns))
                .u64(columns.len() as u64)
                .u64(device.upload(&values))
                .u64(values.len() as u64)
                .u64(device.upload(&xs))
                .u64(xs.len() as u64)
                .u64(device.upload(&ends));
            let to = device.upload(&vec![0u64; 4 * THREADS]);
            let launched = device.launch("k", 1, THREADS as u32, params.u64(to));
            launched.map_err(|fault| fault.to_string())?;
            Ok(device.download(to, 4 * THREADS))
        };
        let (expected, found) = (run(&plain), run(&fast));
        faults += u64::from(expected.is_err());
        // Threads of a kernel without a test may read past the end, at the same place or not.
        assert_eq!(
            expected.is_err(),
            found.is_err(),
            "seed {seed}\n{text}\n{fast}"
        );
        if let (Ok(expected), Ok(found)) = (expected, found) {
            assert_eq!(found, expected, "seed {seed}\n{text}\n{fast}");
        }
    }
    assert!(
        unrolled > kernels / 3 || seed.is_some(),
        "{unrolled} of {kernels} are unrolled"
    );
    assert!(
        started > kernels / 4 || seed.is_some(),
        "{started} of {kernels} start loads early"
    );
    assert!(
        faults < kernels / 2 || seed.is_some(),
        "{faults} of {kernels} fault"
    );
}
