//! The driver API on the emulator, called directly: results, and the codes of errors.
//!
//! `cust` tests the functions that it wraps; these tests do what a careful library never does.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

use cust_raw::*;

use super::driver;

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;

const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .u64 total = 5;
.visible .entry add(.param .u32 add_param_0, .param .u64 add_param_1)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u32 %r1, [add_param_0];
    ld.param.u64 %rd1, [add_param_1];
    cvt.u64.u32 %rd2, %r1;
    add.s64 %rd3, %rd1, %rd2;
    atom.global.add.u64 %rd3, [total], %rd3;
    ret;
}
.visible .entry shaped() .reqntid 32, 1, 1 { ret; }
";

/// Creates a context and makes it current for the test's thread.
fn context() -> CUcontext {
    let mut context = null_mut();
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        assert_eq!(driver().cuInit(0), SUCCESS);
        let created = driver().cuCtxCreate_v4(&mut context, null_mut(), 0, 0);
        assert_eq!(created, SUCCESS);
    }
    context
}

fn load(text: &CStr) -> Result<CUmodule, CUresult> {
    let mut module = null_mut();
    // SAFETY: the image is a C string.
    match unsafe { driver().cuModuleLoadData(&mut module, text.as_ptr().cast()) } {
        SUCCESS => Ok(module),
        code => Err(code),
    }
}

fn function(module: CUmodule, name: &CStr) -> Result<CUfunction, CUresult> {
    let mut function = null_mut();
    // SAFETY: the pointers are valid for the call.
    match unsafe { driver().cuModuleGetFunction(&mut function, module, name.as_ptr()) } {
        SUCCESS => Ok(function),
        code => Err(code),
    }
}

fn launch(function: CUfunction, grid: u32, block: u32, params: &mut [*mut c_void]) -> CUresult {
    let (params, stream, extra) = (params.as_mut_ptr(), null_mut(), null_mut());
    // SAFETY: the parameters are the kernel's.
    unsafe { driver().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, params, extra) }
}

fn total(module: CUmodule) -> u64 {
    let (mut address, mut size, mut value) = (0, 0, 0u64);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let name = c"total".as_ptr();
        let found = driver().cuModuleGetGlobal_v2(&mut address, &mut size, module, name);
        assert_eq!((found, size), (SUCCESS, 8));
        let copied = driver().cuMemcpyDtoH_v2((&raw mut value).cast(), address, size);
        assert_eq!(copied, SUCCESS);
    }
    value
}

#[test]
fn parameters_arrive_both_ways() {
    context();
    let module = load(PTX).unwrap();
    let add = function(module, c"add").unwrap();
    let (mut small, mut large) = (3u32, 1u64 << 40);
    let mut params = [(&raw mut small).cast(), (&raw mut large).cast()];
    assert_eq!(launch(add, 1, 1, &mut params), SUCCESS);
    assert_eq!(total(module), 5 + 3 + (1 << 40));

    let mut packed = [0u8; 16];
    packed[0] = 7;
    packed[8] = 1;
    let mut launch_packed = |mut size: usize| {
        let mut extra = [
            launch_param::BUFFER_POINTER,
            packed.as_mut_ptr().cast(),
            launch_param::BUFFER_SIZE,
            (&raw mut size).cast(),
            launch_param::END,
        ];
        let extra = extra.as_mut_ptr();
        // SAFETY: the list ends with `END`, and the buffer has 16 bytes.
        unsafe { driver().cuLaunchKernel(add, 2, 1, 1, 4, 1, 1, 0, null_mut(), null_mut(), extra) }
    };
    assert_eq!(launch_packed(16), SUCCESS);
    assert_eq!(total(module), 5 + 3 + (1 << 40) + 8 * 8);
    assert_eq!(launch_packed(8), INVALID_VALUE);

    let config = CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: null_mut(),
        attrs: null_mut(),
        numAttrs: 0,
    };
    (small, large) = (1, 0);
    // SAFETY: the parameters are the kernel's.
    let launched =
        unsafe { driver().cuLaunchKernelEx(&config, add, params.as_mut_ptr(), null_mut()) };
    assert_eq!((launched, small, large), (SUCCESS, 1, 0));
    assert_eq!(total(module), 5 + 3 + (1 << 40) + 8 * 8 + 1);
}

