#!/usr/bin/env bash
# Measures every shipped kernel next to copies, cuBLASLt, the naive kernels and PyTorch, on one GPU in one go: runs the
# experiment kernel_figures, times PyTorch on the same workloads, and writes figures.csv and baselines.csv next to the
# experiment's report. About ten minutes.
#   scripts/measure/measure_kernels.sh OUTPUT_FOLDER
set -uo pipefail
out=${1:?usage: scripts/measure/measure_kernels.sh OUTPUT_FOLDER}
ak=${AK:-build/release/bin/alphakernel}
"$ak" experiment run kernel_figures --output "$out" --device cuda
status=$?
python3 scripts/measure/pytorch_baseline.py --db "$out/experiment.db" > "$out/pytorch.txt" || echo "PyTorch was not timed"
"$ak" query --db "$out/experiment.db" --limit 0 --format csv "
  SELECT definition, workload, template, tunables, round(latency_ms * 1000, 2) AS us, round(throughput_tflops, 1) AS tflops,
         round(memory_bandwidth_gbs) AS gbps, round(speedup_vs_pytorch, 3) AS vs_pytorch, round(speedup_vs_naive, 1) AS vs_naive,
         round(pct_of_reference, 1) AS pct_of_fastest_baseline
  FROM (SELECT *, row_number() OVER (PARTITION BY search, workload ORDER BY latency_ms) AS place
        FROM benchmark_results WHERE status = 'ok' AND cold = 1)
  WHERE place = 1 ORDER BY search, workload" > "$out/figures.csv"
"$ak" query --db "$out/experiment.db" --limit 0 --format csv "
  SELECT d.name AS definition, w.name AS workload, m.label, round(min(m.median_ns) / 1000.0, 2) AS us
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id JOIN workloads w ON w.id = m.workload_id
  JOIN definitions d ON d.id = w.definition_id
  WHERE m.role = 'baseline' AND m.cold = 1 GROUP BY e.search_id, w.id, m.label ORDER BY e.search_id, w.name" > "$out/baselines.csv"
exit "$status"
