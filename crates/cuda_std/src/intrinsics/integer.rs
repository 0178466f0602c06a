//! Integers: bit fields, byte permutations, widening and multiply-add, carry chains, and the video
//! (SIMD) instructions on 8-bit and 16-bit parts of a register.

cuda_std_macros::intrinsics! {
    // Bits.
    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// Returns the number of one bits.
        #[pure]
        fn popc_TY(a: RUST) -> u32 = "popc.<TY> {ret}, {a};";
        /// Returns the number of leading zeros.
        #[pure]
        fn clz_TY(a: RUST) -> u32 = "clz.<TY> {ret}, {a};";
        /// Reverses the order of the bits.
        #[pure]
        fn brev_TY(a: RUST) -> RUST = "brev.<TY> {ret}, {a};";
    }
    for (TY, RUST) in [(u32, u32), (s32, i32), (u64, u64), (s64, i64)] {
        /// Returns the position of the highest one bit (for signed integers, of the highest bit
        /// that differs from the sign), or `u32::MAX` if there is none.
        #[pure]
        fn bfind_TY(a: RUST) -> u32 = "bfind.<TY> {ret}, {a};";
        /// Returns the shift amount that moves the bit found by `bfind` to the highest position, or
        /// `u32::MAX`.
        #[pure]
        fn bfind_shiftamt_TY(a: RUST) -> u32 = "bfind.shiftamt.<TY> {ret}, {a};";
        /// Extracts `count` bits starting at `place`, zero-extended or sign-extended.
        #[pure]
        fn bfe_TY(a: RUST, place: u32, count: u32) -> RUST = "bfe.<TY> {ret}, {a}, {place}, {count};";
    }
    for (TY, RUST) in [(b32, u32), (b64, u64)] {
        /// Inserts `count` bits of `a` into `b` at `place`.
        #[pure]
        fn bfi_TY(a: RUST, b: RUST, place: u32, count: u32) -> RUST =
            "bfi.<TY> {ret}, {a}, {b}, {place}, {count};";
    }
    /// Finds the position of the `offset`-th one bit starting at `base`, toward lower bits if
    /// `offset` is negative. Returns `u32::MAX` if there is none.
    #[pure]
    fn fns_b32(mask: u32, base: u32, offset: i32) -> u32 = "fns.b32 {ret}, {mask}, {base}, {offset};";
    for MODE in [clamp, wrap] {
        /// Returns a mask of `count` ones starting at `place`. Counts above 32: `<MODE>`.
        #[pure]
        fn bmsk_MODE_b32(place: u32, count: u32) -> u32 = "bmsk.<MODE>.b32 {ret}, {place}, {count};";
        for (TY, RUST) in [(u32, u32), (s32, i32)] {
            /// Zero-extends or sign-extends the lowest `count` bits. Counts above 32: `<MODE>`.
            #[pure]
            fn szext_MODE_TY(a: RUST, count: u32) -> RUST = "szext.<MODE>.<TY> {ret}, {a}, {count};";
        }
        for SIDE in [l, r] {
            /// Shifts the 64-bit value of `high` and `low` (a funnel shift) and returns one half.
            /// Counts above 32: `<MODE>`.
            #[pure]
            fn shf_SIDE_MODE_b32(low: u32, high: u32, count: u32) -> u32 =
                "shf.<SIDE>.<MODE>.b32 {ret}, {low}, {high}, {count};";
        }
    }
    /// Computes any bitwise function of three operands, given its truth table: bit
    /// `4 * a + 2 * b + c` of `TABLE`.
    #[pure]
    fn lop3_b32<const TABLE: u32 in 0..=255>(a: u32, b: u32, c: u32) -> u32 =
        "lop3.b32 {ret}, {a}, {b}, {c}, {TABLE};";
    /// Selects four of the eight bytes of `b` and `a`. Each hexadecimal digit of the selector
    /// selects a byte; its highest bit replicates the byte's sign instead.
    #[pure]
    fn prmt_b32(a: u32, b: u32, selector: u32) -> u32 = "prmt.b32 {ret}, {a}, {b}, {selector};";
    for MODE in [f4e, b4e, rc8, ecl, ecr, rc16] {
        /// Selects four of the eight bytes of `b` and `a` in the mode `<MODE>`, with a selector
        /// from 0 to 3.
        #[pure]
        fn prmt_b32_MODE(a: u32, b: u32, selector: u32) -> u32 =
            "prmt.b32.<MODE> {ret}, {a}, {b}, {selector};";
    }

    // Products and sums.
    for (TY, RUST) in [(u32, u32), (s32, i32)] {
        for HALF in [lo, hi] {
            /// Returns the lower or upper 32 of the 48 bits of the product of 24-bit integers.
            #[pure]
            fn mul24_HALF_TY(a: RUST, b: RUST) -> RUST = "mul24.<HALF>.<TY> {ret}, {a}, {b};";
            /// Adds `c` to the lower or upper 32 of the 48 bits of the product of 24-bit integers.
            #[pure]
            fn mad24_HALF_TY(a: RUST, b: RUST, c: RUST) -> RUST =
                "mad24.<HALF>.<TY> {ret}, {a}, {b}, {c};";
        }
    }
    for (TY, RUST) in [(u32, u32), (s32, i32), (u64, u64), (s64, i64)] {
        /// Returns the upper half of the product.
        #[pure]
        fn mul_hi_TY(a: RUST, b: RUST) -> RUST = "mul.hi.<TY> {ret}, {a}, {b};";
        /// Adds `c` to the upper half of the product.
        #[pure]
        fn mad_hi_TY(a: RUST, b: RUST, c: RUST) -> RUST = "mad.hi.<TY> {ret}, {a}, {b}, {c};";
    }
    for (TY, RUST, WIDE) in [(u32, u32, u64), (s32, i32, i64)] {
        /// Returns the full product.
        #[pure]
        fn mul_wide_TY(a: RUST, b: RUST) -> WIDE = "mul.wide.<TY> {ret}, {a}, {b};";
        /// Adds `c` to the full product.
        #[pure]
        fn mad_wide_TY(a: RUST, b: RUST, c: WIDE) -> WIDE = "mad.wide.<TY> {ret}, {a}, {b}, {c};";
    }
    for (TY, RUST, OUT) in [(u16, u16, u16), (s16, i16, u16), (u32, u32, u32), (s32, i32, u32), (u64, u64, u64), (s64, i64, u64)] {
        /// Returns the absolute difference of `a` and `b`, plus `c`.
        #[pure]
        fn sad_TY(a: RUST, b: RUST, c: OUT) -> OUT = "sad.<TY> {ret}, {a}, {b}, {c};";
    }
    for OP in [add, sub] {
        /// Computes `<OP>`, saturating.
        #[pure]
        fn OP_sat_s32(a: i32, b: i32) -> i32 = "<OP>.sat.s32 {ret}, {a}, {b};";
    }
    /// Adds `c` to the upper half of the product, saturating.
    #[pure]
    fn mad_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 = "mad.hi.sat.s32 {ret}, {a}, {b}, {c};";
    for (TA, RA, TB, RB, RC) in [
        (u32, u32, u32, u32, u32), (u32, u32, s32, i32, i32), (s32, i32, u32, u32, i32),
        (s32, i32, s32, i32, i32)
    ] {
        /// Returns the dot product of four bytes and four bytes, plus `c`.
        #[pure]
        fn dp4a_TA_TB(a: RA, b: RB, c: RC) -> RC = "dp4a.<TA>.<TB> {ret}, {a}, {b}, {c};";
        for HALF in [lo, hi] {
            /// Returns the dot product of the two 16-bit halves of `a` and the two lower or upper
            /// bytes of `b`, plus `c`.
            #[pure]
            fn dp2a_HALF_TA_TB(a: RA, b: RB, c: RC) -> RC =
                "dp2a.<HALF>.<TA>.<TB> {ret}, {a}, {b}, {c};";
        }
    }

    // Carry chains. The carry flag is not a register operand, so each row is a complete chain.
    for (BITS, RUST) in [(32, u32), (64, u64)] {
        /// Returns the sum of two words and a carry, and the carry out.
        #[pure]
        fn add_carry_u_BITS(a: RUST, b: RUST, carry: RUST) -> (RUST, RUST) =
            "{ .reg .b<BITS> %t; add.cc.u<BITS> %t, {carry}, -1; addc.cc.u<BITS> {ret.0}, {a}, {b}; addc.u<BITS> {ret.1}, 0, 0; }";
        /// Returns the difference of two words and a borrow, and the borrow out.
        #[pure]
        fn sub_borrow_u_BITS(a: RUST, b: RUST, borrow: RUST) -> (RUST, RUST) =
            "{ .reg .b<BITS> %t; sub.cc.u<BITS> %t, 0, {borrow}; subc.cc.u<BITS> {ret.0}, {a}, {b}; subc.u<BITS> %t, 0, 0; neg.s<BITS> {ret.1}, %t; }";
        /// Adds two double-word integers, lowest word first.
        #[pure]
        fn add_wide_u_BITS(a: [RUST; 2], b: [RUST; 2]) -> [RUST; 2] =
            "add.cc.u<BITS> {ret.0}, {a.0}, {b.0}; addc.u<BITS> {ret.1}, {a.1}, {b.1};";
        /// Subtracts two double-word integers, lowest word first.
        #[pure]
        fn sub_wide_u_BITS(a: [RUST; 2], b: [RUST; 2]) -> [RUST; 2] =
            "sub.cc.u<BITS> {ret.0}, {a.0}, {b.0}; subc.u<BITS> {ret.1}, {a.1}, {b.1};";
        /// Returns the double-word product of `a` and `b`, plus `c`.
        #[pure]
        fn mad_wide_carry_u_BITS(a: RUST, b: RUST, c: [RUST; 2]) -> [RUST; 2] =
            "mad.lo.cc.u<BITS> {ret.0}, {a}, {b}, {c.0}; madc.hi.u<BITS> {ret.1}, {a}, {b}, {c.1};";
    }

    // SIMD instructions on two 16-bit or four 8-bit parts of a register.
    for (TY, RUST) in [(u32, u32), (s32, i32)] {
        for OP in [
            vadd2, vadd4, vsub2, vsub4, vavrg2, vavrg4, vmin2, vmin4, vmax2, vmax4, vabsdiff2,
            vabsdiff4
        ] {
            /// `<OP>`: applies the operation to two 16-bit or four 8-bit parts of a register.
            #[pure]
            fn OP_TY(a: RUST, b: RUST) -> RUST =
                "{ .reg .b32 %z; mov.b32 %z, 0; <OP>.<TY>.<TY>.<TY> {ret}, {a}, {b}, %z; }";
            /// `<OP>`: applies the operation to two 16-bit or four 8-bit parts of a register, and
            /// adds all results to `c`.
            #[pure]
            fn OP_TY_add(a: RUST, b: RUST, c: RUST) -> RUST =
                "<OP>.<TY>.<TY>.<TY>.add {ret}, {a}, {b}, {c};";
        }
        for OP in [
            vadd2, vadd4, vsub2, vsub4, vmin2, vmin4, vmax2, vmax4, vabsdiff2, vabsdiff4
        ] {
            /// `<OP>`: applies the operation to two 16-bit or four 8-bit parts of a register,
            /// saturating.
            #[pure]
            fn OP_sat_TY(a: RUST, b: RUST) -> RUST =
                "{ .reg .b32 %z; mov.b32 %z, 0; <OP>.<TY>.<TY>.<TY>.sat {ret}, {a}, {b}, %z; }";
        }
        for OP in [vset2, vset4] {
            for CMP in [eq, ne, lt, le, gt, ge] {
                /// Compares the 16-bit or 8-bit parts of two registers. Each part of the result is
                /// 1 or 0.
                #[pure]
                fn OP_CMP_TY(a: RUST, b: RUST) -> u32 =
                    "{ .reg .b32 %z; mov.b32 %z, 0; <OP>.<TY>.<TY>.<CMP> {ret}, {a}, {b}, %z; }";
                /// Compares the 16-bit or 8-bit parts of two registers, and adds the number of true
                /// comparisons to `c`.
                #[pure]
                fn OP_CMP_TY_add(a: RUST, b: RUST, c: u32) -> u32 =
                    "<OP>.<TY>.<TY>.<CMP>.add {ret}, {a}, {b}, {c};";
            }
        }
        for PART in [b0, b1, b2, b3, h0, h1] {
            for OP in [vadd, vsub, vabsdiff, vmin, vmax] {
                /// Computes `<OP>` of the part `<PART>` of both registers.
                #[pure]
                fn OP_PART_TY(a: RUST, b: RUST) -> RUST = "<OP>.<TY>.<TY>.<TY> {ret}, {a}.<PART>, {b}.<PART>;";
            }
            /// Returns the product of the part `<PART>` of both registers, plus `c`.
            #[pure]
            fn vmad_PART_TY(a: RUST, b: RUST, c: RUST) -> RUST =
                "vmad.<TY>.<TY>.<TY> {ret}, {a}.<PART>, {b}.<PART>, {c};";
        }
        for OP in [vshl, vshr] {
            for MODE in [clamp, wrap] {
                /// Shifts `a`. Counts above 32: `<MODE>`.
                #[pure]
                fn OP_MODE_TY(a: RUST, b: u32) -> RUST = "<OP>.<TY>.<TY>.u32.<MODE> {ret}, {a}, {b};";
            }
        }
        for CMP in [eq, ne, lt, le, gt, ge] {
            /// Compares `a` and `b`, and returns 1 or 0.
            #[pure]
            fn vset_CMP_TY(a: RUST, b: RUST) -> u32 = "vset.<TY>.<TY>.<CMP> {ret}, {a}, {b};";
        }
    }
    for THEN in [add, min, max] {
        for OP in [vadd, vsub, vabsdiff, vmin, vmax] {
            /// Computes `<OP>` of `a` and `b`, saturating, then `<THEN>` of the result and `c`.
            #[pure]
            fn OP_sat_THEN_s32(a: i32, b: i32, c: i32) -> i32 =
                "<OP>.s32.s32.s32.sat.<THEN> {ret}, {a}, {b}, {c};";
        }
        // ptxas 13.0 compiles `vadd.u32.u32.u32.sat` to code that saturates only at zero and
        // compares its result with `c` as a signed integer. Therefore the unsigned versions are
        // composed of other instructions.
        for (OP, FIRST) in [
            (vadd, "not.b32 %t, {b}; min.u32 %t, {a}, %t; add.u32 %t, %t, {b};"),
            (vsub, "max.u32 %t, {a}, {b}; sub.u32 %t, %t, {b};"),
            (vabsdiff, "min.u32 %s, {a}, {b}; max.u32 %t, {a}, {b}; sub.u32 %t, %t, %s;"),
            (vmin, "min.u32 %t, {a}, {b};"),
            (vmax, "max.u32 %t, {a}, {b};")
        ] {
            /// Computes `<OP>` of `a` and `b`, saturating, then `<THEN>` of the result and `c`.
            #[pure]
            fn OP_sat_THEN_u32(a: u32, b: u32, c: u32) -> u32 =
                "{ .reg .b32 %t, %s; <FIRST> <THEN>.u32 {ret}, %t, {c}; }";
        }
    }
    for (SCALE, NAME, SHIFT) in [("", by1, 0), (".shr7", shr7, 7), (".shr15", shr15, 15)] {
        /// Returns the product plus `c`, shifted right, saturating.
        #[pure]
        fn vmad_NAME_s32(a: i32, b: i32, c: i32) -> i32 =
            "vmad.s32.s32.s32.sat<SCALE> {ret}, {a}, {b}, {c};";
        // As above: ptxas multiplies as if the operands were signed.
        /// Returns the product plus `c`, shifted right, saturating.
        #[pure]
        fn vmad_NAME_u32(a: u32, b: u32, c: u32) -> u32 =
            "{ .reg .b64 %t; cvt.u64.u32 %t, {c}; mad.wide.u32 %t, {a}, {b}, %t; shr.u64 %t, %t, <SHIFT>; min.u64 %t, %t, 4294967295; cvt.u32.u64 {ret}, %t; }";
    }
    for OP in [add, min, max] {
        for (TY, ARCH) in [(u16x2, sm_90), (s16x2, sm_90)] {
            /// Computes `<OP>` of the two 16-bit halves of a register.
            #[requires(ARCH)]
            #[pure]
            fn OP_TY(a: u32, b: u32) -> u32 = "<OP>.<TY> {ret}, {a}, {b};";
        }
    }
    for OP in [min, max] {
        /// Computes `<OP>` of the two 16-bit halves of a register, clamping negative results to 0.
        #[requires(sm_90)]
        #[pure]
        fn OP_relu_s16x2(a: u32, b: u32) -> u32 = "<OP>.relu.s16x2 {ret}, {a}, {b};";
        /// Computes the <OP>, clamping a negative result to 0.
        #[requires(sm_90)]
        #[pure]
        fn OP_relu_s32(a: i32, b: i32) -> i32 = "<OP>.relu.s32 {ret}, {a}, {b};";
    }
    for (TO, FROM, RUST) in [(u16, s32, i32), (s16, s32, i32)] {
        /// Packs two integers, saturated, the first above the second.
        #[pure]
        fn cvt_pack_sat_TO_FROM(a: RUST, b: RUST) -> u32 = "cvt.pack.sat.<TO>.<FROM> {ret}, {a}, {b};";
    }
    for TO in [u8, s8, u4, s4, u2, s2] {
        /// Packs two integers, saturated, below the lower bits of `c`.
        #[requires(sm_75)]
        #[pure]
        fn cvt_pack_sat_TO_s32_b32(a: i32, b: i32, c: u32) -> u32 =
            "cvt.pack.sat.<TO>.s32.b32 {ret}, {a}, {b}, {c};";
    }
}
