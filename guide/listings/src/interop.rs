//! Programs of the chapter "Mixing with CUDA C++".

use crate::Outcome;
use cust::prelude::*;

// ANCHOR: foreign_ptx
/// PTX that nvcc compiled from
/// `extern "C" __global__ void increment(int *data, int n)`.
const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64

.visible .entry increment(.param .u64 data, .param .u32 n) {
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.u32 %r6, [%rd4];
    add.s32 %r7, %r6, 1;
    st.global.u32 [%rd4], %r7;
done:
    ret;
}";

pub fn launch_foreign_ptx() -> Outcome {
    let _device = cust::init_auto()?;
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let data = [1i32, 2, 3].as_dbuf()?;
    // SAFETY: the arguments are those of the C++ kernel, and `data` has three elements.
    unsafe { launch!(module.increment<<<1, 32, 0, stream>>>(data.as_device_ptr(), 3i32))? };
    stream.synchronize()?; // `launch!` does not know which buffers the kernel uses
    assert_eq!(data.as_host_vec()?, [2, 3, 4]);
    Ok(())
}
// ANCHOR_END: foreign_ptx
