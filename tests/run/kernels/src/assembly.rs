//! Inline assembly: operands of all classes, constants, symbols, jumps.

use crate::{cases, mix};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

static TABLE: [u32; 4] = [2, 3, 5, 7];

cases! {
    fn asm_classes(i, record) {
        let (a, b) = (mix(i.into()), mix(u64::from(i) + 5));
        record.put(add16(a as u16, b as u16));
        record.put(add32(a as u32, b as u32));
        record.put(add64(a, b));
        record.put(fma32(a as u8 as f32, 1.5, -2.0).to_bits());
        record.put(fma64(a as u16 as f64, 0.5, b as i8 as f64).to_bits());
        record.put(less(a as u32, b as u32));
        let (quotient, rest) = div_rem(a as u32, (b as u32 >> 8) | 1);
        record.put((quotient, rest));
        let mut in_place = a as u32;
        double(&mut in_place);
        record.put(in_place);
        record.put(plus_constant::<77>(a as u32));
        record.put(third_of_table());
        record.put(bytes(a));
    }

    fn asm_jumps(i, record) {
        let n = mix(i.into()) as u32;
        for k in [n, n >> 8, n >> 16, n % 3] {
            record.put(classify(k));
        }
        let mut sum = 0u32;
        for k in 0..10 {
            sum = classify(k * 3 + i).wrapping_add(sum);
        }
        record.put(sum);
    }
}

/// The same in Rust on the host, and in PTX on the device.
macro_rules! twins {
    ($(fn $name:ident $([$n:ident])?($($arg:ident: $ty:ty),*) -> $ret:ty $host:block $device:block)*) => { $(
        #[cfg(not(target_arch = "nvptx64"))]
        #[inline(never)]
        fn $name $(<const $n: u32>)? ($($arg: $ty),*) -> $ret $host
        #[cfg(target_arch = "nvptx64")]
        #[inline(never)]
        fn $name $(<const $n: u32>)? ($($arg: $ty),*) -> $ret { unsafe { $device } }
    )* };
}

twins! {
    fn add16(a: u16, b: u16) -> u16 { a.wrapping_add(b) } {
        let c: u16;
        asm!("add.u16 {}, {}, {};", out(reg16) c, in(reg16) a, in(reg16) b, options(pure, nomem));
        c
    }
    fn add32(a: u32, b: u32) -> u32 { a.wrapping_add(b) } {
        let c: u32;
        asm!("add.u32 {c}, {a}, {b};", c = lateout(reg32) c, a = in(reg32) a, b = in(reg32) b,
            options(pure, nomem));
        c
    }
    fn add64(a: u64, b: u64) -> u64 { a.wrapping_add(b) } {
        let c: u64;
        asm!("add.u64 {}, {}, {};", out(reg64) c, in(reg64) a, in(reg64) b, options(nomem));
        c
    }
    fn fma32(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) } {
        let d: f32;
        asm!("fma.rn.f32 {}, {}, {}, {};", out(reg32) d, in(reg32) a, in(reg32) b, in(reg32) c);
        d
    }
    fn fma64(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) } {
        let d: f64;
        asm!("fma.rn.f64 {}, {}, {}, {};", out(reg64) d, in(reg64) a, in(reg64) b, in(reg64) c);
        d
    }
    fn less(a: u32, b: u32) -> bool { a < b } {
        let c: u32;
        asm!(
            "{{",
            ".reg .pred p;",
            "setp.lt.u32 p, {a}, {b};",
            "selp.u32 {c}, 1, 0, p;",
            "}}",
            c = out(reg32) c, a = in(reg32) a, b = in(reg32) b,
        );
        c != 0
    }
    fn div_rem(a: u32, b: u32) -> (u32, u32) { (a / b, a % b) } {
        let (q, r): (u32, u32);
        asm!("div.u32 {q}, {a}, {b};", "rem.u32 {r}, {a}, {b};",
            q = out(reg32) q, r = out(reg32) r, a = in(reg32) a, b = in(reg32) b);
        (q, r)
    }
    fn double(x: &mut u32) -> () { *x = x.wrapping_mul(2) } {
        asm!("add.u32 {0}, {0}, {0};", inout(reg32) *x);
    }
    fn plus_constant[N](a: u32) -> u32 { a.wrapping_add(N * 3) } {
        let c: u32;
        asm!("add.u32 {}, {}, {};", out(reg32) c, in(reg32) a, const N * 3);
        c
    }
    fn third_of_table() -> u32 { TABLE[2] } {
        let c: u32;
        asm!("ld.global.u32 {}, [{} + 8];", out(reg32) c, sym TABLE);
        c
    }
    fn bytes(a: u64) -> u32 { (a as u8 as u32) + (a as i8 as u8 as u32) } {
        let (c, d): (u32, u32);
        asm!("cvt.u32.u16 {}, {};", out(reg32) c, in(reg16) a as u8);
        asm!("cvt.u32.u16 {}, {};", out(reg32) d, in(reg16) a as i8);
        (c & 0xFF) + (d & 0xFF)
    }
    fn classify(k: u32) -> u32 {
        match k { 0 => 100, k if k % 2 == 0 => k / 2 + 1, k => k.wrapping_mul(3) }
    } {
        let half: u32;
        asm!(
            "{{",
            ".reg .pred zero, odd;",
            ".reg .b32 low;",
            "shr.u32 {half}, {k}, 1;",
            "setp.eq.u32 zero, {k}, 0;",
            "@zero bra {none};",
            "and.b32 low, {k}, 1;",
            "setp.ne.u32 odd, low, 0;",
            "@odd bra {odd};",
            "}}",
            half = out(reg32) half,
            k = in(reg32) k,
            none = label { return 100 },
            odd = label { return k.wrapping_mul(3) },
        );
        half + 1
    }
}
