#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One line a kernel of what limits it, from the raw CSV pages of Nsight Compute.

  python3 scripts/measure/summarize_counters.py FOLDER > counters.csv

Reads FOLDER/NAME.csv (ncu --csv --page raw, the first launch in each). Shares are percent of the peak while the kernel
ran; stalls are warps waiting for a reason for every instruction issued, the three most frequent.
"""
import csv
import pathlib
import sys

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
COLUMNS = {
    "duration_ns": "gpu__time_duration.sum",
    "sm_clock_hz": "gpc__cycles_elapsed.avg.per_second",
    "dram_pct": "gpu__dram_throughput" + ELAPSED,
    "l2_pct": "lts__throughput" + ELAPSED,
    "l1_pct": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "tensor_pct": "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active" + ELAPSED,
    "fma_pct": "sm__pipe_fma_cycles_active" + ELAPSED,
    "alu_pct": "sm__pipe_alu_cycles_active" + ELAPSED,
    "special_function_pct": "sm__inst_executed_pipe_xu" + ELAPSED,
    "issue_pct": "sm__issue_active" + ELAPSED,
    "shared_memory_pct": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
}
STALL = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
NOT_STALLED = ("selected", "not_selected")


def number(text):
    return float(text.replace(",", ""))


def stalls(row):
    found = {}
    for name, value in row.items():
        if name.startswith(STALL[0]) and name.endswith(STALL[1]) and value:
            found[name[len(STALL[0]):-len(STALL[1])]] = number(value)
    waiting = sorted((name for name in found if name not in NOT_STALLED), key=lambda name: -found[name])
    return " ".join(f"{name}={found[name]:.2f}" for name in waiting[:3])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["name", "kernel", "grid", "block", *COLUMNS, "stalls"])
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.csv")):
        # The program's own output comes before the table, whose second line holds the units.
        lines = [line for line in path.read_text().splitlines() if line.startswith('"')]
        table = list(csv.DictReader(lines))
        if len(table) < 2:
            print(f"{path.name}: no kernel was profiled", file=sys.stderr)
            continue
        row = table[1]
        values = [f"{number(row[name]):.6g}" if row.get(name) else "" for name in COLUMNS.values()]
        writer.writerow([path.stem, row["Kernel Name"].split("(")[0], row["Grid Size"], row["Block Size"], *values,
                         stalls(row)])


if __name__ == "__main__":
    main()
