//! Integer arithmetic of all widths: wrapping, checked, saturating, overflowing, bits, text.

use crate::{Record, cases, mix};

/// Numbers of interest for a type: the extremes, small ones, and some that look random.
macro_rules! samples {
    ($ty:ty, $i:expr) => {{
        let wide = (u128::from(mix($i as u64)) << 64) | u128::from(mix($i as u64 ^ 0x5555));
        [
            wide as $ty,
            (wide >> 37) as $ty,
            <$ty>::MIN,
            <$ty>::MAX,
            0,
            1,
            (0 as $ty).wrapping_sub(1),
            ($i as $ty).wrapping_mul(3),
        ]
    }};
}

/// Folds everything two numbers can be combined to into a few words.
macro_rules! binary_operations {
    ($ty:ty, $i:expr, $record:expr) => {{
        let samples = samples!($ty, $i);
        for a in samples {
            for b in samples {
                let mut all = 0u64;
                let mut add = |value: u128| all = mix(all ^ value as u64 ^ (value >> 64) as u64);
                add(a.wrapping_add(b) as u128);
                add(a.wrapping_sub(b) as u128);
                add(a.wrapping_mul(b) as u128);
                add(a.saturating_add(b) as u128);
                add(a.saturating_sub(b) as u128);
                add(a.saturating_mul(b) as u128);
                for checked in [a.checked_add(b), a.checked_sub(b), a.checked_mul(b)] {
                    add(checked.map_or(1 << 100, |x| x as u128));
                }
                for (value, overflowed) in [
                    a.overflowing_add(b),
                    a.overflowing_sub(b),
                    a.overflowing_mul(b),
                ] {
                    add(value as u128 ^ (overflowed as u128) << 70);
                }
                for checked in [
                    a.checked_div(b),
                    a.checked_rem(b),
                    a.checked_div_euclid(b),
                    a.checked_rem_euclid(b),
                ] {
                    add(checked.map_or(1 << 100, |x| x as u128));
                }
                if b != 0 {
                    add(a.wrapping_div(b) as u128);
                    add(a.wrapping_rem(b) as u128);
                }
                let shift = (b as u32) & 255;
                add(a.wrapping_shl(shift) as u128);
                add(a.wrapping_shr(shift) as u128);
                add(a.checked_shl(shift).map_or(1 << 100, |x| x as u128));
                add(a.checked_shr(shift).map_or(1 << 100, |x| x as u128));
                add(a.abs_diff(b) as u128);
                add((a & b) as u128);
                add((a | b) as u128);
                add((a ^ b) as u128);
                add(a.cmp(&b) as u128);
                add(a.min(b) as u128);
                add(a.max(b) as u128);
                $record.put(all);
            }
        }
    }};
}

macro_rules! unary_operations {
    ($ty:ty, $i:expr, $record:expr) => {{
        for a in samples!($ty, $i) {
            $record.put(a.leading_zeros());
            $record.put(a.trailing_zeros());
            $record.put(a.count_ones());
            $record.put(a.leading_ones() ^ a.trailing_ones() << 8 ^ a.count_zeros() << 16);
            // Distances beyond the width, too.
            $record.put(a.rotate_left($i * 5 % 200));
            $record.put(a.rotate_right($i * 3 % 177));
            $record.put(a.wrapping_shl($i * 5) | a.wrapping_shr(0u32.wrapping_sub($i * 5)));
            $record.put(a.swap_bytes());
            $record.put(a.reverse_bits());
            $record.put(!a);
            $record.put(a.wrapping_neg());
            $record.put(a.checked_neg().is_some());
            $record.put(a.wrapping_pow($i % 9));
            $record.put(a.checked_pow($i % 5));
            $record.put(a.saturating_pow($i % 7));
            $record.put(a.overflowing_pow(3).1);
            $record.put(a.checked_ilog2());
            $record.put(a.checked_ilog10());
            $record.put(<$ty>::from_be_bytes(a.to_le_bytes()));
            $record.put(a.to_be() ^ a.to_le());
        }
    }};
}

macro_rules! casts {
    ($ty:ty, $i:expr, $record:expr) => {{
        for a in samples!($ty, $i) {
            $record.put((a as u8, a as i8, a as u16, a as i16));
            $record.put((a as u32, a as i32, a as u64, a as i64));
            $record.put((a as u128, a as i128));
            $record.put((a as f32, a as f64));
            $record.put((
                u8::try_from(a).ok(),
                i16::try_from(a).ok(),
                u32::try_from(a).ok(),
            ));
            $record.put((i64::try_from(a).ok(), u128::try_from(a).ok()));
        }
    }};
}

