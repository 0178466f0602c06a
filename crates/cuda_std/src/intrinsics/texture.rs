//! Textures and surfaces, through handles of texture and surface objects that the host creates.
//! [`texture`](crate::texture) has types for them.

cuda_std_macros::intrinsics! {
    for (TD, RD) in [(f32, f32), (s32, i32), (u32, u32)] {
        // Fetches at integer coordinates, and filtering between texels.
        for (GEOMETRY, N, X) in [("1d", 1, "{x}"), ("2d", 2, "{x}"), ("3d", 3, "{{x.0}, {x.1}, {x.2}, {x.2}}")] {
            for (TC, RC) in [(s32, i32), (f32, f32)] {
                /// Returns the texel of a <GEOMETRY> texture at coordinates of type `<TC>`.
                #[reads]
                unsafe fn tex_GEOMETRY_TD_TC(texture: u64, x: [RC; N]) -> [RD; 4] =
                    "tex.<GEOMETRY>.v4.<TD>.<TC> {ret}, [{texture}, <X>];";
            }
            /// Returns the texel of a mip level of a <GEOMETRY> texture.
            #[reads]
            unsafe fn tex_level_GEOMETRY_TD_f32(texture: u64, x: [f32; N], level: f32) -> [RD; 4] =
                "tex.level.<GEOMETRY>.v4.<TD>.f32 {ret}, [{texture}, <X>], {level};";
        }
        /// Returns the texel of a 1d texture, at the mip level that the gradients select.
        #[reads]
        unsafe fn tex_grad_1d_TD_f32(texture: u64, x: [f32; 1], dx: [f32; 1], dy: [f32; 1]) -> [RD; 4] =
            "tex.grad.1d.v4.<TD>.f32 {ret}, [{texture}, {x}], {dx}, {dy};";
        /// Returns the texel of a 2d texture, at the mip level that the gradients select.
        #[reads]
        unsafe fn tex_grad_2d_TD_f32(texture: u64, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> [RD; 4] =
            "tex.grad.2d.v4.<TD>.f32 {ret}, [{texture}, {x}], {dx}, {dy};";
        /// Returns the texel of a 3d texture, at the mip level that the gradients select.
        #[reads]
        unsafe fn tex_grad_3d_TD_f32(texture: u64, x: [f32; 3], dx: [f32; 3], dy: [f32; 3]) -> [RD; 4] =
            "tex.grad.3d.v4.<TD>.f32 {ret}, [{texture}, {{x.0}, {x.1}, {x.2}, {x.2}}], {{dx.0}, {dx.1}, {dx.2}, {dx.2}}, {{dy.0}, {dy.1}, {dy.2}, {dy.2}};";
        for (TC, RC) in [(s32, i32), (f32, f32)] {
            /// Returns the texel of a layer of a 1d texture array.
            #[reads]
            unsafe fn tex_a1d_TD_TC(texture: u64, layer: u32, x: RC) -> [RD; 4] =
                "tex.a1d.v4.<TD>.<TC> {ret}, [{texture}, {{layer}, {x}}];";
            /// Returns the texel of a layer of a 2d texture array.
            #[reads]
            unsafe fn tex_a2d_TD_TC(texture: u64, layer: u32, x: [RC; 2]) -> [RD; 4] =
                "tex.a2d.v4.<TD>.<TC> {ret}, [{texture}, {{layer}, {x.0}, {x.1}, {x.1}}];";
        }
        /// Returns the texel of a mip level of a layer of a 1d texture array.
        #[reads]
        unsafe fn tex_level_a1d_TD_f32(texture: u64, layer: u32, x: f32, level: f32) -> [RD; 4] =
            "tex.level.a1d.v4.<TD>.f32 {ret}, [{texture}, {{layer}, {x}}], {level};";
        /// Returns the texel of a mip level of a layer of a 2d texture array.
        #[reads]
        unsafe fn tex_level_a2d_TD_f32(texture: u64, layer: u32, x: [f32; 2], level: f32) -> [RD; 4] =
            "tex.level.a2d.v4.<TD>.f32 {ret}, [{texture}, {{layer}, {x.0}, {x.1}, {x.1}}], {level};";
        /// Returns the texel of a layer of a 1d texture array, at the mip level that the gradients
        /// select.
        #[reads]
        unsafe fn tex_grad_a1d_TD_f32(texture: u64, layer: u32, x: f32, dx: [f32; 1], dy: [f32; 1]) -> [RD; 4] =
            "tex.grad.a1d.v4.<TD>.f32 {ret}, [{texture}, {{layer}, {x}}], {dx}, {dy};";
        /// Returns the texel of a layer of a 2d texture array, at the mip level that the gradients
        /// select.
        #[reads]
        unsafe fn tex_grad_a2d_TD_f32(texture: u64, layer: u32, x: [f32; 2], dx: [f32; 2], dy: [f32; 2]) -> [RD; 4] =
            "tex.grad.a2d.v4.<TD>.f32 {ret}, [{texture}, {{layer}, {x.0}, {x.1}, {x.1}}], {dx}, {dy};";
        /// Returns the texel of a cubemap, in a direction.
        #[reads]
        unsafe fn tex_cube_TD_f32(texture: u64, x: [f32; 3]) -> [RD; 4] =
            "tex.cube.v4.<TD>.f32 {ret}, [{texture}, {{x.0}, {x.1}, {x.2}, {x.2}}];";
        /// Returns the texel of a mip level of a cubemap, in a direction.
        #[reads]
        unsafe fn tex_level_cube_TD_f32(texture: u64, x: [f32; 3], level: f32) -> [RD; 4] =
            "tex.level.cube.v4.<TD>.f32 {ret}, [{texture}, {{x.0}, {x.1}, {x.2}, {x.2}}], {level};";
        /// Returns the texel of a layer of a cubemap array, in a direction.
        #[reads]
        unsafe fn tex_acube_TD_f32(texture: u64, layer: u32, x: [f32; 3]) -> [RD; 4] =
            "tex.acube.v4.<TD>.f32 {ret}, [{texture}, {{layer}, {x.0}, {x.1}, {x.2}}];";
        /// Returns the texel of a mip level of a layer of a cubemap array, in a direction.
        #[reads]
        unsafe fn tex_level_acube_TD_f32(texture: u64, layer: u32, x: [f32; 3], level: f32) -> [RD; 4] =
            "tex.level.acube.v4.<TD>.f32 {ret}, [{texture}, {{layer}, {x.0}, {x.1}, {x.2}}], {level};";
        for C in [r, g, b, a] {
            /// Returns the component `<C>` of the four texels that bilinear filtering would use.
            #[reads]
            unsafe fn tld4_C_2d_TD_f32(texture: u64, x: [f32; 2]) -> [RD; 4] =
                "tld4.<C>.2d.v4.<TD>.f32 {ret}, [{texture}, {x}];";
        }
    }
    // Other `txq` and `suq` queries need texture and surface references: drivers do not load
    // kernels that use them with a handle.
    for WHAT in [width, height, depth] {
        /// Returns the texture's `<WHAT>`. In a 1d array the height is the number of layers, in
        /// other arrays the depth.
        #[reads]
        unsafe fn txq_WHAT(texture: u64) -> u32 = "txq.<WHAT>.b32 {ret}, [{texture}];";
        /// Returns the `<WHAT>` of a mip level of a texture, or 0 if it does not exist.
        #[reads]
        unsafe fn txq_level_WHAT(texture: u64, level: u32) -> u32 =
            "txq.level.<WHAT>.b32 {ret}, [{texture}], {level};";
    }
    for WHAT in [width, height, depth] {
        /// Returns the surface's `<WHAT>`. In a 1d array the height is the number of layers, in
        /// other arrays the depth.
        #[reads]
        unsafe fn suq_WHAT(surface: u64) -> u32 = "suq.<WHAT>.b32 {ret}, [{surface}];";
    }

    // Surfaces. The first coordinate is in bytes. Outside the surface, `zero` loads zeros and ignores
    // stores, `clamp` accesses the nearest element, and `trap` fails the launch.
    for MODE in [trap, clamp, zero] {
        for (TY, RUST) in [(b8, u8), (b16, u16), (b32, u32), (b64, u64)] {
            for (GEOMETRY, N) in [("1d", 1), ("2d", 2)] {
                /// Loads from a <GEOMETRY> surface.
                #[reads]
                unsafe fn suld_GEOMETRY_TY_MODE(surface: u64, x: [i32; N]) -> RUST =
                    "suld.b.<GEOMETRY>.<TY>.<MODE> {ret}, [{surface}, {x}];";
                /// Stores to a <GEOMETRY> surface.
                unsafe fn sust_GEOMETRY_TY_MODE(surface: u64, x: [i32; N], value: RUST) =
                    "sust.b.<GEOMETRY>.<TY>.<MODE> [{surface}, {x}], {value};";
            }
            /// Loads from a 3d surface.
            #[reads]
            unsafe fn suld_3d_TY_MODE(surface: u64, x: [i32; 3]) -> RUST =
                "suld.b.3d.<TY>.<MODE> {ret}, [{surface}, {{x.0}, {x.1}, {x.2}, {x.2}}];";
            /// Stores to a 3d surface.
            unsafe fn sust_3d_TY_MODE(surface: u64, x: [i32; 3], value: RUST) =
                "sust.b.3d.<TY>.<MODE> [{surface}, {{x.0}, {x.1}, {x.2}, {x.2}}], {value};";
            /// Loads from a layer of a 1d surface array.
            #[reads]
            unsafe fn suld_a1d_TY_MODE(surface: u64, layer: u32, x: i32) -> RUST =
                "suld.b.a1d.<TY>.<MODE> {ret}, [{surface}, {{layer}, {x}}];";
            /// Stores to a layer of a 1d surface array.
            unsafe fn sust_a1d_TY_MODE(surface: u64, layer: u32, x: i32, value: RUST) =
                "sust.b.a1d.<TY>.<MODE> [{surface}, {{layer}, {x}}], {value};";
            /// Loads from a layer of a 2d surface array.
            #[reads]
            unsafe fn suld_a2d_TY_MODE(surface: u64, layer: u32, x: [i32; 2]) -> RUST =
                "suld.b.a2d.<TY>.<MODE> {ret}, [{surface}, {{layer}, {x.0}, {x.1}, {x.1}}];";
            /// Stores to a layer of a 2d surface array.
            unsafe fn sust_a2d_TY_MODE(surface: u64, layer: u32, x: [i32; 2], value: RUST) =
                "sust.b.a2d.<TY>.<MODE> [{surface}, {{layer}, {x.0}, {x.1}, {x.1}}], {value};";
        }
        for (TY, RUST, V) in [
            (b8, u8, 2), (b16, u16, 2), (b32, u32, 2), (b64, u64, 2), (b8, u8, 4), (b16, u16, 4),
            (b32, u32, 4)
        ] {
            for (GEOMETRY, N) in [("1d", 1), ("2d", 2)] {
                /// Loads <V> values from a <GEOMETRY> surface.
                #[reads]
                unsafe fn suld_GEOMETRY_v_V_TY_MODE(surface: u64, x: [i32; N]) -> [RUST; V] =
                    "suld.b.<GEOMETRY>.v<V>.<TY>.<MODE> {ret}, [{surface}, {x}];";
                /// Stores <V> values to a <GEOMETRY> surface.
                unsafe fn sust_GEOMETRY_v_V_TY_MODE(surface: u64, x: [i32; N], values: [RUST; V]) =
                    "sust.b.<GEOMETRY>.v<V>.<TY>.<MODE> [{surface}, {x}], {values};";
            }
            /// Loads <V> values from a 3d surface.
            #[reads]
            unsafe fn suld_3d_v_V_TY_MODE(surface: u64, x: [i32; 3]) -> [RUST; V] =
                "suld.b.3d.v<V>.<TY>.<MODE> {ret}, [{surface}, {{x.0}, {x.1}, {x.2}, {x.2}}];";
            /// Stores <V> values to a 3d surface.
            unsafe fn sust_3d_v_V_TY_MODE(surface: u64, x: [i32; 3], values: [RUST; V]) =
                "sust.b.3d.v<V>.<TY>.<MODE> [{surface}, {{x.0}, {x.1}, {x.2}, {x.2}}], {values};";
            /// Loads <V> values from a layer of a 1d surface array.
            #[reads]
            unsafe fn suld_a1d_v_V_TY_MODE(surface: u64, layer: u32, x: i32) -> [RUST; V] =
                "suld.b.a1d.v<V>.<TY>.<MODE> {ret}, [{surface}, {{layer}, {x}}];";
            /// Stores <V> values to a layer of a 1d surface array.
            unsafe fn sust_a1d_v_V_TY_MODE(surface: u64, layer: u32, x: i32, values: [RUST; V]) =
                "sust.b.a1d.v<V>.<TY>.<MODE> [{surface}, {{layer}, {x}}], {values};";
            /// Loads <V> values from a layer of a 2d surface array.
            #[reads]
            unsafe fn suld_a2d_v_V_TY_MODE(surface: u64, layer: u32, x: [i32; 2]) -> [RUST; V] =
                "suld.b.a2d.v<V>.<TY>.<MODE> {ret}, [{surface}, {{layer}, {x.0}, {x.1}, {x.1}}];";
            /// Stores <V> values to a layer of a 2d surface array.
            unsafe fn sust_a2d_v_V_TY_MODE(surface: u64, layer: u32, x: [i32; 2], values: [RUST; V]) =
                "sust.b.a2d.v<V>.<TY>.<MODE> [{surface}, {{layer}, {x.0}, {x.1}, {x.1}}], {values};";
        }
        for (GEOMETRY, N) in [("1d", 1), ("2d", 2)] {
            for (OP, TY, RUST) in [
                (add, u32, u32), (add, s32, i32), (add, u64, u64), (min, u32, u32), (min, s32, i32),
                (max, u32, u32), (max, s32, i32), (and, b32, u32), (or, b32, u32)
            ] {
                /// Atomically applies `<OP>` to an element of a <GEOMETRY> surface.
                unsafe fn sured_GEOMETRY_OP_TY_MODE(surface: u64, x: [i32; N], value: RUST) =
                    "sured.b.<OP>.<GEOMETRY>.<TY>.<MODE> [{surface}, {x}], {value};";
            }
        }
        for (OP, TY, RUST) in [
            (add, u32, u32), (add, s32, i32), (add, u64, u64), (min, u32, u32), (min, s32, i32),
            (max, u32, u32), (max, s32, i32), (and, b32, u32), (or, b32, u32)
        ] {
            /// Atomically applies `<OP>` to an element of a 3d surface.
            unsafe fn sured_3d_OP_TY_MODE(surface: u64, x: [i32; 3], value: RUST) =
                "sured.b.<OP>.3d.<TY>.<MODE> [{surface}, {{x.0}, {x.1}, {x.2}, {x.2}}], {value};";
        }
    }
}
