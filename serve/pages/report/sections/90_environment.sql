-- Environment
--
-- @hosts Where it ran
SELECT n.host, n.operating_system, iif(n.driver_version > 0, (n.driver_version / 1000) || '.' || (n.driver_version % 1000 / 10), NULL) AS cuda_of_driver,
       n.alphakernel_version, count(*) AS searches
FROM searches s JOIN environments n ON n.id = s.environment_id WHERE s.id IN (SELECT id FROM report_searches)
GROUP BY n.id ORDER BY searches DESC LIMIT 30;

-- @devices The devices
SELECT v.name AS device, v.kind, v.arch, v.sm_count, v.l2_bytes, v.memory_bytes, v.peak_bandwidth_gbps, count(DISTINCT v.id) AS units, count(*) AS searches
FROM searches s JOIN devices v ON v.id = s.device_id WHERE s.id IN (SELECT id FROM report_searches)
GROUP BY v.name, v.arch ORDER BY searches DESC LIMIT 30;

-- @calibrations Calibrations of devices that shared the work of a search
WITH read AS (
  SELECT c.*, first_value(c.compute_ns) OVER one AS first_compute_ns, first_value(c.copy_ns) OVER one AS first_copy_ns
  FROM calibrations c WHERE c.search_id IN (SELECT id FROM report_searches)
  WINDOW one AS (PARTITION BY c.search_id, c.device_id, c.place ORDER BY c.id))
SELECT r.search_id AS search, r.place, v.name AS device, v.uuid, count(*) AS calibrations, r.first_compute_ns / 1000.0 AS first_compute_us,
       r.first_copy_ns / 1000.0 AS first_copy_us, 100.0 * max(r.drift) AS most_drift_pct, count(r.objection) AS refused,
       max(r.objection) AS objection
FROM read r JOIN devices v ON v.id = r.device_id GROUP BY r.search_id, r.device_id, r.place
ORDER BY r.search_id DESC, r.place LIMIT 100;

-- @compilers Compilers of the variants
SELECT b.nvrtc_version AS nvrtc, b.arch, count(*) AS builds, avg(b.compile_ms) AS mean_ms
FROM evaluations e JOIN builds b ON b.id = e.build_id WHERE e.search_id IN (SELECT id FROM report_searches)
GROUP BY 1, 2 ORDER BY builds DESC LIMIT 20;

-- @clocks Clocks while it was timed, and what held them down
SELECT v.name AS device, count(*) AS measurements, min(m.sm_clock_mhz) AS lowest_clock_mhz, max(m.sm_clock_mhz) AS highest_clock_mhz,
       max(m.temperature_c) AS warmest_celsius, sum(m.throttled IS NOT NULL) AS throttled_measurements
FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id JOIN devices v ON v.id = e.device_id
WHERE e.search_id IN (SELECT id FROM report_searches) AND m.method <> 'emulator'
GROUP BY v.name ORDER BY device;
