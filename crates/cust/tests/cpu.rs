//! Kernels that run on the CPU: barriers, shared memory, warps, atomics, panics and errors.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use cuda_std::atomic::{Atomic, Ordering};
use cuda_std::prelude::*;
use cuda_std::scope::{Block, Device};
use cuda_std::shared::{Array, Dynamic, Shared};
use cuda_std::{PerBlock, group, warp};
use cust::error::{CpuFault, CpuLaunch, Error};
use cust::kernel::LaunchConfig;
use cust::{launch_cpu, launch_cpu_on_fibers};

#[kernel]
fn vecadd(a: &[f32], b: &[f32], mut c: PerThread<f32>) {
    for (i, c) in c.own() {
        *c = a[i] + b[i];
    }
}

#[test]
fn threads_have_their_elements() {
    let a: Vec<f32> = (0..100_000u32).map(|i| i as f32).collect();
    let mut c = vec![0.0; a.len()];
    for config in [(1, 1), (3, 64), (391, 256)] {
        c.fill(0.0);
        launch_cpu(config, vecadd::args(&a, &a, &mut c)).unwrap();
        assert!(a.iter().zip(&c).all(|(a, c)| a + a == *c));
    }
}

#[kernel]
fn places(mut to: PerThread<[u32; 6]>) {
    for (_, to) in to.own() {
        let (block, thread) = (thread::block_idx(), thread::thread_idx());
        *to = [block.x, block.y, block.z, thread.x, thread.y, thread.z];
    }
}

#[test]
fn three_dimensions_are_counted_as_on_a_device() {
    let mut to = vec![[0; 6]; 2 * 3 * 4 * 5 * 2 * 3];
    launch_cpu(((2, 3, 4), (5, 2, 3)), places::args(&mut to)).unwrap();
    for (i, place) in to.iter().enumerate() {
        let i = i as u32;
        let (block, thread) = (i / 30, i % 30);
        let expected = [
            block % 2,
            block / 2 % 3,
            block / 6,
            thread % 5,
            thread / 5 % 2,
            thread / 10,
        ];
        assert_eq!(*place, expected);
    }
}

#[kernel]
fn reverse(
    #[shared] mut tile: Shared<Array<u32, 64>>,
    #[shared] mut more: Shared<Dynamic<u32>>,
    from: &[u32],
    mut to: PerThread<u32>,
) {
    let base = thread::block_index() as usize * 64;
    for _ in 0..3 {
        tile.own().each(|i, element| *element = from[base + i]);
        more.own().each(|i, element| *element = i as u32);
        let (tile, numbers) = (&mut tile, &mut more);
        tile.read(|tile| {
            numbers.read(|numbers| {
                for (i, to) in to.own() {
                    *to = tile[63 - i % 64] + numbers[i % 64];
                }
            });
        });
    }
}

#[test]
fn shared_memory_is_of_the_block() {
    let from: Vec<u32> = (0..6400).map(|i| i * 7).collect();
    let mut to = vec![0; 6400];
    launch_cpu((100, 64, 256), reverse::args(&from, &mut to)).unwrap();
    for (i, to) in to.iter().enumerate() {
        assert_eq!(*to, from[i / 64 * 64 + 63 - i % 64] + (i % 64) as u32);
    }
}

#[kernel]
fn empty_and_full(mut to: PerThread<u32>) {
    // On the host, a static without bytes may have the address of one of the arrays.
    let empty = [
        shared_array![u64; 0].addr(),
        shared_array![u32; 0].addr(),
        shared_array![u128; 0].addr(),
    ];
    let first = shared_array![u32; 64];
    let second = shared_array![u64; 64];
    let thread = thread::index_in_block() as usize;
    // SAFETY: each thread accesses its own elements.
    unsafe {
        first.add(thread).write(thread as u32);
        second.add(thread).write(empty.len() as u64);
        to.each(|_, to| *to = *first.add(thread) + *second.add(thread) as u32);
    }
}

