-- The best verified kernels against the fastest baseline that was timed next to them.
-- definition: of this definition alone (text)
SELECT b.definition, b.workload, b.device, b.variant, b.template, round(1000 * b.latency_ms, 3) AS time_us,
       round(b.throughput_tflops, 1) AS tflops, round(b.memory_bandwidth_gbs, 0) AS gb_per_s,
       round(b.speedup_vs_naive, 2) AS speedup_vs_naive, round(b.pct_of_reference, 1) AS percent_of_fastest_baseline
FROM benchmark_results b JOIN champions h ON h.search = b.search AND h.evaluation = b.evaluation
WHERE b.output_correct = 1 AND b.cold = 1 AND b.latency_ms IS NOT NULL AND ifnull(:definition, b.definition) = b.definition
GROUP BY b.definition, b.workload, b.device HAVING b.latency_ms = min(b.latency_ms)
ORDER BY b.definition, b.workload
