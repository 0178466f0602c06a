//! The rows of the intrinsics table that no test of a safe function covers. Each thread executes
//! them on its own memory, and counts the correct ones.

use crate::random;
use cuda_std::intrinsics::{atomic, memory};
use cuda_std::prelude::*;

/// Loads and stores with cache operators, of all widths: counts the correct ones.
#[cfg(feature = "base")]
#[kernel]
pub fn raw_accesses(from: &[u64], mut own: PerThread<[u64; 4]>, mut to: PerThread<[u64; 1]>) {
    let Some((i, own)) = own.first() else { return };
    let own = own.as_mut_ptr();
    let x = &raw const from[2 * i];
    let (low, high) = (random(2 * i as u32), random(2 * i as u32 + 1));
    let words = [
        low as u32,
        (low >> 32) as u32,
        high as u32,
        (high >> 32) as u32,
    ];
    let mut right = 0;
    // SAFETY: the pointers are to 16 bytes that no thread writes, and to 32 bytes of this thread.
    unsafe {
        memory::prefetchu_l1(x.cast());
        cuda_std_macros::repeat! {
            for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
                for OP in [
                    ca, cg, cs, lu, cv, global_nc, global_evict_first, global_evict_last,
                    global_evict_unchanged, global_no_allocate
                ] {
                    right += u64::from(memory::ld_OP_TY(x.cast::<RUST>()) == low as RUST);
                }
                for OP in [
                    wb, cg, cs, wt, global_evict_first, global_evict_last, global_evict_unchanged,
                    global_no_allocate
                ] {
                    own.write_volatile(0);
                    memory::st_OP_TY(own.cast::<RUST>(), low as RUST);
                    right += u64::from(own.read_volatile() == (low as RUST).into());
                }
            }
            for OP in [ca, cg, cs, lu, cv, global_nc] {
                right += u64::from(memory::ld_OP_v2_b32(x.cast()) == [words[0], words[1]]);
                right += u64::from(memory::ld_OP_v4_b32(x.cast()) == words);
                right += u64::from(memory::ld_OP_v2_b64(x.cast()) == [low, high]);
            }
            for OP in [wb, cg, cs, wt] {
                memory::st_OP_v2_b32(own.cast(), [words[2], words[3]]);
                right += u64::from(own.read_volatile() == high);
                memory::st_OP_v4_b32(own.cast(), words);
                right += u64::from(own.read_volatile() == low && own.add(1).read_volatile() == high);
                memory::st_OP_v2_b64(own.cast(), [high, low]);
                right += u64::from(own.read_volatile() == high && own.add(1).read_volatile() == low);
            }
        }
    }
    to.each(|_, to| *to = [right]);
}

/// Atomic operations of sizes that the safe types do not use in all scopes.
#[cfg(feature = "base")]
#[kernel]
pub fn raw_atomics(mut own: PerThread<[u64; 4]>, mut to: PerThread<[u64; 1]>) {
    let Some((i, own)) = own.first() else { return };
    let own = own.as_mut_ptr();
    let x = random(i as u32);
    let mut right = 0;
    // SAFETY: the pointer is to 32 bytes of this thread.
    unsafe {
        cuda_std_macros::repeat! {
            for SCOPE in [cta, gpu, sys] {
                for SEM in [relaxed, acquire, release, acq_rel] {
                    own.write_volatile(x);
                    let old = atomic::atom_cas_b16_SEM_SCOPE(own.cast(), x as u16, !x as u16);
                    right += u64::from(old == x as u16 && own.read_volatile() == x ^ 0xffff);
                }
                own.write_volatile(0x3c00_3c00);
                let old = atomic::atom_add_f16_relaxed_SCOPE(own.cast(), 0x3c00);
                right += u64::from(old == 0x3c00 && own.read_volatile() == 0x3c00_4000);
                let old = atomic::atom_add_f16x2_relaxed_SCOPE(own.cast(), 0x3c00_0000);
                right += u64::from(old == 0x3c00_4000 && own.read_volatile() == 0x4000_4000);
                for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
                    for SEM in [relaxed, release] {
                        own.write_volatile(0);
                        atomic::st_TY_SEM_SCOPE(own.cast::<RUST>(), x as RUST);
                        right += u64::from(own.read_volatile() == (x as RUST).into());
                    }
                    own.write_volatile(x);
                    for SEM in [relaxed, acquire] {
                        right += u64::from(atomic::ld_TY_SEM_SCOPE(own.cast::<RUST>()) == x as RUST);
                    }
                }
            }
        }
    }
    to.each(|_, to| *to = [right]);
}

