#!/usr/bin/env python3
"""cuBLAS (torch.matmul) beside our matrix products, in turn on one card: prints the ratio of each round.

    python3 gemm.py -- ./run.sh bench gpu_kernels --only gemm

The command prints lines "gemm bf16 4096^3, .. TFLOP/s ..": what is multiplied is read from them. Matrices
hold normal random numbers; sums are in f32, and f32 is multiplied as f32 (no tf32). Each round times
torch for about 0.1 s a product with events, then runs the command, then torch again; the ratio is ours
over the mean of the two, so that a drift of the clocks does not favour either.
"""

import re
import statistics
import subprocess
import sys

import torch

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def torch_rate(kind, n):
    a = torch.randn(n, n, device="cuda", dtype=TYPES[kind])
    b = torch.randn(n, n, device="cuda", dtype=TYPES[kind])
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def seconds(products):
        start.record()
        for _ in range(products):
            c = a @ b
        end.record()
        torch.cuda.synchronize()
        del c
        return start.elapsed_time(end) * 1e-3 / products

    seconds(10)
    products = max(10, int(0.1 / 5 / seconds(20)))
    return statistics.median(2 * n**3 / seconds(products) / 1e12 for _ in range(5))


def our_rates(command):
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"the command failed:\n{out.stdout}\n{out.stderr}")
    rates = []
    for line in out.stdout.splitlines():
        found = re.match(r"(\S+ (f32|f16|bf16) (\d+)\^3.*?)\s+([\d.]+) TFLOP/s", line)
        if found:
            rates.append((found[1], (found[2], int(found[3])), float(found[4])))
    return rates


def main():
    command = sys.argv[sys.argv.index("--") + 1 :]
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    products = {product for _, product, _ in our_rates(command)}
    before = {product: torch_rate(*product) for product in products}
    for round_ in range(3):
        ours = our_rates(command)
        after = {product: torch_rate(*product) for product in products}
        for name, product, rate in ours:
            library = (before[product] + after[product]) / 2
            print(f"round {round_}: {name}: {rate:.1f} TFLOP/s, torch.matmul {library:.1f}, ratio {rate / library:.3f}")
        before = after


if __name__ == "__main__":
    main()
