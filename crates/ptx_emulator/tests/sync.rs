//! Barriers, warp operations, and scheduling.

mod common;

use common::{Device, Params};
use ptx_emulator::FaultKind;

/// Runs a body with `%r38` as the thread's index. Each thread's `%r0` is its result.
fn threads(shared: &str, block: u32, body: &str) -> Vec<u32> {
    let device = device(shared, body);
    let out = device.upload(&vec![0u32; block as usize]);
    device
        .launch("k", 1, block, Params::new().u64(out))
        .unwrap_or_else(|fault| panic!("{fault}"));
    device.download(out, block as usize)
}

fn device(shared: &str, body: &str) -> Device {
    let text = format!(
        "ld.param.u64 %rd39, [out]; mov.u32 %r38, %tid.x; mul.wide.u32 %rd38, %r38, 4; add.u64 %rd38, %rd39, %rd38;\n{body}\n
         store: st.global.u32 [%rd38], %r0; ret;"
    );
    Device::kernel(shared, ".param .u64 out", &text)
}

#[test]
fn barriers_exchange_through_shared_memory() {
    let body = "shl.b32 %r1, %r38, 2; mov.u32 %r2, buffer; add.u32 %r3, %r2, %r1; mul.lo.u32 %r4, %r38, 3; st.shared.u32 [%r3], %r4;
        bar.sync 0; sub.u32 %r5, 255, %r38; shl.b32 %r5, %r5, 2; add.u32 %r5, %r2, %r5; ld.shared.u32 %r0, [%r5];";
    let results = threads(".shared .align 4 .b8 buffer[1024];", 256, body);
    assert!(
        results
            .iter()
            .enumerate()
            .all(|(i, &x)| x == (255 - i as u32) * 3)
    );
}

/// A tree reduction in many blocks, which share the workers' state.
#[test]
fn reduction() {
    let body = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r1, 2; mov.u32 %r4, buffer; add.u32 %r5, %r4, %r3;
        mad.lo.u32 %r6, %r2, 128, %r1; st.shared.u32 [%r5], %r6; mov.u32 %r7, 64;
     L: bar.sync 0; setp.ge.u32 %p1, %r1, %r7; @%p1 bra S; shl.b32 %r8, %r7, 2; add.u32 %r8, %r5, %r8; ld.shared.u32 %r9, [%r8];
        ld.shared.u32 %r10, [%r5]; add.u32 %r10, %r10, %r9; st.shared.u32 [%r5], %r10;
     S: shr.u32 %r7, %r7, 1; setp.ne.u32 %p1, %r7, 0; @%p1 bra L;
        setp.ne.u32 %p1, %r1, 0; @%p1 exit; ld.shared.u32 %r11, [buffer]; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd1, %rd2; st.global.u32 [%rd2], %r11; ret;";
    let device = Device::kernel(".shared .align 4 .b8 buffer[512];", ".param .u64 out", body);
    let out = device.upload(&[0u32; 100]);
    device
        .launch("k", 100, 128, Params::new().u64(out))
        .unwrap();
    let expected: Vec<u32> = (0..100).map(|b| (b * 128..(b + 1) * 128).sum()).collect();
    assert_eq!(device.download::<u32>(out, 100), expected);
}

#[test]
fn barrier_reductions() {
    let body = |op: &str| format!("and.b32 %r1, %r38, 1; setp.eq.u32 %p1, %r1, 0; {op}");
    assert_eq!(
        threads("", 100, &body("bar.red.popc.u32 %r0, 1, %p1;")),
        [50; 100]
    );
    assert_eq!(
        threads("", 64, &body("barrier.red.popc.u32 %r0, 2, 64, !%p1;")),
        [32; 64]
    );
    assert_eq!(
        threads(
            "",
            64,
            &body("bar.red.and.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;")
        ),
        [0; 64]
    );
    assert_eq!(
        threads(
            "",
            64,
            &body("bar.red.or.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;")
        ),
        [1; 64]
    );
}