#[test]
fn empty_arrays_share_no_memory_with_others() {
    let mut to = [0; 64];
    launch_cpu((1, 64), empty_and_full::args(&mut to)).unwrap();
    assert_eq!(to, std::array::from_fn(|i| i as u32 + 3));
}

#[kernel]
fn sums(from: &[f32], mut blocks: PerBlock<f32>, mut ranks: PerThread<u32>) {
    let mine = thread::elements(from).fold(0.0, |sum, (_, x)| sum + x);
    let sum = group::block().reduce(mine, |a, b| a + b);
    blocks.each(|_, to| *to = sum);
    let rank = group::block().exclusive_scan(1u32, 0, |a, b| a + b);
    let lane = warp::shuffle_xor(warp::FULL, thread::lane_id(), 5);
    let odd = warp::ballot(warp::FULL, thread::lane_id() % 2 == 1);
    ranks.each(|_, to| *to = rank * 1000 + lane + u32::from(odd == 0xAAAA_AAAA) * 500);
}

#[test]
fn blocks_and_warps_reduce_and_scan() {
    let from = vec![1.0; 10_000];
    let (mut blocks, mut ranks) = (vec![0.0; 10], vec![0; 1280]);
    launch_cpu((10, 128), sums::args(&from, &mut blocks, &mut ranks)).unwrap();
    assert_eq!(blocks.iter().sum::<f32>(), 10_000.0);
    for (i, rank) in ranks.iter().enumerate() {
        let i = i as u32 % 128;
        assert_eq!(*rank, i * 1000 + ((i % 32) ^ 5) + 500);
    }
}

#[kernel]
fn histogram(
    #[shared] mut counts: Shared<Array<Atomic<u32, Block>, 256>>,
    from: &[u8],
    to: &[Atomic<u32, Device>],
) {
    counts.own().each(|_, count| *count.get_mut() = 0);
    counts.read(|counts| {
        for (_, &byte) in thread::elements(from) {
            counts[usize::from(byte)].fetch_add(1, Ordering::Relaxed);
        }
    });
    counts.own().each(|i, count| {
        to[i].fetch_add(*count.get_mut(), Ordering::Relaxed);
    });
}

