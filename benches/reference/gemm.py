#!/usr/bin/env python3
"""cuBLAS (torch.matmul) beside our gemm, in turn on one card: prints the ratio of each round.

    python3 gemm.py -- ./run.sh bench gpu_gemm      # the command must print a line "... TFLOP/s ..."

Both multiply 4096 x 4096 bf16 matrices of normal random numbers with f32 accumulation. Each round
times torch for about 0.3 s with events, then runs the command, then torch again; the ratio is ours
over the mean of the two, so that a drift of the clocks does not favour either.
"""

import re
import statistics
import subprocess
import sys

import torch

N = 4096


def torch_rate():
    a = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
    for _ in range(10):
        c = a @ b
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    rates = []
    for _ in range(9):
        start.record()
        for _ in range(130):
            c = a @ b
        end.record()
        torch.cuda.synchronize()
        rates.append(2 * N**3 * 130 / (start.elapsed_time(end) * 1e-3) / 1e12)
    del c
    return statistics.median(rates)


def our_rate(command):
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"the command failed:\n{out.stdout}\n{out.stderr}")
    lines = [line for line in out.stdout.splitlines() if "TFLOP/s" in line]
    return [(line.split("  ")[0], float(re.search(r"([\d.]+) TFLOP/s", line)[1])) for line in lines]


def main():
    command = sys.argv[sys.argv.index("--") + 1 :]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    before = torch_rate()
    for round_ in range(3):
        ours = our_rate(command)
        after = torch_rate()
        library = (before + after) / 2
        for name, rate in ours:
            print(f"round {round_}: {name}: {rate:.1f} TFLOP/s, torch.matmul {library:.1f}, ratio {rate / library:.3f}")
        before = after


if __name__ == "__main__":
    main()