/// One warp produces and another consumes, with barriers for 64 threads.
#[test]
fn arrive_and_sync() {
    let body = "setp.ge.u32 %p1, %r38, 32; @%p1 bra consume;
        shl.b32 %r1, %r38, 2; mov.u32 %r2, buffer; add.u32 %r1, %r1, %r2; add.u32 %r3, %r38, 7; st.shared.u32 [%r1], %r3; bar.arrive 1, 64; mov.u32 %r0, 0; bra store;
     consume: bar.sync 1, 64; sub.u32 %r1, %r38, 32; shl.b32 %r1, %r1, 2; mov.u32 %r2, buffer; add.u32 %r1, %r1, %r2; ld.shared.u32 %r0, [%r1];";
    let results = threads(".shared .align 4 .b8 buffer[128];", 64, body);
    assert!(
        (32..64).all(|i| results[i] == i as u32 - 32 + 7),
        "{results:?}"
    );
}

/// Only warps at a barrier count with all their lanes: a partial warp elsewhere adds nothing, nor
/// does its exit, which the producer waits for.
#[test]
fn a_partial_warp_elsewhere_does_not_count() {
    let body = "setp.ge.u32 %p1, %r38, 64; @%p1 bra other; setp.ge.u32 %p1, %r38, 32; @%p1 bra produce;
        bar.sync 1, 64; shl.b32 %r1, %r38, 2; mov.u32 %r2, buffer; add.u32 %r1, %r1, %r2; ld.shared.u32 %r0, [%r1]; bra store;
     produce: ld.volatile.shared.u32 %r3, [flag]; setp.ne.u32 %p1, %r3, 12345; @%p1 bra produce;
        sub.u32 %r1, %r38, 32; shl.b32 %r1, %r1, 2; mov.u32 %r2, buffer; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %r38; bar.sync 1, 64; mov.u32 %r0, 0; bra store;
     other: st.volatile.shared.u32 [flag], 12345; mov.u32 %r0, 1;";
    let shared = ".shared .align 4 .b8 buffer[128]; .shared .align 4 .u32 flag;";
    for last in [1, 2, 16, 31] {
        let results = threads(shared, 64 + last, body);
        let consumed: Vec<u32> = (32..64).collect();
        assert_eq!(results[..32], consumed, "{last}");
    }
}

#[test]
fn exited_threads_count_as_arrived() {
    let body = "setp.lt.u32 %p1, %r38, 40; @%p1 exit; bar.sync 0; mov.u32 %r0, 5;";
    let results = threads("", 64, body);
    assert!(results[..40].iter().all(|&x| x == 0) && results[40..].iter().all(|&x| x == 5));
    // The other threads exit while the first warp waits.
    let body = "setp.ge.u32 %p1, %r38, 32; @%p1 exit; bar.sync 0; mov.u32 %r0, 5;";
    assert_eq!(threads("", 64, body)[..32], [5; 32]);
}

#[test]
fn shuffles() {
    let expect = |text: &str, f: fn(u32) -> u32| {
        let results = threads("", 32, &format!("add.u32 %r1, %r38, 100; {text}"));
        assert_eq!(results, (0..32).map(f).collect::<Vec<_>>(), "{text}");
    };
    expect("shfl.sync.idx.b32 %r0|%p1, %r1, 5, 0x1f, -1;", |_| 105);
    expect("shfl.sync.bfly.b32 %r0, %r1, 3, 0x1f, -1;", |i| {
        100 + (i ^ 3)
    });
    expect("shfl.sync.down.b32 %r0, %r1, 4, 0x1f, -1;", |i| {
        100 + if i + 4 < 32 { i + 4 } else { i }
    });
    expect("shfl.sync.up.b32 %r0, %r1, 4, 0, -1;", |i| {
        100 + if i >= 4 { i - 4 } else { i }
    });
    // Segments of eight lanes: segment mask 0x18 in bits 8 to 12.
    expect("shfl.sync.idx.b32 %r0, %r1, 2, 0x181f, -1;", |i| {
        100 + (i & 24) + 2
    });
    expect("shfl.sync.down.b32 %r0, %r1, 2, 0x181f, -1;", |i| {
        100 + if i % 8 + 2 < 8 { i + 2 } else { i }
    });
    expect(
        "shfl.sync.up.b32 %r2|%p1, %r1, 4, 0, -1; selp.u32 %r0, 1, 0, %p1;",
        |i| u32::from(i >= 4),
    );
    // Half a warp on its own.
    expect(
        "mov.u32 %r0, 0; setp.ge.u32 %p2, %r38, 16; @%p2 bra store; shfl.sync.bfly.b32 %r0, %r1, 1, 0x1f, 0xffff;",
        |i| {
            if i < 16 { 100 + (i ^ 1) } else { 0 }
        },
    );
}

