//! Integer operations that need more than an operator.

/// Returns start and length of a bit field, of which PTX uses eight bits each. Hardware truncates
/// them to eight bits only for 32-bit fields, and clamps them for 64-bit fields.
fn field_place(start: u32, length: u32, width: u32) -> (u32, u32) {
    match width {
        32 => (start & 0xff, length & 0xff),
        _ => (start.min(0xff), length.min(0xff)),
    }
}

/// `bfe`: extracts `length` bits from `start`, sign-extended if `signed`.
pub(crate) fn bit_field_extract(
    value: u64,
    start: u32,
    length: u32,
    width: u32,
    signed: bool,
) -> u64 {
    let (start, length) = field_place(start, length, width);
    if length == 0 {
        return 0;
    }
    let mask = u64::MAX >> (64 - width);
    let value = value & mask;
    // Bits beyond the register's end repeat the sign or are zero.
    let sign = signed && value >> (start + length - 1).min(width - 1) & 1 != 0;
    let field = if start >= 64 { 0 } else { value >> start };
    let taken = length.min(width.saturating_sub(start));
    let kept = if taken >= 64 {
        field
    } else {
        field & ((1 << taken) - 1)
    };
    let upper = if taken >= 64 { 0 } else { u64::MAX << taken };
    if sign { (kept | upper) & mask } else { kept }
}

/// `bfi`: inserts the lower `length` bits of `value` into `into` at `start`.
pub(crate) fn bit_field_insert(value: u64, into: u64, start: u32, length: u32, width: u32) -> u64 {
    let (start, length) = field_place(start, length, width);
    if start >= width {
        return into;
    }
    let length = length.min(width - start);
    let field = if length >= 64 {
        u64::MAX
    } else {
        (1 << length) - 1
    };
    into & !(field << start) | (value & field) << start
}

/// `bfind`: returns the position of the most significant bit that differs from the sign, or all
/// ones if there is none.
pub(crate) fn find_leading(value: u64, width: u32, signed: bool, shift_amount: bool) -> u32 {
    let mut value = value & (u64::MAX >> (64 - width));
    if signed && value >> (width - 1) & 1 != 0 {
        value ^= u64::MAX >> (64 - width);
    }
    if value == 0 {
        return u32::MAX;
    }
    let place = 63 - value.leading_zeros();
    if shift_amount {
        width - 1 - place
    } else {
        place
    }
}

/// `fns`: returns the position of the `offset`-th set bit from `base`, upwards if positive,
/// downwards if negative.
pub(crate) fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    // The result of the device's loop, in which the magnitude of this offset overflows.
    if offset == i32::MIN {
        return 0;
    }
    if base >= 32 {
        return u32::MAX;
    }
    if offset == 0 {
        return if mask >> base & 1 != 0 {
            base
        } else {
            u32::MAX
        };
    }
    let mut place = base as i32;
    let mut found = 0u32;
    while (0..32).contains(&place) {
        found += mask >> place & 1;
        if found == offset.unsigned_abs() && mask >> place & 1 != 0 {
            return place as u32;
        }
        place += offset.signum();
    }
    u32::MAX
}

/// `prmt` in its general form: selects four bytes among the eight of `b:a`.
pub(crate) fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let mut result = 0;
    for index in 0..4 {
        let choice = selector >> (index * 4) & 0xf;
        let mut byte = (bytes >> ((choice & 7) * 8)) as u8;
        if choice & 8 != 0 {
            byte = ((byte as i8) >> 7) as u8;
        }
        result |= u32::from(byte) << (index * 8);
    }
    result
}

/// Returns the selector of a special mode of `prmt`, by the mode's number in `decode`.
pub(crate) fn permute_selector(mode: i64, control: u32) -> u32 {
    let c = control & 3;
    match mode {
        // f4e, b4e: four bytes upwards or downwards from `c`.
        1 => (0..4).map(|i| ((c + i) & 7) << (i * 4)).sum(),
        2 => (0..4).map(|i| ((c.wrapping_sub(i)) & 7) << (i * 4)).sum(),
        // rc8: one byte four times.
        3 => c * 0x1111,
        // ecl, ecr: edge clamp.
        4 => (0..4).map(|i| i.max(c) << (i * 4)).sum(),
        5 => (0..4).map(|i| i.min(c) << (i * 4)).sum(),
        // rc16: one half twice.
        6 => {
            let h = (c & 1) * 2;
            (h | (h + 1) << 4) * 0x101
        }
        _ => control,
    }
}