/// Those that require `sm_80` or `sm_90`.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel]
pub fn raw_newer(
    from: &[u64],
    line: *mut u64,
    mut own: PerThread<[u64; 4]>,
    mut to: PerThread<[u64; 1]>,
) {
    use cuda_std::intrinsics::{atomic::cluster, special};
    let Some((i, own)) = own.first() else { return };
    let own = own.as_mut_ptr();
    let x = &raw const from[i];
    let value = random(i as u32);
    let wide = u128::from(value) << 64 | u128::from(!value);
    let mut right = 0;
    // SAFETY: the pointers are to 8 bytes that no thread writes, and to 32 bytes of this thread.
    unsafe {
        let policies = [
            memory::createpolicy_fractional_evict_normal(1.0),
            memory::createpolicy_fractional_evict_unchanged(1.0),
            memory::createpolicy_range_evict_first(from.as_ptr().cast(), 256, 512),
            memory::createpolicy_range_evict_unchanged(from.as_ptr().cast(), 256, 512),
        ];
        for policy in policies {
            cuda_std_macros::repeat! {
                for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
                    right += u64::from(memory::ld_global_policy_TY(x.cast(), policy) == value as RUST);
                    own.write_volatile(0);
                    memory::st_global_policy_TY(own.cast(), value as RUST, policy);
                    right += u64::from(own.read_volatile() == (value as RUST).into());
                }
            }
        }
        let block = [thread::block_idx_y(), thread::block_idx_z()];
        right += u64::from([special::clusterid_y(), special::clusterid_z()] == block);
        let blocks = [thread::grid_dim_y(), thread::grid_dim_z()];
        right += u64::from([special::nclusterid_y(), special::nclusterid_z()] == blocks);
        right += u64::from([special::cluster_ctaid_y(), special::cluster_ctaid_z()] == [0, 0]);
        right += u64::from([special::cluster_nctaid_y(), special::cluster_nctaid_z()] == [1, 1]);
        right += u64::from(special::aggr_smem_size() >= special::total_smem_size());
        let cell = own.cast::<u128>();
        cuda_std_macros::repeat! {
            for (FROM, SCOPE) in [(atomic, cta), (atomic, sys), (cluster, cluster)] {
                for SEM in [relaxed, acquire, release, acq_rel] {
                    cell.write_volatile(wide);
                    let old = FROM::atom_cas_b128_SEM_SCOPE(cell, wide, !wide);
                    right += u64::from(old == wide && cell.read_volatile() == !wide);
                    let old = FROM::atom_exch_b128_SEM_SCOPE(cell, 7);
                    right += u64::from(old == !wide && cell.read_volatile() == 7);
                }
            }
            for (FROM, SCOPE) in [(atomic, cta), (atomic, gpu), (atomic, sys), (cluster, cluster)] {
                own.write_volatile(0x3f80_3f80);
                let old = FROM::atom_add_bf16_relaxed_SCOPE(own.cast(), 0x3f80);
                right += u64::from(old == 0x3f80 && own.read_volatile() == 0x3f80_4000);
                let old = FROM::atom_add_bf16x2_relaxed_SCOPE(own.cast(), 0x3f80_0000);
                right += u64::from(old == 0x3f80_4000 && own.read_volatile() == 0x4000_4000);
            }
            for SEM in [relaxed, acquire, release, acq_rel] {
                own.write_volatile(value);
                let old = cluster::atom_cas_b16_SEM_cluster(own.cast(), value as u16, !value as u16);
                right += u64::from(old == value as u16 && own.read_volatile() == value ^ 0xffff);
            }
            own.write_volatile(0x3c00_3c00);
            let old = cluster::atom_add_f16_relaxed_cluster(own.cast(), 0x3c00);
            right += u64::from(old == 0x3c00 && own.read_volatile() == 0x3c00_4000);
            let old = cluster::atom_add_f16x2_relaxed_cluster(own.cast(), 0x3c00_0000);
            right += u64::from(old == 0x3c00_4000 && own.read_volatile() == 0x4000_4000);
            for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
                for SEM in [relaxed, release] {
                    own.write_volatile(0);
                    cluster::st_TY_SEM_cluster(own.cast::<RUST>(), value as RUST);
                    right += u64::from(own.read_volatile() == (value as RUST).into());
                }
                own.write_volatile(value);
                for SEM in [relaxed, acquire] {
                    right += u64::from(cluster::ld_TY_SEM_cluster(own.cast::<RUST>()) == value as RUST);
                }
            }
        }
        // One line is discarded, and not read any more.
        if i == 0 {
            memory::discard_l2(line.cast());
        }
    }
    to.each(|_, to| *to = [right]);
}

