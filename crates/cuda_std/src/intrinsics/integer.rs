//! Integers: bit fields, byte shuffles, products with other widths, carries, and the video
//! instructions on bytes and halves of a register.

cuda_std_macros::intrinsics! {
    // Bits.
    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// How many bits are ones.
        #[pure]
        fn popc_TY(a: RUST) -> u32 = "popc.<TY> {ret}, {a};";
        /// How many zeros are above the highest one.
        #[pure]
        fn clz_TY(a: RUST) -> u32 = "clz.<TY> {ret}, {a};";
        /// The bits in the opposite order.
        #[pure]
        fn brev_TY(a: RUST) -> RUST = "brev.<TY> {ret}, {a};";
    }
    for (TY, RUST) in [(u32, u32), (s32, i32), (u64, u64), (s64, i64)] {
        /// The place of the highest one (of the highest bit unlike the sign), or `u32::MAX`.
        #[pure]
        fn bfind_TY(a: RUST) -> u32 = "bfind.<TY> {ret}, {a};";
        /// The distance of that bit from the highest, or `u32::MAX`.
        #[pure]
        fn bfind_shiftamt_TY(a: RUST) -> u32 = "bfind.shiftamt.<TY> {ret}, {a};";
        /// So many bits from a place on, extended by zeros, or by the sign.
        #[pure]
        fn bfe_TY(a: RUST, place: u32, count: u32) -> RUST = "bfe.<TY> {ret}, {a}, {place}, {count};";
    }
    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// `b` with so many bits of `a` put in at a place.
        #[pure]
        fn bfi_TY(a: RUST, b: RUST, place: u32, count: u32) -> RUST =
            "bfi.<TY> {ret}, {a}, {b}, {place}, {count};";
    }
    /// The place of the `offset`-th one from `base` on, downwards if that is negative, or
    /// `u32::MAX`.
    #[pure]
    fn fns_b32(mask: u32, base: u32, offset: i32) -> u32 = "fns.b32 {ret}, {mask}, {base}, {offset};";
    for MODE in [clamp, wrap] {
        /// A mask of so many ones from a place on; counts above 32 by <MODE>.
        #[pure]
        fn bmsk_MODE_b32(place: u32, count: u32) -> u32 = "bmsk.<MODE>.b32 {ret}, {place}, {count};";
        for (TY, RUST) in [(u32, u32), (s32, i32)] {
            /// The lowest bits, so many, extended by zeros or by the sign; counts above 32 by <MODE>.
            #[pure]
            fn szext_MODE_TY(a: RUST, count: u32) -> RUST = "szext.<MODE>.<TY> {ret}, {a}, {count};";
        }
        for SIDE in [l, r] {
            /// The upper or lower half of 64 bits, `high` and `low`, shifted; counts above 32 by <MODE>.
            #[pure]
            fn shf_SIDE_MODE_b32(low: u32, high: u32, count: u32) -> u32 =
                "shf.<SIDE>.<MODE>.b32 {ret}, {low}, {high}, {count};";
        }
    }
    /// Any function of three bits, by its table: bit `4 * a + 2 * b + c` of `TABLE`.
    #[pure]
    fn lop3_b32<const TABLE: u32 in 0..=255>(a: u32, b: u32, c: u32) -> u32 =
        "lop3.b32 {ret}, {a}, {b}, {c}, {TABLE};";
    /// Four of eight bytes, `b` above `a`: each by a digit of the selector, whose highest bit asks
    /// for the byte's sign instead.
    #[pure]
    fn prmt_b32(a: u32, b: u32, selector: u32) -> u32 = "prmt.b32 {ret}, {a}, {b}, {selector};";
    for MODE in [f4e, b4e, rc8, ecl, ecr, rc16] {
        /// Four of eight bytes, by the pattern `<MODE>` and a number from 0 to 3.
        #[pure]
        fn prmt_b32_MODE(a: u32, b: u32, selector: u32) -> u32 =
            "prmt.b32.<MODE> {ret}, {a}, {b}, {selector};";
    }

    // Products and sums.
    for (TY, RUST) in [(u32, u32), (s32, i32)] {
        for HALF in [lo, hi] {
            /// The lower or upper 32 of the 48 bits of a product of 24-bit numbers.
            #[pure]
            fn mul24_HALF_TY(a: RUST, b: RUST) -> RUST = "mul24.<HALF>.<TY> {ret}, {a}, {b};";
            /// The same, and a sum.
            #[pure]
            fn mad24_HALF_TY(a: RUST, b: RUST, c: RUST) -> RUST =
                "mad24.<HALF>.<TY> {ret}, {a}, {b}, {c};";
        }
    }
    for (TY, RUST) in [(u32, u32), (s32, i32), (u64, u64), (s64, i64)] {
        /// The upper half of a product.
        #[pure]
        fn mul_hi_TY(a: RUST, b: RUST) -> RUST = "mul.hi.<TY> {ret}, {a}, {b};";
        /// The upper half of a product, and a sum.
        #[pure]
        fn mad_hi_TY(a: RUST, b: RUST, c: RUST) -> RUST = "mad.hi.<TY> {ret}, {a}, {b}, {c};";
    }
    for (TY, RUST, WIDE) in [(u32, u32, u64), (s32, i32, i64)] {
        /// The whole product.
        #[pure]
        fn mul_wide_TY(a: RUST, b: RUST) -> WIDE = "mul.wide.<TY> {ret}, {a}, {b};";
        /// The whole product, and a sum.
        #[pure]
        fn mad_wide_TY(a: RUST, b: RUST, c: WIDE) -> WIDE = "mad.wide.<TY> {ret}, {a}, {b}, {c};";
    }
    for (TY, RUST, OUT) in [(u16, u16, u16), (s16, i16, u16), (u32, u32, u32), (s32, i32, u32), (u64, u64, u64), (s64, i64, u64)] {
        /// The distance of `a` and `b`, and a sum.
        #[pure]
        fn sad_TY(a: RUST, b: RUST, c: OUT) -> OUT = "sad.<TY> {ret}, {a}, {b}, {c};";
    }
    for OP in [add, sub] {
        /// A sum or difference that stops at the ends.
        #[pure]
        fn OP_sat_s32(a: i32, b: i32) -> i32 = "<OP>.sat.s32 {ret}, {a}, {b};";
    }
    /// The upper half of a product, and a sum that stops at the ends.
    #[pure]
    fn mad_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 = "mad.hi.sat.s32 {ret}, {a}, {b}, {c};";
    for (TA, RA, TB, RB, RC) in [
        (u32, u32, u32, u32, u32), (u32, u32, s32, i32, i32), (s32, i32, u32, u32, i32),
        (s32, i32, s32, i32, i32)
    ] {
        /// The scalar product of four bytes and four bytes, and a sum.
        #[pure]
        fn dp4a_TA_TB(a: RA, b: RB, c: RC) -> RC = "dp4a.<TA>.<TB> {ret}, {a}, {b}, {c};";
        for HALF in [lo, hi] {
            /// The scalar product of two halves of `a` and the two lower or upper bytes of `b`, and a
            /// sum.
            #[pure]
            fn dp2a_HALF_TA_TB(a: RA, b: RB, c: RC) -> RC =
                "dp2a.<HALF>.<TA>.<TB> {ret}, {a}, {b}, {c};";
        }
    }

    // Carries: the flag lives in no register, so each row is a whole chain.
    for (BITS, RUST) in [(32, u32), (64, u64)] {
        /// The sum of two words, lowest first, and the carry.
        #[pure]
        fn add_carry_u_BITS(a: RUST, b: RUST, carry: RUST) -> (RUST, RUST) =
            "{ .reg .b<BITS> %t; add.cc.u<BITS> %t, {carry}, -1; addc.cc.u<BITS> {ret.0}, {a}, {b}; addc.u<BITS> {ret.1}, 0, 0; }";
        /// The difference of two words and a borrow, and the borrow.
        #[pure]
        fn sub_borrow_u_BITS(a: RUST, b: RUST, borrow: RUST) -> (RUST, RUST) =
            "{ .reg .b<BITS> %t; sub.cc.u<BITS> %t, 0, {borrow}; subc.cc.u<BITS> {ret.0}, {a}, {b}; subc.u<BITS> %t, 0, 0; neg.s<BITS> {ret.1}, %t; }";
        /// The sum of two numbers of two words.
        #[pure]
        fn add_wide_u_BITS(a: [RUST; 2], b: [RUST; 2]) -> [RUST; 2] =
            "add.cc.u<BITS> {ret.0}, {a.0}, {b.0}; addc.u<BITS> {ret.1}, {a.1}, {b.1};";
        /// The difference of two numbers of two words.
        #[pure]
        fn sub_wide_u_BITS(a: [RUST; 2], b: [RUST; 2]) -> [RUST; 2] =
            "sub.cc.u<BITS> {ret.0}, {a.0}, {b.0}; subc.u<BITS> {ret.1}, {a.1}, {b.1};";
        /// A product of two words and a sum of two words.
        #[pure]
        fn mad_wide_carry_u_BITS(a: RUST, b: RUST, c: [RUST; 2]) -> [RUST; 2] =
            "mad.lo.cc.u<BITS> {ret.0}, {a}, {b}, {c.0}; madc.hi.u<BITS> {ret.1}, {a}, {b}, {c.1};";
    }

    // Two halves or four bytes of a register, each for itself.
    for (TY, RUST) in [(u32, u32), (s32, i32)] {
        for OP in [
            vadd2, vadd4, vsub2, vsub4, vavrg2, vavrg4, vmin2, vmin4, vmax2, vmax4, vabsdiff2,
            vabsdiff4
        ] {
            /// `<OP>`: two halves or four bytes of a register, each for itself.
            #[pure]
            fn OP_TY(a: RUST, b: RUST) -> RUST =
                "{ .reg .b32 %z; mov.b32 %z, 0; <OP>.<TY>.<TY>.<TY> {ret}, {a}, {b}, %z; }";
            /// `<OP>`: two halves or four bytes of a register, all of them summed with `c`.
            #[pure]
            fn OP_TY_add(a: RUST, b: RUST, c: RUST) -> RUST =
                "<OP>.<TY>.<TY>.<TY>.add {ret}, {a}, {b}, {c};";
        }
        for OP in [
            vadd2, vadd4, vsub2, vsub4, vmin2, vmin4, vmax2, vmax4, vabsdiff2, vabsdiff4
        ] {
            /// `<OP>`: two halves or four bytes of a register, each for itself, stopping at the ends.
            #[pure]
            fn OP_sat_TY(a: RUST, b: RUST) -> RUST =
                "{ .reg .b32 %z; mov.b32 %z, 0; <OP>.<TY>.<TY>.<TY>.sat {ret}, {a}, {b}, %z; }";
        }
        for OP in [vset2, vset4] {
            for CMP in [eq, ne, lt, le, gt, ge] {
                /// 1 or 0 for each half or byte of a register.
                #[pure]
                fn OP_CMP_TY(a: RUST, b: RUST) -> u32 =
                    "{ .reg .b32 %z; mov.b32 %z, 0; <OP>.<TY>.<TY>.<CMP> {ret}, {a}, {b}, %z; }";
                /// How many halves or bytes of a register compare so, and a sum.
                #[pure]
                fn OP_CMP_TY_add(a: RUST, b: RUST, c: u32) -> u32 =
                    "<OP>.<TY>.<TY>.<CMP>.add {ret}, {a}, {b}, {c};";
            }
        }
        for PART in [b0, b1, b2, b3, h0, h1] {
            for OP in [vadd, vsub, vabsdiff, vmin, vmax] {
                /// `<OP>` of the part `<PART>` of both registers.
                #[pure]
                fn OP_PART_TY(a: RUST, b: RUST) -> RUST = "<OP>.<TY>.<TY>.<TY> {ret}, {a}.<PART>, {b}.<PART>;";
            }
            /// The product of the part `<PART>` of both registers, and a sum.
            #[pure]
            fn vmad_PART_TY(a: RUST, b: RUST, c: RUST) -> RUST =
                "vmad.<TY>.<TY>.<TY> {ret}, {a}.<PART>, {b}.<PART>, {c};";
        }
        for OP in [vshl, vshr] {
            for MODE in [clamp, wrap] {
                /// A shift, counts above 32 by <MODE>.
                #[pure]
                fn OP_MODE_TY(a: RUST, b: u32) -> RUST = "<OP>.<TY>.<TY>.u32.<MODE> {ret}, {a}, {b};";
            }
        }
        for CMP in [eq, ne, lt, le, gt, ge] {
            /// 1 or 0.
            #[pure]
            fn vset_CMP_TY(a: RUST, b: RUST) -> u32 = "vset.<TY>.<TY>.<CMP> {ret}, {a}, {b};";
        }
    }
    for THEN in [add, min, max] {
        for OP in [vadd, vsub, vabsdiff, vmin, vmax] {
            /// `<OP>` of two numbers, stopping at the ends, and then `<THEN>` with a third.
            #[pure]
            fn OP_sat_THEN_s32(a: i32, b: i32, c: i32) -> i32 =
                "<OP>.s32.s32.s32.sat.<THEN> {ret}, {a}, {b}, {c};";
        }
        // ptxas 13.0 makes code of `vadd.u32.u32.u32.sat` that stops at zero alone, and compares
        // its result as a signed number with `c`. So unsigned ones are put together.
        for (OP, FIRST) in [
            (vadd, "not.b32 %t, {b}; min.u32 %t, {a}, %t; add.u32 %t, %t, {b};"),
            (vsub, "max.u32 %t, {a}, {b}; sub.u32 %t, %t, {b};"),
            (vabsdiff, "min.u32 %s, {a}, {b}; max.u32 %t, {a}, {b}; sub.u32 %t, %t, %s;"),
            (vmin, "min.u32 %t, {a}, {b};"),
            (vmax, "max.u32 %t, {a}, {b};")
        ] {
            /// `<OP>` of two numbers, stopping at the ends, and then `<THEN>` with a third.
            #[pure]
            fn OP_sat_THEN_u32(a: u32, b: u32, c: u32) -> u32 =
                "{ .reg .b32 %t, %s; <FIRST> <THEN>.u32 {ret}, %t, {c}; }";
        }
    }
    for (SCALE, NAME, SHIFT) in [("", by1, 0), (".shr7", shr7, 7), (".shr15", shr15, 15)] {
        /// A product and a sum, shifted, stopping at the ends.
        #[pure]
        fn vmad_NAME_s32(a: i32, b: i32, c: i32) -> i32 =
            "vmad.s32.s32.s32.sat<SCALE> {ret}, {a}, {b}, {c};";
        // As above: ptxas multiplies as if operands were signed.
        /// A product and a sum, shifted, stopping at the end.
        #[pure]
        fn vmad_NAME_u32(a: u32, b: u32, c: u32) -> u32 =
            "{ .reg .b64 %t; cvt.u64.u32 %t, {c}; mad.wide.u32 %t, {a}, {b}, %t; shr.u64 %t, %t, <SHIFT>; min.u64 %t, %t, 4294967295; cvt.u32.u64 {ret}, %t; }";
    }
    for OP in [add, min, max] {
        for (TY, ARCH) in [(u16x2, sm_90), (s16x2, sm_90)] {
            /// Two halves of a register, each for itself, in one instruction.
            #[requires(ARCH)]
            #[pure]
            fn OP_TY(a: u32, b: u32) -> u32 = "<OP>.<TY> {ret}, {a}, {b};";
        }
    }
    for OP in [min, max] {
        /// Two halves of a register, each for itself, and not below zero.
        #[requires(sm_90)]
        #[pure]
        fn OP_relu_s16x2(a: u32, b: u32) -> u32 = "<OP>.relu.s16x2 {ret}, {a}, {b};";
        /// The smaller or larger one, and not below zero.
        #[requires(sm_90)]
        #[pure]
        fn OP_relu_s32(a: i32, b: i32) -> i32 = "<OP>.relu.s32 {ret}, {a}, {b};";
    }
    for (TO, FROM, RUST) in [(u16, s32, i32), (s16, s32, i32)] {
        /// Two numbers, clamped and packed, the first above the second.
        #[pure]
        fn cvt_pack_sat_TO_FROM(a: RUST, b: RUST) -> u32 = "cvt.pack.sat.<TO>.<FROM> {ret}, {a}, {b};";
    }
    for TO in [u8, s8, u4, s4, u2, s2] {
        /// Two numbers, clamped and packed, with what is in `c` above them.
        #[requires(sm_75)]
        #[pure]
        fn cvt_pack_sat_TO_s32_b32(a: i32, b: i32, c: u32) -> u32 =
            "cvt.pack.sat.<TO>.s32.b32 {ret}, {a}, {b}, {c};";
    }
}
