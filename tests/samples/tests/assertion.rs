//! A kernel that panics. It is a separate program, because a panic is reported to whoever waits
//! first, and concurrent tests would receive it.

use cust::error::Error;
use cust::prelude::*;
use samples_kernels::language::simple_assert;

#[test]
fn assertions() -> Result<(), Box<dyn std::error::Error>> {
    let _device = cust::init_auto()?;
    #[cfg(not(nvvm_single_source))]
    let module = {
        static KERNELS: Embedded = cust::include_module!("kernels");
        KERNELS.load()?
    };
    #[cfg(nvvm_single_source)]
    let module = Module::own::<simple_assert>()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    module.launch(&stream, (2, 32), simple_assert::args(64))?;
    stream.synchronize()?;
    module.launch(&stream, (2, 32), simple_assert::args(60))?;
    match stream.synchronize() {
        Err(Error::KernelPanic(panic)) => {
            assert!(panic.to_string().contains("is beyond 60"), "{panic}");
        }
        other => panic!("{other:?}"),
    }
    // The context goes on.
    module.launch(&stream, (2, 32), simple_assert::args(64))?;
    Ok(stream.synchronize()?)
}
