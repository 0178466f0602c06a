//! Prototypes of functions whose addresses are in variables.

/// Module-level PTX comes first: its functions are declared before it, once, and no others.
#[test]
fn functions_in_initial_values_are_declared() {
    let text = "\
.version 7.8
.target sm_75
.address_size 64

.visible .global .align 8 .u64 first[2] = {generic(first), called};
.visible .global .align 8 .u64 second[1] = {called};

.visible .func (.param .b32 result) called(
\t.param .b32 x
)
{
\tret;
}

.global .align 8 .u64 third[1] = {called};

.visible .entry kernel(
\t.param .u64 p
)
{
\t.reg .b64 %rd<4>;
\tmov.u64 %rd1, first;
\tmov.u64 %rd2, second;
\tmov.u64 %rd3, third;
\tret;
}
";
    let text = ptx::finish(
        text,
        &[],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &ptx::stack::Options::default(),
    )
    .unwrap()
    .text;
    let declaration = ".visible .func (.param .b32 result) called(";
    assert_eq!(text.matches(declaration).count(), 2, "{text}");
    let declared = text.find(declaration).unwrap();
    assert!(declared < text.find("first[2]").unwrap(), "{text}");
    // `finish` is idempotent.
    assert_eq!(
        ptx::finish(
            &text,
            &[],
            ptx::Purpose::Speed(ptx::Kernels::default()),
            &ptx::stack::Options::default()
        )
        .unwrap()
        .text,
        text
    );
}