#[test]
fn atomics_count_over_all_workers() {
    let from: Vec<u8> = (0..100_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let mut expected = [0; 256];
    for &byte in &from {
        expected[usize::from(byte)] += 1;
    }
    let mut counts = [0; 256];
    launch_cpu((50, 96), histogram::args(&from, &mut counts)).unwrap();
    assert_eq!(counts, expected);
}

/// Each thread signals the previous thread, which started earlier.
#[kernel]
fn hand_on(flag: &[Atomic<u32, Device>]) {
    let i = thread::index() as usize;
    if i + 1 < flag.len() {
        while flag[i + 1].load(Ordering::Acquire) == 0 {}
    }
    flag[i].store(1, Ordering::Release);
}

#[test]
fn threads_that_wait_in_a_loop_let_others_run() {
    let mut flags = vec![0; 64];
    launch_cpu((1, 64), hand_on::args(&mut flags)).unwrap();
    assert_eq!(flags, [1; 64]);
}

#[kernel]
fn fails(how: u32, xs: &[u32], mut ys: PerThread<u32>) {
    let i = thread::index() as usize;
    match how {
        0 => ys.each(|_, y| *y = xs[i]),
        1 if i == 70 => panic!("thread {i} gives up"),
        2 if i % 32 < 5 => thread::exit(),
        // A lane never arrives at the warp operation, because it waits elsewhere.
        3 if i == 3 => thread::sync_threads(),
        3 => warp::sync(warp::FULL),
        4 => warp::sync(0),
        5 => drop(group::cluster().rank()),
        6 => cuda_std::barrier::Barrier::<1>.sync(33),
        _ => {}
    }
    thread::sync_threads();
    ys.each(|_, y| *y += 1);
}

fn fault(how: u32) -> CpuFault {
    let mut ys = [0; 128];
    match launch_cpu((1, 64), fails::args(how, &[], &mut ys)) {
        Err(Error::CpuLaunch(error)) => {
            let CpuLaunch { kernel, reason, .. } = *error;
            assert_eq!(kernel, "fails");
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn panics_are_errors_and_the_others_go_on() {
    let mut ys = [0; 128];
    let error = launch_cpu((2, 64), fails::args(1, &[], &mut ys)).unwrap_err();
    let panic = error.panic().unwrap();
    assert_eq!(panic.message, "thread 70 gives up");
    assert_eq!((panic.block, panic.thread), ([1, 0, 0], [6, 0, 0]));
    assert_eq!(panic.kernel(), Some("fails"));
    assert!(panic.file.ends_with("cpu.rs") && panic.line > 0);
    assert_eq!(ys.iter().sum::<u32>(), 127);
    assert_eq!(ys[70], 0);
    // If several threads panic, the panic of the first thread is returned.
    let error = launch_cpu((2, 64), fails::args(0, &[1; 5], &mut ys)).unwrap_err();
    let panic = error.panic().unwrap();
    assert_eq!(
        panic.message,
        "index out of bounds: the len is 5 but the index is 5"
    );
    assert_eq!(panic.thread, [5, 0, 0]);
}

#[test]
fn exited_threads_are_not_waited_for() {
    let mut ys = [0; 128];
    launch_cpu((2, 64), fails::args(2, &[], &mut ys)).unwrap();
    assert_eq!(ys.iter().sum::<u32>(), 128 - 20);
}

#[test]
fn what_cannot_go_on_is_an_error() {
    assert_eq!(
        fault(3).to_string(),
        "deadlock in block (0, 0, 0): 33 threads wait at barrier 0, 31 lanes of warp 0 wait at \
         `bar.warp` with mask 0xffffffff, and no thread is left that could arrive"
    );
    assert!(matches!(fault(4), CpuFault::Invalid(text) if text.contains("own lane 0")));
    let CpuFault::Unsupported(what) = fault(5) else {
        panic!();
    };
    assert_eq!(what, "`cluster_ctarank`");
    assert!(matches!(fault(6), CpuFault::Invalid(text) if text.contains("33 threads")));
}

#[test]
fn sizes_are_those_of_devices() {
    let (a, mut c) = ([1.0], [0.0]);
    for config in [(0, 1), (1, 1025), (1, 0)] {
        let error = launch_cpu(config, vecadd::args(&a, &a, &mut c)).unwrap_err();
        assert!(matches!(error, Error::LaunchSize(_)), "{error}");
    }
    let config = LaunchConfig::new(1, 1).cooperative();
    let error = launch_cpu(config, vecadd::args(&a, &a, &mut c)).unwrap_err();
    assert!(
        error.to_string().contains("cooperative launches"),
        "{error}"
    );
}

thread_local! {
    /// Threads with an even index wait in the initializer.
    static NUMBER: Vec<u32> = {
        if thread::index().is_multiple_of(2) {
            thread::sync_threads();
        }
        vec![thread::index() as u32; 8]
    };
}

#[kernel]
fn initializes(mut to: PerThread<[u32; 2]>) {
    NUMBER.with(|number| {
        let first = number[7];
        if !thread::index().is_multiple_of(2) {
            thread::sync_threads();
        }
        // The threads with an even index return from the initializer.
        thread::sync_threads();
        to.each(|_, to| *to = [first, number[7]]);
    });
}

/// Two threads of a block that initialize one variable would invalidate each other's references.
#[test]
fn threads_that_wait_do_not_share_thread_locals() {
    let mut to = [[u32::MAX; 2]; 64];
    launch_cpu((1, 64), initializes::args(&mut to)).unwrap();
    for (i, numbers) in to.iter().enumerate() {
        assert_eq!(*numbers, [i as u32; 2]);
    }
}

/// Thread 0 waits in the initializer for threads that wait elsewhere or panic.
#[kernel]
fn never_initializes() {
    thread_local! {
        static NEVER: Vec<u32> = {
            match thread::index() {
                0 => cuda_std::barrier::Barrier::<1>.sync(64),
                1 => panic!("thread 1 gives up"),
                _ => thread::sync_threads(),
            }
            vec![1]
        };
    }
    NEVER.with(|_| thread::sync_threads());
}

#[test]
fn initializers_that_cannot_go_on_are_errors() {
    let error = launch_cpu((1, 96), never_initializes::args()).unwrap_err();
    assert!(error.to_string().contains("deadlock in block"), "{error}");
}

/// Returns a number of the running OS thread.
fn os_thread() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[kernel]
fn os_threads(rounds: u32, mut to: PerThread<[usize; 2]>) {
    let start = os_thread();
    for _ in 0..rounds {
        // A token that is not for the launch.
        std::thread::current().unpark();
        thread::sync_threads();
        assert_eq!(os_thread(), start);
    }
    to.each(|_, to| *to = [start, os_thread()]);
}

#[test]
fn threads_stay_on_their_os_threads() {
    let mut to = [[0; 2]; 10 * 96];
    for rounds in [0, 3] {
        launch_cpu((10, 96), os_threads::args(rounds, &mut to)).unwrap();
        assert!(to.iter().all(|[start, end]| start == end));
        for block in to.chunks(96) {
            let mut numbers: Vec<_> = block.iter().map(|[start, _]| *start).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), if rounds == 0 { 1 } else { 96 });
        }
    }
    // SAFETY: the variable has no initializer.
    unsafe { launch_cpu_on_fibers((1, 96), os_threads::args(3, &mut to)) }.unwrap();
    assert!(to[..96].iter().all(|place| *place == to[0]));
}

static CREATED: AtomicU32 = AtomicU32::new(0);
static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

#[kernel]
fn counts() {
    thread_local! {
        static COUNTED: Counted = {
            CREATED.fetch_add(1, Relaxed);
            Counted
        };
    }
    COUNTED.with(|_| thread::sync_threads());
}

#[test]
fn thread_locals_are_dropped_before_the_launch_returns() {
    launch_cpu((3, 64), counts::args()).unwrap();
    assert!(CREATED.load(Relaxed) >= 64);
    assert_eq!(CREATED.load(Relaxed), DROPPED.load(Relaxed));
}

/// Runs a test of this file in a process of its own, where the variable `CUST_CHILD` is set.
#[cfg(target_os = "linux")]
fn child(test: &str, prefix: &str) -> std::process::Output {
    let own = std::env::current_exe().unwrap();
    let command = format!("{prefix} exec \"$0\" --exact {test} --nocapture");
    std::process::Command::new("sh")
        .args(["-c", &command])
        .arg(own)
        .env("CUST_CHILD", "1")
        .output()
        .unwrap()
}

struct Waits;

impl Drop for Waits {
    fn drop(&mut self) {
        thread::sync_threads();
    }
}

#[kernel]
fn waits_at_the_end() {
    thread_local! {
        static WAITS: Waits = const { Waits };
    }
    WAITS.with(|_| thread::sync_threads());
}

/// When the destructor runs, the thread of the kernel has exited, so `sync_threads` panics.
#[test]
#[cfg(target_os = "linux")]
fn destructors_of_thread_locals_cannot_wait() {
    if std::env::var_os("CUST_CHILD").is_some() {
        launch_cpu((2, 64), waits_at_the_end::args()).unwrap();
        return;
    }
    let output = child("destructors_of_thread_locals_cannot_wait", "");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(text.contains("works only in a kernel"), "{text}");
    assert!(text.contains("thread local panicked on drop"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn too_few_os_threads_are_an_error() {
    if std::env::var_os("CUST_CHILD").is_some() {
        let error = launch_cpu((1, 1024), rounds::args(1, &mut [0; 1024])).unwrap_err();
        println!("{error}");
        return;
    }
    // Address space for some hundred stacks of 1 MiB.
    let output = child("too_few_os_threads_are_an_error", "ulimit -v 500000;");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("cannot provide more threads"), "{output:?}");
}

#[kernel]
fn launches(mut to: PerThread<u32>) {
    let mut inner = [0; 33];
    thread::sync_threads();
    launch_cpu((1, 33), rounds::args(2, &mut inner)).unwrap();
    thread::sync_threads();
    to.each(|_, to| *to = inner.iter().sum());
}

#[test]
fn kernels_launch_kernels() {
    let mut to = [0; 8];
    launch_cpu((2, 4), launches::args(&mut to)).unwrap();
    assert_eq!(to, [66; 8]);
}

#[test]
fn fibers_give_the_same_results() {
    let ys: Vec<u32> = (0..10_000).collect();
    let mut to = [0; 20];
    // SAFETY: the kernels have no thread-local variables.
    unsafe { launch_cpu_on_fibers((20, 256), block_sums::args(&ys, &mut to)) }.unwrap();
    assert_eq!(to.iter().sum::<u32>(), 10_000 * 9999 / 2);

    let mut flags = vec![0; 64];
    // SAFETY: as above.
    unsafe { launch_cpu_on_fibers((1, 64), hand_on::args(&mut flags)) }.unwrap();
    assert_eq!(flags, [1; 64]);

    for (how, text) in [(1, "thread 70 gives up"), (3, "deadlock in block")] {
        let mut ys = [0; 128];
        // SAFETY: as above.
        let result = unsafe { launch_cpu_on_fibers((2, 64), fails::args(how, &[], &mut ys)) };
        let error = result.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[kernel]
fn block_sums(from: &[u32], mut to: PerBlock<u32>) {
    let mine = thread::elements(from).fold(0u32, |sum, (_, x)| sum.wrapping_add(*x));
    let sum = group::block().reduce(mine, u32::wrapping_add);
    to.each(|_, to| *to = sum);
}

/// Each thread of a block waits `rounds` times.
#[kernel]
fn rounds(rounds: u32, mut to: PerThread<u32>) {
    for _ in 0..rounds {
        thread::sync_threads();
    }
    to.each(|_, to| *to = rounds);
}

/// Prints how long launches take, and how long on fibers. See decision 97.
#[test]
#[ignore = "measures"]
fn speed() {
    fn time(launch: &dyn Fn()) -> std::time::Duration {
        launch();
        let mut times = [(); 5].map(|()| {
            let start = std::time::Instant::now();
            launch();
            start.elapsed()
        });
        times.sort();
        times[2]
    }
    macro_rules! compare {
        ($what:literal, $config:expr, $args:expr) => {
            let os_threads = time(&|| launch_cpu($config, $args).unwrap());
            // SAFETY: the kernels have no thread-local variables.
            let fibers = time(&|| unsafe { launch_cpu_on_fibers($config, $args) }.unwrap());
            println!("{}: {os_threads:?}, on fibers {fibers:?}", $what);
        };
    }
    let (xs, ys) = (vec![1.0; 1 << 20], vec![1; 1 << 18]);
    compare!(
        "vecadd, 4096 blocks of 256",
        (4096, 256),
        vecadd::args(&xs, &xs, &mut vec![0.0; 1 << 20])
    );
    compare!(
        "reduction, 20 blocks of 256",
        (20, 256),
        block_sums::args(&ys, &mut [0; 20])
    );
    compare!(
        "10 barriers, 10 blocks of 256",
        (10, 256),
        rounds::args(10, &mut [0; 2560])
    );
    compare!(
        "1 barrier, 1 block of 32",
        (1, 32),
        rounds::args(1, &mut [0; 32])
    );
}
