#!/usr/bin/env python3
"""Runs hardware.ptx (or hardware.cubin) on the GPU with inputs.bin, and writes results.bin.

Usage: record.py DIR. Part of `tests/hardware.rs`, which documents the files. Requires only libcuda.
"""
import ctypes, os, re, sys

directory = sys.argv[1]
cuda = ctypes.CDLL("libcuda.so.1")


def check(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        raise SystemExit(f"{name}: error {code}")


def path(name):
    return os.path.join(directory, name)


check("cuInit", 0)
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
check("cuCtxSetCurrent", context)
image = path("hardware.cubin") if os.path.exists(path("hardware.cubin")) else path("hardware.ptx")
check("cuModuleLoadData", ctypes.byref(module), open(image, "rb").read() + b"\0")
inputs = open(path("inputs.bin"), "rb").read()
threads = len(inputs) // 24
source, target = ctypes.c_uint64(), ctypes.c_uint64()
check("cuMemAlloc_v2", ctypes.byref(source), ctypes.c_size_t(len(inputs)))
check("cuMemAlloc_v2", ctypes.byref(target), ctypes.c_size_t(threads * 8))
check("cuMemcpyHtoD_v2", source, inputs, ctypes.c_size_t(len(inputs)))
params = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.byref(p), ctypes.c_void_p) for p in (source, target)))
count = len(re.findall(r"\.entry op_", open(path("hardware.ptx")).read()))
with open(path("results.bin"), "wb") as out:
    for index in range(count):
        check("cuModuleGetFunction", ctypes.byref(function), module, b"op_%d" % index)
        check("cuLaunchKernel", function, threads // 128, 1, 1, 128, 1, 1, 0, None, params, None)
        check("cuCtxSynchronize")
        buffer = ctypes.create_string_buffer(threads * 8)
        check("cuMemcpyDtoH_v2", buffer, target, ctypes.c_size_t(threads * 8))
        out.write(buffer.raw)
print(count, "operations")
