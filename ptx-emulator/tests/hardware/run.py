#!/usr/bin/env python3
"""run.py DIR [OUT]: runs the suite in DIR on CUDA device 0, writes OUT/outputs.bin (OUT: DIR).

DIR holds suite.ptx, suite.json and inputs.bin, as tests/it/hardware.rs writes them. Needs the driver alone. If DIR holds
suite.cubin too, the suite as ptxas assembles it, that runs; otherwise the driver assembles one module a case, so that a
case it refuses is named and spoils no other. A case that faults ends its process; the next process goes on behind it.
"""
import ctypes as C, json, os, re, subprocess, sys, time

cu = C.CDLL("libcuda.so.1")


def check(code, what):
    if code:
        name = C.c_char_p()
        cu.cuGetErrorName(code, C.byref(name))
        sys.exit(f"{what}: {name.value}")


def array(kind, values):
    return (kind * max(len(values), 1))(*values)


def tensor_map(shape, source, target):
    """The driver's encoding of a tensor map: 128 bytes, aligned to 64."""
    memory = C.create_string_buffer(192)
    at = (C.addressof(memory) + 63) // 64 * 64
    rank = len(shape["extents"])
    address = (target if shape["output"] else source) + shape["offset"]
    check(cu.cuTensorMapEncodeTiled(
        C.c_void_p(at), C.c_int(shape["element"]), C.c_uint32(rank), C.c_void_p(address),
        array(C.c_uint64, shape["extents"]), array(C.c_uint64, shape["strides"]),
        array(C.c_uint32, shape["box"]), array(C.c_uint32, shape["element_strides"]),
        C.c_int(0), C.c_int(shape["swizzle"]), C.c_int(shape["promotion"]), C.c_int(shape["nan"]),
    ), f"cuTensorMapEncodeTiled {shape}")
    return memory, at


class Suite:
    def __init__(self, folder):
        self.cases = json.load(open(f"{folder}/suite.json"))
        self.inputs = open(f"{folder}/inputs.bin", "rb").read()
        check(cu.cuInit(0), "cuInit")
        device, context = C.c_int(), C.c_void_p()
        check(cu.cuDeviceGet(C.byref(device), 0), "cuDeviceGet")
        check(cu.cuDevicePrimaryCtxRetain(C.byref(context), device), "cuDevicePrimaryCtxRetain")
        check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent")
        self.module, self.entries = None, None
        if os.path.exists(f"{folder}/suite.cubin"):
            self.module = C.c_void_p()
            image = open(f"{folder}/suite.cubin", "rb").read()
            check(cu.cuModuleLoadData(C.byref(self.module), image), "cuModuleLoadData")
        else:
            self.head, *self.entries = re.split(r"(?=\.visible \.entry)", open(f"{folder}/suite.ptx").read())
        self.source, self.target = C.c_uint64(), C.c_uint64()
        largest = max(c["input"][1] for c in self.cases), max(c["output"] for c in self.cases)
        check(cu.cuMemAlloc_v2(C.byref(self.source), largest[0]), "cuMemAlloc")
        check(cu.cuMemAlloc_v2(C.byref(self.target), largest[1]), "cuMemAlloc")

    def assemble(self, i):
        """The module of case `i`; None where the driver refuses it."""
        if self.module:
            return self.module
        module, log = C.c_void_p(), C.create_string_buffer(4096)
        options = (C.c_int * 2)(5, 6)  # error log buffer and its size
        values = (C.c_void_p * 2)(C.cast(log, C.c_void_p), 4096)
        text = (self.head + self.entries[i]).encode()
        if cu.cuModuleLoadDataEx(C.byref(module), text, 2, options, values):
            print(f"c{i}: refused: {log.value.decode()}\n{self.entries[i]}", flush=True)
            return None
        return module

    def run(self, i):
        case = self.cases[i]
        module, function = self.assemble(i), C.c_void_p()
        if module is None:
            return b"\0" * case["output"]
        check(cu.cuModuleGetFunction(C.byref(function), module, f"c{i}".encode()), "cuModuleGetFunction")
        at, length = case["input"]
        check(cu.cuMemcpyHtoD_v2(self.source, self.inputs[at:at + length], C.c_size_t(length)), "cuMemcpyHtoD")
        check(cu.cuMemsetD8_v2(self.target, 0xEE, C.c_size_t(case["output"])), "cuMemsetD8")
        params = [C.addressof(self.source), C.addressof(self.target)]
        if case["map"]:
            keep, address = tensor_map(case["map"], self.source.value, self.target.value)
            params.append(address)
        blocks, threads = case["blocks"], case["threads"]
        check(cu.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, None, array(C.c_void_p, params), None), f"c{i}: launch")
        check(cu.cuCtxSynchronize(), f"c{i}")
        buffer = C.create_string_buffer(case["output"])
        check(cu.cuMemcpyDtoH_v2(buffer, self.target, C.c_size_t(case["output"])), "cuMemcpyDtoH")
        if not self.module:
            cu.cuModuleUnload(module)
        return buffer.raw


def work(folder, out, first):
    """Runs the cases from `first` on, each result appended to the file of outputs."""
    suite = Suite(folder)
    with open(f"{out}/outputs.bin", "ab") as file:
        for i in range(first, len(suite.cases)):
            file.write(suite.run(i))
            file.flush()


def main():
    folder = sys.argv[1]
    out = sys.argv[2] if len(sys.argv) > 2 else folder
    if len(sys.argv) > 3:
        return work(folder, out, int(sys.argv[3]))
    sizes = [case["output"] for case in json.load(open(f"{folder}/suite.json"))]
    path = f"{out}/outputs.bin"
    open(path, "wb").close()
    faults, first = 0, 0
    while first < len(sizes):
        worker = subprocess.Popen([sys.executable, __file__, folder, out, str(first)])
        seen, since = -1, time.monotonic()
        # No case takes seconds; one that hangs ends with its process.
        while (code := worker.poll()) is None:
            time.sleep(0.1)
            if (now := os.path.getsize(path)) != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > 15:
                worker.kill()
        written = os.path.getsize(path)
        first = next((i for i in range(len(sizes)) if sum(sizes[:i + 1]) > written), len(sizes))
        if code == 0:
            break
        if faults == 60:
            sys.exit("too many cases fault")
        print(f"c{first} gave no result ({code})", flush=True)
        faults += 1
        with open(path, "ab") as file:
            file.write(b"\0" * (sum(sizes[:first + 1]) - written))
        first += 1
    print(f"{len(sizes)} cases run, {faults} without a result")


main()
