#!/usr/bin/env python3
"""run.py DIR [OUT]: runs DIR/suite.ptx on CUDA device 0 with DIR/inputs.bin, writes OUT/outputs.bin (OUT: DIR).

Needs the driver alone. See tests/it/hardware.rs."""
import ctypes as C, re, sys

THREADS = 512
cu = C.CDLL("libcuda.so.1")


def check(code, what):
    if code:
        name = C.c_char_p()
        cu.cuGetErrorName(code, C.byref(name))
        sys.exit(f"{what}: {name.value}")


folder = sys.argv[1]
out = sys.argv[2] if len(sys.argv) > 2 else folder
text = open(f"{folder}/suite.ptx").read()
inputs = open(f"{folder}/inputs.bin", "rb").read()
check(cu.cuInit(0), "cuInit")
device, context, module = C.c_int(), C.c_void_p(), C.c_void_p()
check(cu.cuDeviceGet(C.byref(device), 0), "cuDeviceGet")
check(cu.cuDevicePrimaryCtxRetain(C.byref(context), device), "cuDevicePrimaryCtxRetain")
check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent")
head, *entries = re.split(r"(?=\.visible \.entry)", text)
results = bytearray()
src, dst = C.c_uint64(), C.c_uint64()
check(cu.cuMemAlloc_v2(C.byref(src), THREADS * 24), "cuMemAlloc")
check(cu.cuMemAlloc_v2(C.byref(dst), THREADS * 8), "cuMemAlloc")
log = C.create_string_buffer(4096)
options, values = (C.c_int * 2)(5, 6), (C.c_void_p * 2)(C.cast(log, C.c_void_p), 4096)  # error log buffer and size
for i, entry in enumerate(entries):
    # One module a case: an instruction that the card's assembler refuses is named, and spoils no other.
    code = cu.cuModuleLoadDataEx(C.byref(module), (head + entry).encode(), 2, options, values)
    if code:
        print(f"c{i}: refused: {log.value.decode()}\n{entry}")
        results += b"\0" * (THREADS * 8)
        continue
    function = C.c_void_p()
    check(cu.cuModuleGetFunction(C.byref(function), module, f"c{i}".encode()), "cuModuleGetFunction")
    check(cu.cuMemcpyHtoD_v2(src, inputs[i * THREADS * 24:(i + 1) * THREADS * 24], THREADS * 24), "cuMemcpyHtoD")
    check(cu.cuMemsetD8_v2(dst, 0xee, THREADS * 8), "cuMemsetD8")
    params = (C.c_void_p * 2)(C.cast(C.pointer(src), C.c_void_p), C.cast(C.pointer(dst), C.c_void_p))
    check(cu.cuLaunchKernel(function, THREADS // 128, 1, 1, 128, 1, 1, 0, None, params, None), "cuLaunchKernel")
    check(cu.cuCtxSynchronize(), f"c{i}: {entry}")
    buffer = C.create_string_buffer(THREADS * 8)
    check(cu.cuMemcpyDtoH_v2(buffer, dst, THREADS * 8), "cuMemcpyDtoH")
    results += buffer.raw
    cu.cuModuleUnload(module)
open(f"{out}/outputs.bin", "wb").write(results)
print(f"{len(entries)} cases run")