#[test]
fn votes_matches_and_reductions() {
    let odd = "and.b32 %r1, %r38, 1; setp.ne.u32 %p1, %r1, 0;";
    let all = |text: &str, expected: u32| {
        assert_eq!(
            threads("", 32, &format!("{odd} {text}")),
            [expected; 32],
            "{text}"
        )
    };
    all("vote.sync.ballot.b32 %r0, %p1, -1;", 0xaaaa_aaaa);
    all(
        "vote.sync.any.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;",
        1,
    );
    all(
        "vote.sync.all.pred %p2, %p1, -1; selp.u32 %r0, 1, 0, %p2;",
        0,
    );
    all(
        "vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r0, 1, 0, %p2;",
        0,
    );
    all("redux.sync.add.u32 %r0, %r38, -1;", 496);
    all("redux.sync.max.s32 %r0, %r38, -1;", 31);
    all("redux.sync.xor.b32 %r0, %r1, -1;", 0);
    all("activemask.b32 %r0;", 0xffff_ffff);
    all(
        "bar.warp.sync -1; elect.sync %r0|%p2, 0xfffffff0; "
            .replace("0xfffffff0", "-1")
            .as_str(),
        0,
    );
    all(
        "match.all.sync.b32 %r2|%p2, %r1, -1; selp.u32 %r0, 1, 0, %p2;",
        0,
    );
    let results = threads("", 32, &format!("{odd} match.any.sync.b32 %r0, %r1, -1;"));
    assert!(
        results
            .iter()
            .enumerate()
            .all(|(i, &x)| x == if i % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa })
    );
    // In a branch, the lanes that took it are active together.
    let results = threads(
        "",
        32,
        &format!("{odd} mov.u32 %r0, 0; @%p1 bra store; activemask.b32 %r0;"),
    );
    assert!(
        results
            .iter()
            .enumerate()
            .all(|(i, &x)| x == if i % 2 == 0 { 0x5555_5555 } else { 0 })
    );
    // A warp of 20 threads: the missing lanes are not waited for.
    assert_eq!(
        threads("", 20, "redux.sync.add.u32 %r0, %r38, 0xfffff;"),
        [190; 20]
    );
}

/// A lock that the lanes of one warp acquire in turn: every lane gets it even if others spin.
#[test]
fn spinning_threads_do_not_block_others() {
    let body = "mov.u32 %r0, 0;
     try: atom.shared.cas.b32 %r1, [lock], 0xa5a5a5a5, 1; setp.ne.u32 %p1, %r1, 0xa5a5a5a5; @%p1 bra try;
        bar.warp.sync 0; st.shared.u32 [lock], 0xa5a5a5a5;"
        .replace("bar.warp.sync 0;", "ld.shared.u32 %r2, [count]; add.u32 %r2, %r2, 1; st.shared.u32 [count], %r2; nanosleep.u32 20;");
    threads(
        ".shared .align 4 .u32 lock; .shared .align 4 .u32 count;",
        64,
        &body,
    );
    // The last thread sets a flag that all others spin on.
    let body =
        "mov.u32 %r0, 1; setp.eq.u32 %p1, %r38, 63; @%p1 st.shared.u32 [flag], 1; @%p1 bra store;
     wait: ld.volatile.shared.u32 %r1, [flag]; setp.ne.u32 %p1, %r1, 1; @%p1 bra wait;";
    assert_eq!(threads(".shared .align 4 .u32 flag;", 64, body), [1; 64]);
}

