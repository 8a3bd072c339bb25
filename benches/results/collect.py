#!/usr/bin/env python3
"""Makes NAME.jsonl and the table of NAME.md from the logs of one run: python3 collect.py h200 LOG...

A LOG holds what the benchmarks printed or wrote: the JSON lines of gpu_kernels, launch_latency and
emulator, and the "round N: ... ratio R" lines of reference/gemm.py. Other lines are passed over. Goals and the
choice of figures stand in GOALS below.
"""

import json
import pathlib
import re
import statistics
import sys

HERE = pathlib.Path(__file__).parent

# Start of a figure's name: what is better, and the goal for the ratio where one was set. Rows without a goal explain others.
GOALS = [
    ("saxpy f32", "higher", 0.90),
    ("relu f32", "higher", 0.90),
    ("softmax f32", "higher", 0.80),
    ("gemm bf16", "higher", 0.40),
    ("matmul", "higher", None),
    ("runtime: submit, many kernels in one operation", "lower", 1.10),
    ("raw cuLaunchKernel, 16 and one stream write", "lower", None),
    ("runtime: submit, operations of 16 chained kernels", "lower", 1.10),
    ("runtime: submit, many dependent kernels in one operation", "lower", 1.10),
    ("runtime: submit, operations of 16 dependent kernels", "lower", 1.10),
    ("runtime: .sync_on(stream)", "lower", 1.15),
    ("runtime: .await on an idle executor", "lower", 1.15),
    ("GPU time a kernel, 1000 chained, runtime, dependent", "lower", 0.70),
    ("emulator: arithmetic", "higher", 1.0),
    ("emulator: memory and barriers, all checks", "higher", 1.0),
    ("emulator: mma and loop, all checks", "higher", None),
    ("emulator beside native", "higher", None),
    ("emulator: 256^3 bf16 wgmma", "lower", 1.0),
]


def read(paths):
    """Name to its lines: (device, ratio, reference, value, unit); the best variant is chosen later."""
    rows, device = {}, None
    for path in paths:
        for line in pathlib.Path(path).read_text().splitlines():
            found = re.match(r"round \d+: (.*?): ([\d.]+) TFLOP/s, torch.matmul ([\d.]+), ratio", line)
            if found:
                value, library = float(found[2]), float(found[3])
                row = (value / library, "torch.matmul", value, "TFLOP/s")
                rows.setdefault(found[1].strip(), []).append(row)
            elif line.startswith("{"):
                entry = json.loads(line)
                name = entry.get("name") or entry.get("what")
                reference = entry.get("reference") or entry.get("against")
                device = entry.get("card", entry.get("machine", device))
                if entry.get("ratio") is not None and entry["ratio"] == entry["ratio"]:
                    row = (entry["ratio"], reference, entry["median"], entry["unit"])
                    rows.setdefault(name, []).append(row)
    return rows, device


def main():
    card, logs = sys.argv[1], sys.argv[2:]
    rows, device = read(logs)
    out = []
    for start, better, goal in GOALS:
        for name in [n for n in rows if n.startswith(start)]:
            ratio = statistics.median(r[0] for r in rows[name])
            value = statistics.median(r[2] for r in rows[name])
            _, reference, _, unit = rows[name][0]
            out.append({
                "device": device, "name": name, "value": value, "unit": unit, "ratio": ratio,
                "reference": reference, "goal": goal, "better": better,
            })
    (HERE / f"{card}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in out))
    table = ["| figure | value | ratio | reference, same run | goal |", "| --- | --- | --- | --- | --- |"]
    for r in out:
        sign = "at least" if r["better"] == "higher" else "at most"
        goal = f"{sign} {r['goal']}" if r["goal"] is not None else "none"
        goal = f"{sign} {r['goal']}" if r["goal"] else "none"
        table.append(
            f"| {r['name']} | {r['value']:.4g} {r['unit']} | {r['ratio']:.3f} | {r['reference']} "
            f"| {goal} |"
        )
    print("\n".join(table))


if __name__ == "__main__":
    main()
