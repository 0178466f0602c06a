//! Launches of kernels embedded in the program, found by their kernel types. The compiler's record
//! of the module is simulated: its PTX is generated at run time.

mod common;
#[path = "common/typed.rs"]
mod kernels;

use std::any::TypeId;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once};

use common::{backend, init, stream};
use cuda_std::prelude::*;
use cust::error::Error;
use cust::prelude::*;
use kernels::{add, missing, nothing, sized};
use test_outcome::Failure;

/// The layout of the compiler's record.
#[repr(C)]
struct Record {
    image: AtomicPtr<u8>,
    len: AtomicUsize,
}

#[used]
#[unsafe(link_section = "nvvm_modules")]
static RECORD: Record = Record {
    image: AtomicPtr::new(std::ptr::null_mut()),
    len: AtomicUsize::new(0),
};

/// Returns a context, with the module embedded as the compiler would embed it. The tests take
/// turns, because one of them resets the context.
fn embedded() -> (MutexGuard<'static, ()>, Context) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut text = include_str!("ptx/typed.ptx").replace("add(", "_RNvC7program3add(");
        let mut entry = |handle: TypeId, symbol: &str| {
            // SAFETY: both are 16 bytes.
            let handle = unsafe { std::mem::transmute::<TypeId, u128>(handle) };
            text.push_str(&format!("// cuda_std.entry {handle:032x} {symbol}\n"));
        };
        entry(TypeId::of::<add>(), "_RNvC7program3add");
        entry(TypeId::of::<nothing>(), "nothing");
        entry(TypeId::of::<sized::limited>(), "limited");
        let text = text.leak();
        RECORD.len.store(text.len(), Ordering::SeqCst);
        RECORD.image.store(text.as_mut_ptr(), Ordering::SeqCst);
    });
    (turn, init())
}

#[test]
fn kernels_are_found_by_the_types_of_their_names() {
    let _embedded = embedded();
    let stream = stream();
    let a = DeviceBuffer::from_slice(&[1.0f32, 2.0]).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(2).unwrap();
    for _ in 0..2 {
        stream.launch((1, 2), add::args(&a, &a, &mut c)).unwrap();
        stream.launch((1, 1), nothing::args()).unwrap();
    }
    assert_eq!(c.as_host_vec().unwrap(), [2.0, 4.0]);
    let mut c = [0.0f32; 2];
    stream
        .launch((1, 2), add::args(&[1.5f32, 1.0], &a, &mut c))
        .unwrap();
    assert_eq!(c, [2.5, 3.0]);
}

#[test]
fn threads_launch_the_same_kernels() {
    let _embedded = embedded();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = stream();
                let mut c = [0.0f32; 1];
                let args = add::args(&[1.0f32], &[2.0f32], &mut c);
                stream.launch((1, 1), args).unwrap();
                assert_eq!(c, [3.0]);
            });
        }
    });
}

#[test]
fn errors_name_the_kernel_as_the_program_does() {
    let _embedded = embedded();
    let stream = stream();
    let mut c = [0.0f32];
    let args = add::args(&[1.0f32], &[1.0f32], &mut c);
    let error = stream.launch((1, 2048), args).failure();
    let text = error.to_string();
    assert!(
        text.starts_with("launching the kernel `add` with"),
        "{text}"
    );
    let error = stream.launch((1, 32), sized::limited::args()).failure();
    assert!(matches!(error, Error::LaunchSize(_)), "{error}");
    let error = stream.launch((1, 1), missing::args()).failure();
    let expected = Error::NotEmbedded {
        kernel: "missing",
        package: env!("CARGO_PKG_NAME"),
    };
    assert_eq!(error, expected);
}

#[test]
fn each_context_has_its_module() {
    let (_turn, context) = embedded();
    let launch = |stream: &Stream| {
        let mut c = [0.0f32];
        let args = add::args(&[1.0f32], &[1.0f32], &mut c);
        stream.launch((1, 1), args).map(|()| c[0])
    };
    let before = stream();
    assert_eq!(launch(&before), Ok(2.0));
    // SAFETY: there is no pinned or unified memory.
    unsafe { Context::reset(&context.device()) }.unwrap();
    let gone = launch(&before).failure();
    assert_eq!(gone.code(), Some(CudaError::ContextIsDestroyed), "{gone}");
    let _context = init();
    assert_eq!(launch(&stream()), Ok(2.0));
}

/// In this file because a fault loses the context, and the tests of this file take turns.
#[test]
fn a_fault_is_the_error_of_a_launch_with_slices() {
    #[kernel]
    pub fn fail(_to: &[AtomicU32]) {}

    const PTX: &str = "
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry fail(.param .u64 to, .param .u64 len) {
            trap;
            ret;
        }
        ";
    let (_turn, context) = embedded();
    if backend() == Backend::Gpu {
        test_outcome::skip("the driver may refuse to reset a context that a fault has lost");
        return;
    }
    let module = Module::from_ptx(PTX, &[]).unwrap();
    // SAFETY: the kernel does nothing with its parameters.
    let kernel = unsafe { module.kernel_unchecked::<fail>() }.unwrap();
    let mut values = [1u32, 2];
    let failed = kernel.launch(&stream(), (1, 1), fail::args(&mut values));
    match failed.failure() {
        Error::Driver(error) => {
            assert!(error.code.is_sticky(), "{error}");
            assert!(error.to_string().contains("`fail`"), "{error}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(values, [1, 2]);
    // SAFETY: there is no pinned or unified memory.
    unsafe { Context::reset(&context.device()) }.unwrap();
}
