-- How near the best kernels come to the bandwidth of their device's memory.
SELECT b.definition, b.workload, b.device, b.variant, b.template, round(min(1000 * b.latency_ms), 3) AS time_us,
       round(max(b.memory_bandwidth_gbs), 0) AS gb_per_s, round(d.peak_bandwidth_gbps, 0) AS peak_gb_per_s,
       round(100 * max(b.memory_bandwidth_gbs) / nullif(d.peak_bandwidth_gbps, 0), 1) AS percent_of_peak
FROM benchmark_results b JOIN sessions s ON s.id = b.session JOIN devices d ON d.id = s.device_id
WHERE b.output_correct = 1 AND b.cold = 1 AND b.latency_ms IS NOT NULL
GROUP BY b.definition, b.workload, b.device ORDER BY percent_of_peak DESC
