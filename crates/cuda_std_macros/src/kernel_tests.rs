//! Tests of the expansion of `#[kernel]` and of its errors, on tokens.

use super::expand;
use proc_macro2::TokenStream;
use quote::quote;

/// Returns the expansion of a valid function as text.
fn expanded(function: TokenStream) -> String {
    let text = expand(TokenStream::new(), function).to_string();
    assert!(!text.contains("compile_error"), "{text}");
    text
}

/// Asserts that the function is rejected with `message`, and kept in the expansion.
fn refused(function: TokenStream, message: &str) {
    let text = expand(TokenStream::new(), function).to_string();
    assert!(text.contains("compile_error"), "no error in: {text}");
    assert!(text.contains(message), "`{message}` is not in: {text}");
    assert!(text.contains("fn f"), "{text}");
    assert!(!text.contains("nvvm.kernel"), "{text}");
}

#[test]
fn kernel_is_marked_on_the_device_only() {
    let text = expanded(quote!(
        pub fn f(n: u32) {}
    ));
    let device = text.find("target_arch = \"nvptx64\"").expect("a cfg_attr");
    let mark = text
        .find("link_section = \"nvvm.kernel\"")
        .expect("the mark");
    assert!(device < mark);
    assert!(text.contains("pub fn f (n : u32)"));
}

