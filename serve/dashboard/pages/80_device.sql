-- Device
-- device: its name (text, required)
--
-- @device What is known of it
SELECT id AS number, name AS device, kind, uuid, arch, sm_count, l2_bytes, memory_bytes, peak_bandwidth_gbps
FROM devices WHERE name = :device ORDER BY id LIMIT 20;
-- @facts All that was known when it was first seen
SELECT DISTINCT j.key AS fact, j.value FROM devices, json_each(devices.facts) j WHERE devices.name = :device LIMIT 60;
-- @best The fastest verified kernels on it
WITH boards AS MATERIALIZED (
  SELECT DISTINCT definition_id, device_id, arch FROM searches
  WHERE device_id IN (SELECT id FROM devices WHERE name = :device)),
leaders AS MATERIALIZED (
  SELECT (SELECT c.evaluation_id FROM scores c
          WHERE c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch
          ORDER BY c.score_ns LIMIT 1) AS evaluation
  FROM boards b)
SELECT d.name AS definition, iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, v.id AS variant, s.arch,
       s.id AS search, v.name AS template, v.tunables
FROM leaders l JOIN evaluations e ON e.id = l.evaluation JOIN searches s ON s.id = e.search_id
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN devices dev ON dev.id = e.device_id ORDER BY definition, s.arch LIMIT 100;
-- @searches Its latest searches
SELECT s.id AS search, d.name AS definition, s.arch, s.status, s.proposer, s.strategy, s.best_variant_id AS variant,
       (SELECT count(*) FROM evaluations e WHERE e.search_id = s.id) AS evaluations, s.started_at, s.reason
FROM searches s JOIN definitions d ON d.id = s.definition_id
JOIN devices dev ON dev.id = s.device_id AND dev.name = :device ORDER BY s.id DESC LIMIT 40;
-- @clocks Clocks, heat and power of its latest measurements
WITH latest AS (
  SELECT e.id FROM evaluations e JOIN devices dev ON dev.id = e.device_id AND dev.name = :device
  WHERE e.score_ns IS NOT NULL ORDER BY e.id DESC LIMIT 200)
SELECT row_number() OVER (ORDER BY m.id) AS number, m.sm_clock_mhz, m.memory_clock_mhz, m.temperature_c,
       m.power_w, m.throttle_reasons
FROM latest l JOIN evaluations e ON e.id = l.id JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate'
WHERE m.sm_clock_mhz IS NOT NULL ORDER BY m.id DESC LIMIT 300;