macro_rules! all_of {
    ($($binary:ident $unary:ident $cast:ident $ty:ty;)*) => {
        cases! {
            $(
                fn $binary(i, record) {
                    binary_operations!($ty, i, record);
                }

                fn $unary(i, record) {
                    unary_operations!($ty, i, record);
                }

                fn $cast(i, record) {
                    casts!($ty, i, record);
                }
            )*

            fn integer_text(i, record) {
                integer_text_of(i, record);
            }

            fn integer_operators(i, record) {
                // The operators themselves, which debug builds check.
                let (a, b) = (i as i32 - 20, 7 - (i as i32 % 5));
                record.put((a + b, a - b, a * b, a / b, a % b));
                record.put((a << (i % 31), a >> (i % 31), -a, !a));
                let (a, b) = (mix(i.into()) >> 33, mix(u64::from(i) + 1) >> 40 | 1);
                record.put((a + b, a * b, a / b, a % b, a & b | 3, a ^ b));
                record.put((a << (i % 20), a >> (i % 64)));
                let (mut a, b) = (i as u8 / 2, i as i8 / 3);
                a += 5;
                a *= 2;
                a /= 3;
                a -= 1;
                a <<= 1;
                a |= 1;
                record.put((a, b * 3, b % 3, b / 2, -b));
            }

            fn unsigned_extras(i, record) {
                let n = mix(i.into()) >> (i % 60);
                record.put((n.isqrt(), (n as u32).isqrt(), (n as u8).isqrt()));
                record.put((n.checked_next_power_of_two() , (n as u32 >> 1).next_power_of_two()));
                record.put((n.is_power_of_two(), (n >> 8).next_multiple_of(u64::from(i) + 1)));
                record.put((n.div_ceil(17), n.midpoint(u64::MAX), (n as u8).midpoint(200)));
                record.put((n as u32).widening_product(0xdead_beef));
                record.put((n.ilog(3.max(i.into()).max(2)), (n as u16 | 1).ilog10()));
            }

            fn signed_extras(i, record) {
                let n = mix(i.into()) as i64 >> (i % 60);
                record.put((n.signum(), n.unsigned_abs(), n.wrapping_abs(), n.checked_abs()));
                record.put((n.is_negative(), n.is_positive(), n.saturating_neg()));
                record.put((n.rem_euclid(13), n.div_euclid(-13), (n as i8).wrapping_abs()));
                record.put(((n as i8).saturating_abs(), (n as i16).overflowing_neg().1));
                record.put((n.cast_unsigned(), n.saturating_add_unsigned(u64::MAX >> 1)));
                record.put(i32::MIN.overflowing_abs().1);
            }

            // Of numbers above which there are others in a register.
            fn bounds_of_narrow(i, record) {
                let n = mix(i.into()) as u32 >> (i % 16);
                let (unsigned, signed) = ((n >> 3) as u16, (n >> 5) as i16);
                for (least, most) in [(unsigned.min(127), unsigned.max(9)), (unsigned.min(255), unsigned.max(300))] {
                    record.put((least as u8, least == 127, least == 255, most, most == 9, most == 300));
                }
                let (least, most) = (signed.min(127), signed.max(-128));
                record.put((least, least == 127, most, most == -128));
                let clamped = signed.clamp(-128, 127);
                record.put((clamped as i8, clamped == 127, clamped == -128, clamped != 127));
            }
        }
    };
}

/// The full product, as library code would write it.
trait WideningProduct {
    fn widening_product(self, other: Self) -> (u32, u32);
}

impl WideningProduct for u32 {
    fn widening_product(self, other: Self) -> (u32, u32) {
        let product = u64::from(self) * u64::from(other);
        (product as u32, (product >> 32) as u32)
    }
}

fn integer_text_of(i: u32, record: &mut Record) {
    use core::fmt::Write;

    let n = mix(i.into());
    let _ = write!(record, "{} {} {}", n, n as i32, n as u8);
    let _ = write!(
        record,
        "{:x} {:#X} {:o} {:#b}",
        n, n as i16, n as u32, n as u8
    );
    let _ = write!(
        record,
        "{:>8}|{:<6}|{:^+7}|{:06}",
        n as u16, n as u8, n as i8, n as i8
    );
    let _ = write!(
        record,
        "{} {}",
        u128::from(n) * u128::from(n),
        i128::from(n as i64)
    );
    record.put("123".parse::<u8>().ok());
    record.put("-129".parse::<i8>().ok());
    record.put("+77".parse::<i64>().ok());
    record.put(u32::from_str_radix("zz", 36).ok());
    record.put(i128::from_str_radix("-7fffffffffffffffffff", 16).ok());
    record.put("".parse::<u32>().is_err());
    record.put("18446744073709551616".parse::<u64>().is_err());
}

all_of! {
    binary_u8 unary_u8 cast_u8 u8;
    binary_i8 unary_i8 cast_i8 i8;
    binary_u16 unary_u16 cast_u16 u16;
    binary_i16 unary_i16 cast_i16 i16;
    binary_u32 unary_u32 cast_u32 u32;
    binary_i32 unary_i32 cast_i32 i32;
    binary_u64 unary_u64 cast_u64 u64;
    binary_i64 unary_i64 cast_i64 i64;
    binary_u128 unary_u128 cast_u128 u128;
    binary_i128 unary_i128 cast_i128 i128;
    binary_usize unary_usize cast_usize usize;
}
