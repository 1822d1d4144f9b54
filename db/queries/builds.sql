-- What compiling costs: builds by status, with the longest and the share that came from the cache.
SELECT arch, nvrtc_version, status, count(*) AS builds, round(avg(compile_ms), 1) AS mean_compile_ms,
       round(max(compile_ms), 1) AS longest_compile_ms, round(100.0 * avg(cache_hit), 1) AS from_cache_percent,
       round(avg(cubin_bytes) / 1024.0, 1) AS mean_cubin_kb
FROM builds GROUP BY arch, nvrtc_version, status ORDER BY builds DESC
