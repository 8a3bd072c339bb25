#!/usr/bin/env python3
"""Draws the measured ratios of one card: python3 plot.py h200  (needs matplotlib).

Reads h200.jsonl, the lines that the benchmarks wrote, and draws one bar a figure with a ratio to a
reference of the same run (CARD.md names it), with the goal where there is one.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).parent
plt.rcParams["svg.hashsalt"] = "cutile"


def main():
    card = sys.argv[1]
    rows = [json.loads(line) for line in (HERE / f"{card}.jsonl").read_text().splitlines()]
    higher = [r for r in rows if r["better"] == "higher"]
    lower = [r for r in rows if r["better"] == "lower"]
    size = [len(higher), len(lower)]
    figure, parts = plt.subplots(
        2, 1, figsize=(10, 0.4 * sum(size) + 2), height_ratios=size, constrained_layout=True
    )
    for axis, part, title in [
        (parts[0], higher, "rate over the reference (more is better)"),
        (parts[1], lower, "time over the reference (less is better)"),
    ]:
        names = [r["name"] for r in part]
        axis.barh(names, [r["ratio"] for r in part], color="#4878a8")
        for i, r in enumerate(part):
            text = f"{r['ratio']:.2f}" if r["ratio"] >= 0.1 else f"{r['ratio']:.1g}"
            axis.text(r["ratio"], i, f" {text}", va="center", fontsize=8)
            if r.get("goal"):
                axis.plot([r["goal"]] * 2, [i - 0.4, i + 0.4], color="#c44e52", linewidth=2)
        axis.axvline(1, color="#888888", linewidth=0.8)
        axis.invert_yaxis()
        axis.tick_params(labelsize=8)
        axis.set_title(title, fontsize=10, loc="left")
        most = max([1.0] + [r["ratio"] for r in part])
        least = min([1.0] + [r["ratio"] for r in part])
        if most / least > 50:
            axis.set_xscale("log")
            axis.set_xlim(least / 2, 4 * most)
        else:
            axis.set_xlim(0, 1.25 * most)
    figure.suptitle(f"{rows[0]['device']}; red: the goal", fontsize=10)
    figure.savefig(HERE / f"{card}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