/// Blocks that wait for all others, many more than cores.
#[test]
fn blocks_wait_for_each_other() {
    let body =
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra done;
        atom.global.add.u32 %r2, [%rd1], 1; mov.u32 %r4, %nctaid.x;
     wait: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.lt.u32 %p1, %r3, %r4; @%p1 bra wait;
     done: bar.sync 0; red.global.add.u32 [%rd1+4], 1; ret;";
    let device = Device::kernel("", ".param .u64 out", body);
    let out = device.upload(&[0u32; 2]);
    device.launch("k", 50, 64, Params::new().u64(out)).unwrap();
    assert_eq!(device.download::<u32>(out, 2), [50, 50 * 64]);
}

#[test]
fn threads_that_wait_at_a_barrier_agree_on_its_count() {
    let body =
        "setp.lt.u32 %p1, %r38, 32; @%p1 bra other; bar.sync 1, 64; other: bar.sync 1, 96; exit;";
    let fault = device("", body)
        .launch("k", 1, 64, Params::new().u64(0))
        .unwrap_err();
    assert!(fault.message.contains("while others wait at it"), "{fault}");
}

#[test]
fn deadlocks_are_found() {
    let deadlock = |body: &str| {
        device("", body)
            .launch("k", 1, 64, Params::new().u64(0))
            .unwrap_err()
    };
    let fault = deadlock(
        "setp.lt.u32 %p1, %r38, 32; @%p1 bra other; bar.sync 0; other: bar.sync 1; mov.u32 %r0, 0; exit;",
    );
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(
        fault
            .message
            .contains("32 wait at barrier 0, 32 wait at barrier 1")
            || fault
                .message
                .contains("32 wait at barrier 1, 32 wait at barrier 0"),
        "{fault}"
    );
    assert!(fault.ptx_line > 0);
    let fault = deadlock(
        "setp.lt.u32 %p1, %r38, 5; @%p1 bra other; shfl.sync.idx.b32 %r0, %r38, 0, 31, -1; exit; other: bar.sync 0; exit;",
    );
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.message.contains("shfl.sync"), "{fault}");
    let fault = deadlock("shfl.sync.idx.b32 %r0, %r38, 0, 31, 1;");
    assert!(
        fault.kind == FaultKind::InvalidInstruction && fault.message.contains("lane 1"),
        "{fault}"
    );
    // One of two arrivals: all threads poll, which does not use up a time slice.
    let fault = device(
        ".shared .align 8 .b64 barrier;",
        "setp.ne.u32 %p1, %r38, 0; @%p1 bra made; mbarrier.init.shared.b64 [barrier], 2; mbarrier.arrive.shared.b64 %rd1, [barrier];
         made: bar.sync 0;
         wait: mbarrier.try_wait.parity.shared.b64 %p1, [barrier], 0; @!%p1 bra wait; mov.u32 %r0, 0;",
    )
    .launch("k", 1, 64, Params::new().u64(0))
    .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(
        fault.message.contains("64 wait at an `mbarrier`"),
        "{fault}"
    );
}

#[test]
fn indices_in_three_dimensions() {
    let body = "ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ctaid.z;
        mov.u32 %r7, %ntid.x; mov.u32 %r8, %ntid.y; mov.u32 %r9, %ntid.z; mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y;
        mad.lo.u32 %r20, %r6, %r11, %r5; mad.lo.u32 %r20, %r20, %r10, %r4; mad.lo.u32 %r20, %r20, %r9, %r3; mad.lo.u32 %r20, %r20, %r8, %r2; mad.lo.u32 %r20, %r20, %r7, %r1;
        mul.wide.u32 %rd2, %r20, 4; add.u64 %rd2, %rd1, %rd2; red.global.add.u32 [%rd2], 1; ret;";
    let device = Device::kernel("", ".param .u64 out", body);
    let count = 2 * 3 * 4 * 5 * 3 * 2;
    let out = device.upload(&vec![0u32; count]);
    let kernel = device.program.kernel("k").unwrap();
    let config = ptx_emulator::LaunchConfig {
        grid: [2, 3, 4],
        block: [5, 3, 2],
        params: out.to_le_bytes().to_vec(),
        ..device.config.clone()
    };
    ptx_emulator::launch(&device.program, kernel, &config).unwrap();
    assert_eq!(device.download::<u32>(out, count), vec![1; count]);
}

