//! Kernels get the stack that they need without setting a limit, and infinite recursion returns a
//! stack overflow error.

mod common;

use std::sync::Mutex;

use common::stream;
use cust::error::Error;
use cust::prelude::*;

/// The limit belongs to the context, which all tests share.
static TURN: Mutex<()> = Mutex::new(());

const SOURCE: &str = "
.version 7.5
.target sm_75
.address_size 64

.func (.param .b32 sum) down(.param .b32 n)
{
    .local .align 16 .b8 room[96];
    .reg .pred %p;
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [n];
    st.local.u32 [room+64], %r1;
    mov.u32 %r2, 0;
    setp.eq.u32 %p, %r1, 0;
    @%p bra $done;
    sub.u32 %r3, %r1, 1;
    {
        .param .b32 a;
        .param .b32 b;
        st.param.b32 [a], %r3;
        call (b), down, (a);
        ld.param.b32 %r2, [b];
    }
$done:
    ld.local.u32 %r1, [room+64];
    add.u32 %r2, %r2, %r1;
    st.param.b32 [sum], %r2;
    ret;
}

.visible .entry plain(.param .u64 to)
{
    .reg .b64 %rd;
    ld.param.u64 %rd, [to];
    st.global.u32 [%rd], 7;
    ret;
}

.visible .entry dive(.param .u64 to, .param .u32 n)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd;
    ld.param.u64 %rd, [to];
    ld.param.u32 %r1, [n];
    {
        .param .b32 a;
        .param .b32 b;
        st.param.b32 [a], %r1;
        call (b), down, (a);
        ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd], %r2;
    ret;
}
";

/// The module with the compiler's stack records and checks.
fn ptx(depth: Option<u32>) -> String {
    ptx_of(SOURCE, depth)
}

fn ptx_of(source: &str, depth: Option<u32>) -> String {
    let options = ptx::stack::Options {
        depth,
        ..Default::default()
    };
    ptx::finish(
        source,
        &[],
        ptx::Purpose::Speed(ptx::Kernels::default()),
        &options,
    )
    .unwrap()
    .text
}

/// Returns a context with the default limit, which no other test of this file sets.
fn context() -> Context {
    common::init()
}

fn limit(context: &Context) -> usize {
    context
        .get_resource_limit(ResourceLimit::StackSize)
        .unwrap()
}

fn dive(module: &Module, stream: &Stream, depth: u32) -> CudaResult<u32> {
    let to = DeviceBuffer::from_slice(&[0u32])?;
    // SAFETY: the kernel writes one number.
    unsafe { launch!(module.dive<<<1, 1, 0, stream>>>(to.as_device_ptr(), depth))? };
    stream.synchronize()?;
    Ok(to.as_host_vec()?[0])
}

#[test]
fn the_limit_follows_the_kernels() {
    let _turn = TURN.lock();
    let context = context();
    let stream = stream();
    let before = limit(&context);
    let module = Module::from_ptx(ptx(None), &[]).unwrap();
    assert_eq!(limit(&context), before, "loading alone reserves nothing");
    let to = DeviceBuffer::from_slice(&[0u32]).unwrap();
    // SAFETY: the kernel writes one number.
    unsafe { launch!(module.plain<<<1, 1, 0, stream>>>(to.as_device_ptr())).unwrap() };
    stream.synchronize().unwrap();
    assert_eq!(
        limit(&context),
        before,
        "a kernel without calls needs no more"
    );

    assert_eq!(dive(&module, &stream, 60).unwrap(), 60 * 61 / 2);
    let record: [u32; 2] = module.read_global("__cuda_std_stack_of_dive").unwrap();
    assert_eq!(record[1], 1);
    assert!(record[0] as usize > 60 * 96, "{record:?}");
    assert_eq!(limit(&context), record[0] as usize, "the need, and no more");

    // The device needs memory for all threads that run at once: 5 GB on an H100.
    let deeper = Module::from_ptx(ptx(Some(100)), &[]).unwrap();
    assert_eq!(dive(&deeper, &stream, 90).unwrap(), 90 * 91 / 2);
    assert!(limit(&context) > 90 * 96);
    drop(deeper);
    assert_eq!(
        limit(&context),
        record[0] as usize,
        "what the other module needs"
    );
    drop(module);
    assert_eq!(limit(&context), before);
}

#[test]
fn an_overflow_is_an_error_that_says_so() {
    let _turn = TURN.lock();
    let context = context();
    let stream = stream();
    let module = Module::from_ptx(ptx(None), &[]).unwrap();
    let error = dive(&module, &stream, 1_000_000).unwrap_err();
    let Error::StackOverflow(overflow) = &error else {
        panic!("expected a stack overflow, not {error:?}");
    };
    assert_eq!(overflow.function, "down");
    assert_eq!(overflow.kernels, ["dive"]);
    assert_eq!(overflow.limit, Some(limit(&context)));
    assert_eq!(overflow.need, None);
    let text = error.to_string();
    for part in [
        "stack overflow in the kernel `dive`, in the recursive function `down`, block (0, 0, 0), \
         thread (0, 0, 0): each thread has ",
        "#[kernel(stack_size = BYTES)]",
        "ResourceLimit::StackSize",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // The context stays usable.
    assert_eq!(dive(&module, &stream, 3).unwrap(), 6);
}

#[test]
fn recursion_may_be_as_deep_as_the_stack_provides_for() {
    let _turn = TURN.lock();
    let _context = context();
    let stream = stream();
    // The last call stores 0.
    for depth in [1, 7, 100] {
        let module = Module::from_ptx(ptx(Some(depth)), &[]).unwrap();
        let last = depth - 1;
        assert_eq!(dive(&module, &stream, last).unwrap(), last * depth / 2);
    }
    // Frames of which one is larger than the stack that kernels with recursion have by default.
    let large = SOURCE.replace("room[96]", "room[20000]");
    let module = Module::from_ptx(ptx_of(&large, None), &[]).unwrap();
    assert_eq!(dive(&module, &stream, 0).unwrap(), 0);
}
