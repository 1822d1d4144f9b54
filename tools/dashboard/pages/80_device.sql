-- Device
-- device: its name (text, required)
--
-- @device What is known of it
SELECT id AS number, name AS device, kind, uuid, arch, sm_count, l2_bytes, memory_bytes, peak_bandwidth_gbps
FROM devices WHERE name = :device ORDER BY id LIMIT 20;
-- @facts All that was known when it was first seen
SELECT DISTINCT j.key AS fact, j.value FROM devices, json_each(devices.facts) j WHERE devices.name = :device LIMIT 60;
-- @best The fastest kernels that sessions ended with on it
WITH champions AS MATERIALIZED (
  SELECT s.id, s.definition_id, s.arch, s.best_variant_id, dev.kind,
         (SELECT min(e.score_ns) FROM evaluations e WHERE e.variant_id = s.best_variant_id AND e.session_id = s.id
          AND e.status = 'ok') AS score_ns
  FROM sessions s JOIN devices dev ON dev.id = s.device_id AND dev.name = :device
  WHERE s.best_variant_id IS NOT NULL ORDER BY s.id DESC LIMIT 2000)
SELECT d.name AS definition, iif(c.kind <> 'emulator', min(c.score_ns), NULL) / 1000.0 AS score_us,
       iif(c.kind = 'emulator', min(c.score_ns), NULL) / 1000.0 AS emulated_cost_us, c.best_variant_id AS variant,
       c.arch, c.id AS session, v.name AS template, v.tunables
FROM champions c JOIN definitions d ON d.id = c.definition_id JOIN variants v ON v.id = c.best_variant_id
WHERE c.score_ns IS NOT NULL
GROUP BY c.definition_id, c.arch ORDER BY definition, c.arch LIMIT 60;
-- @sessions Its latest sessions
SELECT s.id AS session, d.name AS definition, s.arch, s.status, s.proposer, s.strategy, s.best_variant_id AS variant,
       (SELECT count(*) FROM evaluations e WHERE e.session_id = s.id) AS evaluations, s.started_at, s.reason
FROM sessions s JOIN definitions d ON d.id = s.definition_id
JOIN devices dev ON dev.id = s.device_id AND dev.name = :device ORDER BY s.id DESC LIMIT 40;
-- @clocks Clocks, heat and power of its latest measurements
WITH latest AS (
  SELECT e.id FROM evaluations e JOIN devices dev ON dev.id = e.device_id AND dev.name = :device
  WHERE e.score_ns IS NOT NULL ORDER BY e.id DESC LIMIT 200)
SELECT row_number() OVER (ORDER BY m.id) AS number, m.sm_clock_mhz, m.memory_clock_mhz, m.temperature_c,
       m.power_w, m.throttle_reasons
FROM latest l JOIN evaluations e ON e.id = l.id JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate'
WHERE m.sm_clock_mhz IS NOT NULL ORDER BY m.id DESC LIMIT 300;