/// Launches one-dimensional clusters.
#[allow(clippy::result_large_err)]
fn launch_clusters(
    device: &mut Device,
    [blocks, each, threads]: [u32; 3],
    out: u64,
) -> Result<ptx_emulator::LaunchStats, ptx_emulator::Fault> {
    device.config.cluster = Some([each, 1, 1]);
    device.launch("k", blocks, threads, Params::new().u64(out))
}

#[test]
fn clusters_have_indices() {
    let body = "ld.param.u64 %rd1, [out];
        mov.u32 %r1, %clusterid.x; mov.u32 %r2, %clusterid.y; mov.u32 %r3, %cluster_ctaid.x; mov.u32 %r4, %cluster_ctaid.y;
        mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank; mov.u32 %r7, %nclusterid.x; mov.u32 %r8, %cluster_nctaid.y;
        mov.pred %p1, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p1;
        mov.u32 %r10, %ctaid.y; mov.u32 %r11, %nctaid.x; mov.u32 %r12, %ctaid.x; mad.lo.u32 %r10, %r10, %r11, %r12;
        mul.wide.u32 %rd2, %r10, 32; add.u64 %rd1, %rd1, %rd2;
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%rd1+16], {%r5, %r6, %r7, %r9}; ret;";
    let device = Device::kernel("", ".param .u64 out", body);
    let out = device.upload(&[0u32; 6 * 4 * 8]);
    let kernel = device.program.kernel("k").unwrap();
    let config = ptx_emulator::LaunchConfig {
        grid: [6, 4, 1],
        cluster: Some([3, 2, 1]),
        params: out.to_le_bytes().to_vec(),
        ..device.config.clone()
    };
    ptx_emulator::launch(&device.program, kernel, &config).unwrap();
    let found = device.download::<u32>(out, 6 * 4 * 8);
    for (index, found) in found.chunks(8).enumerate() {
        let (x, y) = (index as u32 % 6, index as u32 / 6);
        let rank = y % 2 * 3 + x % 3;
        assert_eq!(found, [x / 3, y / 2, x % 3, y % 2, rank, 6, 2, 1]);
    }
    // Without clusters each block is a cluster.
    let config = ptx_emulator::LaunchConfig {
        cluster: None,
        ..config
    };
    ptx_emulator::launch(&device.program, kernel, &config).unwrap();
    assert_eq!(
        device.download::<u32>(out + 32, 8),
        [1, 0, 0, 0, 0, 1, 6, 0]
    );
    // A cluster size that does not divide the grid, and a kernel that requires another size.
    let config = ptx_emulator::LaunchConfig {
        cluster: Some([4, 1, 1]),
        ..config
    };
    let fault = ptx_emulator::launch(&device.program, kernel, &config).unwrap_err();
    assert!(
        fault.message.contains("cluster dimensions [4, 1, 1]"),
        "{fault}"
    );
}

#[test]
fn blocks_of_a_cluster_reach_each_other() {
    // Each thread passes its number to the corresponding thread in the next block, adds to a
    // counter in the first block, and reads both. Barriers separate the steps.
    let body = "ld.param.u64 %rd1, [out];
        mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x;
        mov.u32 %r6, words; mad.lo.u32 %r6, %r3, 4, %r6; mov.u32 %r7, counter;
        setp.ne.u32 %p1, %r3, 0; @%p1 bra begun; st.shared.u32 [counter], 0; begun:
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        add.u32 %r8, %r1, 1; rem.u32 %r8, %r8, %r2; mapa.shared::cluster.u32 %r9, %r6, %r8;
        mad.lo.u32 %r10, %r4, %r5, %r3; st.shared::cluster.u32 [%r9], %r10;
        mapa.shared::cluster.u32 %r11, %r7, 0; atom.shared::cluster.add.u32 %r12, [%r11], 1;
        getctarank.shared::cluster.u32 %r13, %r9;
        barrier.cluster.arrive; barrier.cluster.wait;
        ld.shared.u32 %r14, [%r6]; ld.shared::cluster.u32 %r15, [%r11];
        mul.wide.u32 %rd2, %r10, 16; add.u64 %rd2, %rd1, %rd2;
        st.global.v4.u32 [%rd2], {%r14, %r15, %r13, %r10};
        barrier.cluster.arrive; barrier.cluster.wait; ret;";
    let before = ".shared .align 4 .b8 words[256]; .shared .align 4 .b8 counter[4];";
    let mut device = Device::kernel(before, ".param .u64 out", body);
    for [blocks, each, threads] in [[8, 4, 40], [6, 2, 64], [4, 1, 33], [16, 16, 3]] {
        let count = (blocks * threads) as usize;
        let out = device.upload(&vec![[0u32; 4]; count]);
        launch_clusters(&mut device, [blocks, each, threads], out).unwrap();
        for (index, found) in device.download::<[u32; 4]>(out, count).iter().enumerate() {
            let (block, thread) = (index as u32 / threads, index as u32 % threads);
            let (first, rank) = (block / each * each, block % each);
            let before = (first + (rank + each - 1) % each) * threads + thread;
            let next = (rank + 1) % each;
            assert_eq!(*found, [before, each * threads, next, index as u32]);
        }
    }
}