/// `lop3`: for each bit, the bit of `table` that the three inputs' bits select.
#[inline(always)]
pub(crate) fn logic3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut result = 0;
    for index in 0..8 {
        if table >> index & 1 != 0 {
            let x = if index & 4 != 0 { a } else { !a };
            let y = if index & 2 != 0 { b } else { !b };
            let z = if index & 1 != 0 { c } else { !c };
            result |= x & y & z;
        }
    }
    result
}

/// `dp4a` and `dp2a`: a sum of products of bytes with bytes or halves. In `modes`, bits 0 and 1 are
/// for signed `a` and `b`, bit 2 for two products instead of four, bit 3 for the upper half of `b`.
pub(crate) fn dot_product(a: u32, b: u32, c: u32, modes: i64) -> u32 {
    let byte = |x: u32, index: u32, signed: bool| {
        let byte = (x >> (index * 8)) as u8;
        if signed {
            i64::from(byte as i8)
        } else {
            i64::from(byte)
        }
    };
    let half = |x: u32, index: u32, signed: bool| {
        let half = (x >> (index * 16)) as u16;
        if signed {
            i64::from(half as i16)
        } else {
            i64::from(half)
        }
    };
    let (sa, sb) = (modes & 1 != 0, modes & 2 != 0);
    let sum: i64 = if modes & 4 == 0 {
        (0..4).map(|i| byte(a, i, sa) * byte(b, i, sb)).sum()
    } else {
        let upper = if modes & 8 != 0 { 2 } else { 0 };
        (0..2)
            .map(|i| half(a, i, sa) * byte(b, i + upper, sb))
            .sum()
    };
    c.wrapping_add(sum as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        assert_eq!(bit_field_extract(0xabcd_1234, 8, 8, 32, false), 0x12);
        assert_eq!(bit_field_extract(0xabcd_8234, 8, 8, 32, true), 0xffff_ff82);
        assert_eq!(
            bit_field_extract(0x8000_0000, 28, 16, 32, true),
            0xffff_fff8
        );
        assert_eq!(bit_field_extract(0x8000_0000, 40, 4, 32, true), 0xffff_ffff);
        assert_eq!(bit_field_extract(u64::MAX, 0, 64, 64, false), u64::MAX);
        assert_eq!(bit_field_insert(0xff, 0, 28, 8, 32), 0xf000_0000);
        assert_eq!(bit_field_insert(u64::MAX, 5, 0, 64, 64), u64::MAX);
        assert_eq!(find_leading(0, 32, false, false), u32::MAX);
        assert_eq!(find_leading(0xffff_fffe, 32, true, false), 0);
        assert_eq!(find_leading(0x10, 32, false, true), 27);
    }

    #[test]
    fn permutations() {
        let (a, b) = (0x3322_1100, 0x7766_5544);
        assert_eq!(permute(a, b, 0x7531), 0x7755_3311);
        assert_eq!(permute(0x80, 0, 0x0008), 0x8080_80ff);
        assert_eq!(permute(a, b, permute_selector(1, 2)), 0x5544_3322);
        assert_eq!(permute(a, b, permute_selector(2, 1)), 0x6677_0011);
        assert_eq!(permute(a, b, permute_selector(3, 1)), 0x1111_1111);
        assert_eq!(permute(a, b, permute_selector(6, 1)), 0x3322_3322);
    }

    #[test]
    fn nth_set() {
        assert_eq!(find_nth_set(0b1011_0100, 2, 0), 2);
        assert_eq!(find_nth_set(0b1011_0100, 0, 2), 4);
        assert_eq!(find_nth_set(0b1011_0100, 7, -2), 5);
        assert_eq!(find_nth_set(0b1, 1, 3), u32::MAX);
    }
}