/// In a single-source session, the function in the section is also the one that contains the
/// record, and it has no symbol name.
#[test]
fn host_sessions_mark_the_entry_and_record_its_handle() {
    let plain = expanded(quote!(
        pub fn f(n: u32) {}
    ));
    let plain = plain.replace(' ', "");
    assert!(plain.contains(
        "#[cfg_attr(not(target_arch=\"nvptx64\"),\
         ::cuda_std::single_source_attributes(nvvm::section(\"nvvm.kernel\")))]"
    ));
    assert_eq!(plain.matches("of_kernel_named::<f>(\"f\"").count(), 1);
    let sized = expand(
        quote!(block_size(32)),
        quote!(
            pub fn f(#[shared] a: Shared<Array<u32, 2>>, n: u32) {}
        ),
    );
    let sized = sized.to_string().replace(' ', "");
    let (before, entry) = sized
        .split_once("::cuda_std::single_source!{#[allow(warnings")
        .unwrap();
    assert!(!before.contains("nvvm::section"), "{before}");
    assert!(!before.contains("of_kernel_named"), "{before}");
    let entry = entry.split_once("#[nvvm::section(\"nvvm.kernel").unwrap().1;
    for own in ["of_kernel_named::<f>", "assume_block_size(32", "body("] {
        assert!(entry.contains(own), "`{own}` is not in {entry}");
    }
    assert!(!entry.contains("export_name"), "{entry}");

    // A kernel without a handle cannot be launched.
    let hidden = expanded(quote!(
        fn f(#[cfg(x)] n: u32) {}
    ));
    assert!(!hidden.contains("of_kernel_named"), "{hidden}");
}

#[test]
fn parameters_are_checked_to_be_copy() {
    let text = expanded(quote!(
        pub unsafe fn f<'a>(a: &'a [f32], (b, c): (u32, u32), mut d: S, out: *mut f32) {}
    ));
    let compact = text.replace(' ', "");
    for ty in ["&'a[f32]", "(u32,u32)", "S", "*mutf32"] {
        assert!(
            compact.contains(&format!("check_param::<{ty}>()")),
            "{text}"
        );
    }
    assert!(text.contains("fn parameters_are_copied < 'a >"), "{text}");
}

#[test]
fn nothing_and_never_may_be_returned() {
    expanded(quote!(
        fn f() -> () {}
    ));
    expanded(quote!(
        fn f() -> ! {
            panic!()
        }
    ));
}

#[test]
fn another_symbol() {
    let of = |attribute: TokenStream| quote!(#[unsafe(#attribute)] fn f() {});
    refused(of(quote!(export_name = "g")), "by its function's name");
    expanded(of(quote!(export_name = "f")));
    expanded(of(quote!(no_mangle)));
}

#[test]
fn value_returned() {
    refused(
        quote!(
            fn f() -> u32 {
                1
            }
        ),
        "cannot return a value",
    );
    refused(
        quote!(
            fn f() -> (u32,) {
                (1,)
            }
        ),
        "a `PerThread`, an `&Atomic` or a raw pointer",
    );
}

#[test]
fn mutable_reference() {
    refused(
        quote!(
            fn f(x: &mut u32) {}
        ),
        "Take an `&Atomic<u32, Device>`",
    );
    refused(
        quote!(
            fn f(x: &mut [Vec<u8>]) {}
        ),
        "Take a `PerThread<Vec<u8>>`",
    );
    refused(
        quote!(
            fn f(x: &mut std::vec::Vec<u32>) {}
        ),
        "Take a `PerThread<u32>`",
    );
    refused(
        quote!(
            fn f(x: (&mut u32)) {}
        ),
        "cannot take a `&mut`",
    );
}

/// A generic kernel compiles for hosts. In a crate that is compiled only for the device, each
/// generic parameter is an error.
#[test]
fn generic_kernels_are_of_single_source_programs() {
    let text = expand(
        TokenStream::new(),
        quote!(
            fn f<T: Copy, const N: usize>(x: [T; N], y: T, g: impl Fn(T) -> T + Copy) {}
        ),
    );
    let text = text.to_string().replace(' ', "");
    let on_device = "#[cfg(target_arch=\"nvptx64\")]::core::compile_error!";
    assert_eq!(text.matches("compile_error").count(), 3, "{text}");
    assert_eq!(text.matches(on_device).count(), 3, "{text}");
    for part in [
        "structf<T:,constN:usize,Impl0:>{",
        "mark_instance::<Self,_>(f::<T,N,Impl0>)",
        "(x:__A0,y:T,g:Impl0)",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(!text.contains("no_mangle"), "{text}");
    refused(
        quote!(
            fn f<T: Copy>(#[cfg(x)] x: T) {}
        ),
        "or a parameter with a `cfg`",
    );
}

#[test]
fn qualifiers() {
    refused(
        quote!(
            async fn f() {}
        ),
        "cannot be `async`",
    );
    refused(
        quote!(
            const fn f() {}
        ),
        "cannot be `const`",
    );
    refused(
        quote!(
            extern "C" fn f() {}
        ),
        "remove `extern`",
    );
    refused(
        quote!(
            unsafe extern "C" fn f(x: u32, ...) {}
        ),
        "variadic",
    );
}

/// A crate may declare `extern crate self as core;`. The meaning of `::core` must not matter then:
/// a type other than the trait's must not compile.
#[test]
fn nothing_unsafe_relies_on_what_core_is() {
    let text = expand(
        quote!(block_size(32)),
        quote!(
            pub fn f(#[shared] a: Shared<Array<u32, 2>>, b: u32) {}
        ),
    );
    let text = text.to_string().replace(' ', "");
    for (at, _) in text.match_indices("::core::") {
        let rest = &text[at + 8..];
        let harmless = ["primitive::", "option::Option", "marker::Sized"];
        assert!(harmless.iter().any(|path| rest.starts_with(path)), "{rest}");
    }
}

#[test]
fn parameters_under_conditions() {
    refused(
        quote!(
            fn f(#[cfg_attr(all(), cfg(any()))] a: (), #[grid_constant] b: &u64, c: &u64) {}
        ),
        "cannot have its `cfg` in a `cfg_attr`",
    );
    expanded(quote!(
        fn f(#[cfg_attr(feature = "x", allow(unused))] a: u32) {}
    ));
    refused(
        quote!(
            fn f(#[cfg(any())] a: (), #[grid_constant] b: &u64, c: &u64) {}
        ),
        "and those before it cannot have a `cfg`",
    );
}

#[test]
fn method() {
    refused(
        quote!(
            fn f(&self) {}
        ),
        "cannot be a method",
    );
    refused(
        quote!(
            fn f(self: Box<Self>, x: u32) {}
        ),
        "cannot be a method",
    );
}

#[test]
fn not_a_function() {
    let text = expand(
        TokenStream::new(),
        quote!(
            struct S;
        ),
    )
    .to_string();
    assert!(text.contains("applied to a function"), "{text}");
    assert!(text.contains("struct S"), "{text}");
}

#[test]
fn arguments_of_the_attribute() {
    let text = expand(
        quote!(fast),
        quote!(
            fn f() {}
        ),
    )
    .to_string();
    assert!(text.contains("unknown option `fast`"), "{text}");
}

#[test]
fn all_errors_come_at_once() {
    let text = expand(
        TokenStream::new(),
        quote!(
            async fn f<T>(x: &mut T) -> u32 {
                1
            }
        ),
    )
    .to_string();
    assert_eq!(text.matches("compile_error").count(), 4, "{text}");
}

#[test]
fn what_the_entry_assumes_is_not_in_the_function() {
    let text = expand(
        quote!(block_size(32)),
        quote!(
            pub unsafe fn f<'a>(#[cfg(x)] a: &'a [u32], #[shared] mut s: S, (b, c): (u8, u8)) {}
        ),
    );
    let text = text.to_string().replace(' ', "");
    let (function, entry) = text.split_once("export_name=\"f\"").expect("an entry");
    for own in [
        "assume_block_size(32",
        "STORAGE",
        "link_section=\"nvvm.kernel",
    ] {
        assert!(!function.contains(own), "{function}");
        assert!(entry.contains(own), "{entry}");
    }
    assert!(
        function.contains("pubunsafefnf<'a>(#[cfg(x)]a:&'a[u32],muts:S,(b,c):(u8,u8))"),
        "{function}"
    );
    for part in [
        "unsafefnf<'a>(#[cfg(x)]argument_0:&'a[u32],argument_2:(u8,u8))",
        "letargument_1:S",
        "#[cfg(not(all(x)))]{unsafe{body(argument_1,argument_2)}}",
        "#[cfg(all(x))]{unsafe{body(argument_0,argument_1,argument_2)}}",
    ] {
        assert!(entry.contains(part), "`{part}` is not in {entry}");
    }
}

#[test]
fn arguments_with_raw_pointers_are_unsafe() {
    for raw in [quote!(*const u32), quote!(*mut u32), quote!((*mut u32))] {
        let text = expanded(quote!(pub fn f(n: u32, x: #raw) {}));
        assert!(text.contains("pub unsafe fn args"), "{text}");
    }
    let text = expanded(quote!(
        pub unsafe fn f(n: u32) {}
    ));
    assert!(text.contains("pub unsafe fn args"), "{text}");
    let text = expanded(quote!(
        pub fn f(n: u32, x: &[u32]) {}
    ));
    assert!(text.contains("pub fn args"), "{text}");
}

#[test]
fn hidden_parameters_and_types_are_refused() {
    let caller = "a kernel cannot be `#[track_caller]`";
    refused(
        quote!(
            #[track_caller]
            fn f() {}
        ),
        caller,
    );
    refused(
        quote!(
            #[cfg_attr(all(), track_caller)]
            fn f() {}
        ),
        caller,
    );
    let macros = "a kernel's parameter types cannot contain macros";
    refused(
        quote!(
            fn f(x: ty!()) {}
        ),
        macros,
    );
    refused(
        quote!(
            fn f(n: u32, x: &[ty!()]) {}
        ),
        macros,
    );
}

#[test]
fn grid_constants_have_no_cfg() {
    let message = "parameter and those before it cannot have a `cfg`";
    refused(
        quote!(
            fn f(
                #[cfg(x)]
                #[grid_constant]
                a: &u64,
            ) {
            }
        ),
        message,
    );
    refused(
        quote!(
            fn f(#[cfg(x)] a: u64, #[grid_constant] b: &u64) {}
        ),
        message,
    );
}

#[test]
fn references_to_references_imply_bounds() {
    let text = expanded(quote!(
        fn f<'a, 'b>(x: &'a [&'b u32]) {}
    ));
    assert!(text.contains("where 'b : 'a"), "{text}");
}