#[test]
fn errors_with_clusters_are_reported() {
    let mapped =
        "mov.u32 %r1, word; mapa.shared::cluster.u32 %r2, %r1, 1; mov.u32 %r3, %cluster_ctarank;";
    let kernel = |body: &str| {
        let before = ".shared .align 8 .b8 word[16];";
        Device::kernel(before, ".param .u64 out", &format!("{mapped} {body} ret;"))
    };
    let told = |mut device: Device, shape: [u32; 3], text: &str| {
        let out = device.upload(&[0u32]);
        let fault = launch_clusters(&mut device, shape, out).unwrap_err();
        assert!(fault.message.contains(text), "{fault}");
    };
    // The second block exits while the first one still waits, and the first one then accesses its
    // memory.
    let body = "setp.ne.u32 %p1, %r3, 0; @%p1 exit; again: nanosleep.u32 20; add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 50; @%p2 bra again; ld.shared::cluster.u32 %r5, [%r2];";
    told(
        kernel(body),
        [2, 2, 1],
        "block 1 of the cluster, which has exited",
    );
    told(
        kernel(""),
        [2, 1, 1],
        "`mapa` with block 1 of a cluster of 1",
    );
    let body = "ld.shared::cluster.u32 %r5, [%r2+4096];";
    told(
        kernel(body),
        [2, 2, 1],
        "shared memory of block 1 of the cluster at offset",
    );
    let body = "barrier.cluster.arrive; barrier.cluster.arrive;";
    told(
        kernel(body),
        [2, 2, 1],
        "a second arrival at the cluster barrier",
    );
    // A barrier that some threads never reach, although they have not exited: they wait elsewhere.
    let body = "setp.ne.u32 %p1, %r3, 0; @%p1 bra other; barrier.cluster.arrive; barrier.cluster.wait; other: mov.u32 %r6, %tid.x; setp.ne.u32 %p2, %r6, 0; @%p2 bra done; bar.sync 1, 64; done:";
    let mut device = kernel(body);
    let out = device.upload(&[0u32]);
    let fault = launch_clusters(&mut device, [2, 2, 32], out).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
    assert!(
        fault
            .message
            .contains("no thread of the cluster can continue"),
        "{fault}"
    );
    for instruction in [
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], 1, [%r1]",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r1], 16, [%r1]",
    ] {
        let body = format!("mov.u32 %r1, word; {instruction}; ret;");
        let device = Device::kernel(".shared .align 16 .b8 word[16];", ".param .u64 out", &body);
        let fault = device.launch("k", 1, 1, Params::new().u64(0)).unwrap_err();
        assert!(
            fault.message.contains("in a launch without clusters"),
            "{fault}"
        );
    }
}

#[test]
fn exiting_threads_release_the_cluster_barrier() {
    let body = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank;
        setp.gt.u32 %p1, %r1, 5; @%p1 exit;
        barrier.cluster.arrive; setp.eq.u32 %p2, %r1, 3; @%p2 exit; barrier.cluster.wait;
        red.global.add.u32 [%rd1], 1; ret;";
    let mut device = Device::kernel("", ".param .u64 out", body);
    let out = device.upload(&[0u32]);
    launch_clusters(&mut device, [6, 3, 50], out).unwrap();
    assert_eq!(device.download::<u32>(out, 1), [6 * 5]);
}
