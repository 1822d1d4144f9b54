-- Device
-- device: its name (text, required)
--
-- @device What is known of it
SELECT id AS number, name AS device, kind, uuid, arch, sm_count, l2_bytes, memory_bytes, peak_bandwidth_gbps
FROM devices WHERE name = :device ORDER BY id LIMIT 20;
-- @facts All that was known when it was first seen
SELECT DISTINCT j.key AS fact, j.value FROM devices, json_each(devices.facts) j WHERE devices.name = :device LIMIT 60;
-- @best The fastest verified kernels on it
SELECT definition, score_us, emulated_cost_us, variant, arch, shapes, search, template,
       (SELECT group_concat(key || '=' || value, ' ') FROM json_each(tunables)) AS tunables
FROM best_kernels WHERE device = :device ORDER BY definition, arch, shapes_number LIMIT 100;
-- @searches Its latest searches
SELECT s.id AS search, d.name AS definition, s.arch, s.status, s.proposer, s.strategy, s.best_variant_id AS variant,
       coalesce(f.searched, 0) AS evaluations, s.started_at, s.reason
FROM searches s JOIN definitions d ON d.id = s.definition_id LEFT JOIN search_figures f ON f.search_id = s.id
JOIN devices dev ON dev.id = s.device_id AND dev.name = :device ORDER BY s.started_at DESC, s.id DESC LIMIT 40;
-- @clocks Clocks, heat and power of its latest measurements
WITH latest AS (
  SELECT e.id FROM evaluations e JOIN devices dev ON dev.id = e.device_id AND dev.name = :device
  WHERE e.score_ns IS NOT NULL ORDER BY e.id DESC LIMIT 200)
SELECT row_number() OVER (ORDER BY m.id) AS number, m.sm_clock_mhz, m.memory_clock_mhz, m.temperature_c,
       m.power_w, m.throttle_reasons
FROM latest l JOIN evaluations e ON e.id = l.id JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate'
WHERE m.sm_clock_mhz IS NOT NULL ORDER BY m.id DESC LIMIT 300;