#[test]
fn launches_are_checked_as_the_driver_does() {
    context();
    let module = load(PTX).unwrap();
    let shaped = function(module, c"shaped").unwrap();
    assert_eq!(launch(shaped, 1, 32, &mut []), SUCCESS);
    assert_eq!(launch(shaped, 1, 16, &mut []), INVALID_VALUE);
    assert_eq!(launch(shaped, 0, 32, &mut []), INVALID_VALUE);
    let add = function(module, c"add").unwrap();
    assert_eq!(launch(add, 1, 1025, &mut []), INVALID_VALUE);
    assert_eq!(
        launch(add, 1, 1, &mut [null_mut(), null_mut()]),
        INVALID_VALUE
    );
    assert_eq!(launch(null_mut(), 1, 1, &mut []), INVALID_HANDLE);
}

#[test]
fn kernels_are_found_listed_and_described() {
    context();
    let module = load(PTX).unwrap();
    let not_found = CUresult::CUDA_ERROR_NOT_FOUND;
    assert_eq!(function(module, c"sub"), Err(not_found));
    let add = function(module, c"add").unwrap();
    assert_eq!(function(module, c"add"), Ok(add));
    let (mut count, mut functions) = (0, [null_mut(); 2]);
    let (mut offset, mut size, mut name) = (0, 0, null::<c_char>());
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        assert_eq!(
            driver().cuModuleGetFunctionCount(&mut count, module),
            SUCCESS
        );
        assert_eq!(count, 2);
        let listed = driver().cuModuleEnumerateFunctions(functions.as_mut_ptr(), 2, module);
        assert_eq!((listed, functions[0]), (SUCCESS, add));
        let found = driver().cuFuncGetParamInfo(add, 1, &mut offset, &mut size);
        assert_eq!((found, offset, size), (SUCCESS, 8, 8));
        let found = driver().cuFuncGetParamInfo(add, 2, &mut offset, &mut size);
        assert_eq!(found, INVALID_VALUE);
        assert_eq!(driver().cuFuncGetName(&mut name, add), SUCCESS);
        assert_eq!(CStr::from_ptr(name), c"add");
        assert_eq!(driver().cuModuleUnload(module), SUCCESS);
        assert_eq!(driver().cuModuleUnload(module), INVALID_HANDLE);
        assert_eq!(driver().cuFuncGetName(&mut name, add), INVALID_HANDLE);
    }
}

#[test]
fn modules_that_do_not_parse_fill_the_log() {
    context();
    let text = c".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { nonsense; }\n";
    let mut log = [1 as c_char; 300];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values: [*mut c_void; 2] = [
        log.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(log.len()),
    ];
    let mut module = null_mut();
    // SAFETY: the lists have two entries, the log has the size that they say.
    let log = unsafe {
        let (image, options) = (text.as_ptr().cast(), options.as_mut_ptr());
        let result =
            driver().cuModuleLoadDataEx(&mut module, image, 2, options, values.as_mut_ptr());
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_PTX);
        CStr::from_ptr(log.as_ptr()).to_str().unwrap()
    };
    assert!(log.contains("line 4"), "{log}");
    assert_eq!(values[1].addr(), log.len());
    let new = load(c".version 10.0\n.target sm_70\n.address_size 64\n");
    assert_eq!(new, Err(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
    assert_eq!(
        load(c"\x7fELF\x02\x01\x01"),
        Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU)
    );
    // The emulator is sm_90 in this test.
    assert!(load(c".version 9.0\n.target sm_90a\n.address_size 64\n").is_ok());
    assert_eq!(
        load(c".version 9.0\n.target sm_100, debug\n.address_size 64\n"),
        Err(CUresult::CUDA_ERROR_INVALID_PTX)
    );
}