/// Sums, minimums and maximums of vectors in one instruction.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
#[kernel]
pub fn raw_vectors(mut own: PerThread<[u64; 4]>, mut to: PerThread<[u64; 1]>) {
    let Some((_, own)) = own.first() else { return };
    let own = own.as_mut_ptr();
    let mut right = 0;
    // SAFETY: the pointer is to 32 bytes of this thread.
    unsafe {
        cuda_std_macros::repeat! {
            for (VEC, N) in [(v2, 2), (v4, 4)] {
                let floats = own.cast::<[f32; N]>();
                floats.write_volatile([1.5; N]);
                let old = atomic::atom_add_VEC_f32_relaxed_gpu(floats, [2.0; N]);
                right += u64::from(old == [1.5; N] && floats.read_volatile() == [3.5; N]);
                let pairs = own.cast::<[u32; N]>();
                for (TY, ONE, TWO) in [(f16x2, 0x3c00_3c00, 0x4000_4000), (bf16x2, 0x3f80_3f80, 0x4000_4000)] {
                    for (OP, RESULT) in [(add, TWO), (min, ONE), (max, ONE)] {
                        pairs.write_volatile([ONE; N]);
                        let old = atomic::atom_OP_VEC_TY_relaxed_gpu(pairs, [ONE; N]);
                        right += u64::from(old == [ONE; N] && pairs.read_volatile() == [RESULT; N]);
                        pairs.write_volatile([ONE; N]);
                    }
                    atomic::atom_max_VEC_TY_relaxed_gpu(pairs, [TWO; N]);
                    right += u64::from(pairs.read_volatile() == [TWO; N]);
                    atomic::atom_min_VEC_TY_relaxed_gpu(pairs, [ONE; N]);
                    right += u64::from(pairs.read_volatile() == [ONE; N]);
                }
            }
        }
    }
    to.each(|_, to| *to = [right]);
}

/// A table that the launch stores once, which threads read at arbitrary positions.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Table {
    /// The distance between the two numbers to add.
    pub step: u64,
    /// The numbers.
    pub numbers: [u32; 62],
}

#[cfg(not(target_arch = "nvptx64"))]
// SAFETY: the struct consists of numbers.
unsafe impl cust_core::DeviceCopy for Table {}

/// Adds two numbers of a table that is read in parameter memory, and returns the misalignment of the
/// table's address, too.
#[cfg(feature = "base")]
#[kernel]
pub fn raw_constant(first: u32, #[grid_constant] table: &Table, mut to: PerThread<[u64; 1]>) {
    for (i, to) in to.own() {
        let number = |i: usize| u64::from(table.numbers[(first as usize + i) % 62]);
        let odd = core::hint::black_box(table) as *const Table as u64 % 32;
        to[0] = (number(i) + number(i + table.step as usize)) << 8 | odd;
    }
}