#[test]
fn copies_outside_allocations_are_rejected() {
    context();
    let mut address = 0;
    let mut host = [0u8; 200];
    let to = host.as_mut_ptr().cast();
    // SAFETY: the host memory is large enough for each copy.
    unsafe {
        let d = driver();
        assert_eq!(d.cuMemAlloc_v2(&mut address, 0), INVALID_VALUE);
        assert_eq!(d.cuMemAlloc_v2(&mut address, 100), SUCCESS);
        assert_eq!(d.cuMemsetD8_v2(address, 7, 100), SUCCESS);
        assert_eq!(d.cuMemsetD8_v2(address, 7, 101), INVALID_VALUE);
        assert_eq!(d.cuMemsetD32_v2(address + 2, 7, 1), INVALID_VALUE);
        assert_eq!(d.cuMemcpyDtoH_v2(to, address, 100), SUCCESS);
        assert_eq!((host[0], host[99], host[100]), (7, 7, 0));
        assert_eq!(d.cuMemcpyDtoH_v2(to, address + 1, 100), INVALID_VALUE);
        assert_eq!(d.cuMemcpyDtoH_v2(to, 0x1234, 1), INVALID_VALUE);
        assert_eq!(d.cuMemcpyHtoD_v2(address, null(), 1), INVALID_VALUE);
        assert_eq!(d.cuMemcpyDtoD_v2(address + 50, address, 50), SUCCESS);
        assert_eq!(d.cuMemcpyDtoD_v2(address + 51, address, 50), INVALID_VALUE);
        let (mut base, mut size) = (0, 0);
        let found = d.cuMemGetAddressRange_v2(&mut base, &mut size, address + 99);
        assert_eq!((found, base, size), (SUCCESS, address, 100));
        assert_eq!(d.cuMemFree_v2(address + 1), INVALID_VALUE);
        assert_eq!(d.cuMemFree_v2(address), SUCCESS);
        assert_eq!(d.cuMemFree_v2(address), INVALID_VALUE);
        assert_eq!(d.cuMemcpyDtoH_v2(to, address, 1), INVALID_VALUE);
        let huge = d.cuMemAlloc_v2(&mut address, 1 << 60);
        assert_eq!(huge, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
}

#[test]
fn rows_are_copied_and_set() {
    context();
    let (mut address, mut pitch) = (0, 0);
    let source: Vec<u8> = (0..12).collect();
    let mut back = [0u8; 4];
    let side = |kind| (kind, null::<c_void>());
    // SAFETY: the descriptions fit the memory.
    unsafe {
        let d = driver();
        let allocated = d.cuMemAllocPitch_v2(&mut address, &mut pitch, 4, 3, 4);
        assert_eq!((allocated, pitch), (SUCCESS, 512));
        let (src_kind, _) = side(CUmemorytype::CU_MEMORYTYPE_HOST);
        let mut copy: CUDA_MEMCPY2D = std::mem::zeroed();
        copy.srcMemoryType = src_kind;
        copy.srcHost = source.as_ptr().cast();
        copy.srcPitch = 4;
        copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = address;
        copy.dstPitch = pitch;
        copy.WidthInBytes = 4;
        copy.Height = 3;
        assert_eq!(d.cuMemcpy2D_v2(&copy), SUCCESS);
        let to = back.as_mut_ptr().cast();
        assert_eq!(d.cuMemcpyDtoH_v2(to, address + 1024, 4), SUCCESS);
        assert_eq!(back, [8, 9, 10, 11]);
        copy.Height = 4;
        assert_eq!(d.cuMemcpy2D_v2(&copy), INVALID_VALUE);
        copy.WidthInBytes = 5;
        assert_eq!(d.cuMemcpy2D_v2(&copy), INVALID_VALUE);
        assert_eq!(d.cuMemsetD2D16_v2(address, pitch, 0x0102, 2, 2), SUCCESS);
        assert_eq!(d.cuMemcpyDtoH_v2(to, address + 512, 4), SUCCESS);
        assert_eq!(back, [2, 1, 2, 1]);
    }
}

#[test]
fn host_memory_is_pinned_and_described() {
    let context = context();
    let mut own = vec![0u64; 100];
    let start: *mut c_void = own.as_mut_ptr().cast();
    let (mut host, mut device) = (null_mut(), 0);
    let mut owner: CUcontext = null_mut();
    let mut kind = CUmemorytype(0);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let d = driver();
        assert_eq!(
            d.cuMemHostAlloc(&mut host, 4096, CU_MEMHOSTALLOC_DEVICEMAP),
            SUCCESS
        );
        assert_eq!(
            d.cuMemHostGetDevicePointer_v2(&mut device, host, 0),
            SUCCESS
        );
        let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let got = d.cuPointerGetAttribute((&raw mut kind).cast(), which, device);
        assert_eq!((got, kind), (SUCCESS, CUmemorytype::CU_MEMORYTYPE_HOST));
        let which = CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT;
        let got = d.cuPointerGetAttribute((&raw mut owner).cast(), which, device);
        assert_eq!((got, owner), (SUCCESS, context));
        assert_eq!(d.cuMemFreeHost(host), SUCCESS);
        assert_eq!(d.cuMemFreeHost(host), INVALID_VALUE);

        assert_eq!(d.cuMemHostRegister_v2(start, 800, 0), SUCCESS);
        let again = d.cuMemHostRegister_v2(start, 8, 0);
        assert_eq!(again, CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        assert_eq!(
            d.cuMemHostGetDevicePointer_v2(&mut device, start, 0),
            SUCCESS
        );
        assert_eq!(d.cuMemsetD32_v2(device, 9, 200), SUCCESS);
        assert_eq!(d.cuMemHostUnregister(start), SUCCESS);
        assert_eq!(own[99], 9 << 32 | 9);
        assert_eq!(d.cuMemsetD32_v2(device, 9, 200), INVALID_VALUE);
        let again = d.cuMemHostUnregister(start);
        assert_eq!(again, CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    }
}

#[test]
fn invalid_handles_are_errors() {
    let made = context();
    let wrong = 0x1237 as *mut c_void;
    let (mut event, mut milliseconds) = (null_mut(), 0.0);
    // SAFETY: handles are not dereferenced.
    unsafe {
        let d = driver();
        assert_eq!(d.cuStreamSynchronize(wrong.cast()), INVALID_HANDLE);
        assert_eq!(d.cuEventQuery(wrong.cast()), INVALID_HANDLE);
        assert_eq!(d.cuModuleUnload(made.cast()), INVALID_HANDLE);
        let current = d.cuCtxSetCurrent(wrong.cast());
        assert_eq!(current, CUresult::CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!(d.cuEventCreate(&mut event, 0), SUCCESS);
        let elapsed = d.cuEventElapsedTime_v2(&mut milliseconds, event, event);
        assert_eq!(elapsed, INVALID_HANDLE);
        assert_eq!(d.cuEventDestroy_v2(event), SUCCESS);
        assert_eq!(d.cuEventDestroy_v2(event), INVALID_HANDLE);
        let mut texture = null_mut();
        let unsupported = d.cuTexRefCreate(&mut texture);
        assert_eq!(unsupported, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }
}

#[test]
fn contexts_nest_and_are_destroyed() {
    let first = context();
    let second = context();
    let (mut current, mut address) = (null_mut(), 0);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let d = driver();
        assert_eq!(d.cuMemAlloc_v2(&mut address, 10), SUCCESS);
        assert_eq!(d.cuCtxPopCurrent_v2(&mut current), SUCCESS);
        assert_eq!(current, second);
        // Another context's memory.
        assert_eq!(d.cuMemsetD8_v2(address, 1, 10), INVALID_VALUE);
        assert_eq!(d.cuCtxDestroy_v2(second), SUCCESS);
        let pushed = d.cuCtxPushCurrent_v2(second);
        assert_eq!(pushed, CUresult::CUDA_ERROR_INVALID_CONTEXT);
        assert_eq!(d.cuCtxGetCurrent(&mut current), SUCCESS);
        assert_eq!(current, first);
        assert_eq!(d.cuCtxDestroy_v2(first), SUCCESS);
        let none = d.cuMemAlloc_v2(&mut address, 10);
        assert_eq!(none, CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
}

#[test]
fn errors_have_names_and_descriptions() {
    let text = |code: CUresult| {
        let (mut name, mut text) = (null(), null());
        // SAFETY: the pointers are valid for the calls; the strings are static.
        unsafe {
            assert_eq!(driver().cuGetErrorName(code, &mut name), SUCCESS);
            assert_eq!(driver().cuGetErrorString(code, &mut text), SUCCESS);
            (
                CString::from(CStr::from_ptr(name)),
                CString::from(CStr::from_ptr(text)),
            )
        }
    };
    let (name, message) = text(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    assert_eq!(
        (&*name, &*message),
        (c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory")
    );
    assert_eq!(&*text(SUCCESS).1, c"no error");
    let mut name = null();
    // SAFETY: as above.
    let unknown = unsafe { driver().cuGetErrorName(CUresult(4321), &mut name) };
    assert_eq!((unknown, name), (INVALID_VALUE, null()));
}

#[test]
fn a_fault_persists_until_the_context_is_destroyed() {
    let made = context();
    let text = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry bad() {\n\
                 .reg .b64 %rd<2>;\nmov.u64 %rd1, 64;\nst.global.u64 [%rd1], %rd1;\nret; }\n";
    let module = load(text).unwrap();
    let bad = function(module, c"bad").unwrap();
    let fault = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
    let mut address = 0;
    // The launch itself succeeds.
    assert_eq!(launch(bad, 1, 1, &mut []), SUCCESS);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        assert_eq!(driver().cuCtxSynchronize(), fault);
        assert_eq!(driver().cuMemAlloc_v2(&mut address, 10), fault);
    }
    assert_eq!(launch(bad, 1, 1, &mut []), fault);
    let message = super::last_fault().unwrap();
    assert!(
        message.contains("`bad`") && message.contains("line 7"),
        "{message}"
    );
    // SAFETY: as above.
    unsafe { assert_eq!(driver().cuCtxDestroy_v2(made), SUCCESS) };
    context();
    // SAFETY: as above.
    unsafe { assert_eq!(driver().cuMemAlloc_v2(&mut address, 10), SUCCESS) };
}

#[test]
fn launches_from_every_thread_of_a_pool() {
    let made = context() as usize;
    let module = load(PTX).unwrap();
    let add = function(module, c"add").unwrap() as usize;
    rayon::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(move |_| {
                let (mut small, mut large) = (1u32, 0u64);
                let mut params = [(&raw mut small).cast(), (&raw mut large).cast()];
                // SAFETY: the context is alive.
                unsafe { driver().cuCtxSetCurrent(made as CUcontext) };
                assert_eq!(launch(add as CUfunction, 8, 4, &mut params), SUCCESS);
            });
        }
    });
    assert_eq!(total(module), 5 + 50 * 32);
}

/// Each captured call becomes a node of its kind, as on a GPU.
#[test]
fn captured_nodes_have_the_kinds_of_their_calls() {
    let _context = context();
    let module = load(PTX).unwrap();
    let add = function(module, c"add").unwrap();
    let driver = driver();
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    let (mut stream, mut graph) = (null_mut(), null_mut());
    let (mut amount, mut start) = (1u32, 2u64);
    let mut params = [
        (&raw mut amount).cast::<c_void>(),
        (&raw mut start).cast::<c_void>(),
    ];
    let (mut a, mut b) = (0, 0);
    // SAFETY: the pointers are valid for the calls, and the graph is never launched.
    let kinds = unsafe {
        assert_eq!(driver.cuStreamCreate(&mut stream, 1), SUCCESS);
        assert_eq!(driver.cuMemAlloc_v2(&mut a, 64), SUCCESS);
        assert_eq!(driver.cuMemAlloc_v2(&mut b, 64), SUCCESS);
        assert_eq!(driver.cuStreamBeginCapture_v2(stream, mode), SUCCESS);
        assert_eq!(driver.cuMemsetD8Async(a, 7, 64, stream), SUCCESS);
        assert_eq!(driver.cuMemcpyDtoDAsync_v2(b, a, 64, stream), SUCCESS);
        let (params, extra) = (params.as_mut_ptr(), null_mut());
        let launched = driver.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, params, extra);
        assert_eq!(launched, SUCCESS);
        assert_eq!(
            driver.cuLaunchHostFunc(stream, Some(nothing), null_mut()),
            SUCCESS
        );
        assert_eq!(driver.cuStreamEndCapture(stream, &mut graph), SUCCESS);
        let mut count = 0;
        assert_eq!(
            driver.cuGraphGetNodes(graph, null_mut(), &mut count),
            SUCCESS
        );
        let mut nodes = vec![null_mut(); count];
        let found = driver.cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count);
        assert_eq!(found, SUCCESS);
        let kind = |node| {
            let mut kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
            assert_eq!(driver.cuGraphNodeGetType(node, &mut kind), SUCCESS);
            kind
        };
        nodes.into_iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(
        kinds,
        [
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
        ]
    );
}
