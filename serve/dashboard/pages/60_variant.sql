-- Variant
-- variant: its number (integer, required)
--
-- @variant The variant
SELECT v.id AS variant, v.name AS template, d.name AS definition, substr(v.variant_hash, 1, 12) AS key,
       length(s.text) AS source_bytes
FROM variants v JOIN definitions d ON d.id = v.definition_id JOIN sources s ON s.id = v.source_id WHERE v.id = :variant;
-- @lasting Its address in every file that it is copied to
SELECT hex(uid) AS uid FROM variants WHERE id = :variant;
-- @tiles What was measured of it
WITH own AS MATERIALIZED (
  SELECT e.*, dev.kind FROM evaluations e JOIN devices dev ON dev.id = e.device_id JOIN proposals p ON p.id = e.proposal_id
  WHERE e.variant_id = :variant ORDER BY e.score_ns IS NULL, p.arm = 'final' DESC, e.id DESC LIMIT 50),
shown AS MATERIALIZED (SELECT * FROM own ORDER BY score_ns IS NULL, id DESC LIMIT 1),
best AS MATERIALIZED (
  SELECT b.variant, coalesce(b.score_us, b.emulated_cost_us) * 1000 AS score_ns, b.arch, b.device
  FROM shown s JOIN variants v ON v.id = s.variant_id JOIN definitions d ON d.id = v.definition_id
  JOIN devices dev ON dev.id = s.device_id JOIN searches q ON q.id = s.search_id
  JOIN best_kernels b ON b.definition = d.name AND b.device = dev.name AND b.device_kind = dev.kind AND b.arch = q.arch
  JOIN searches z ON z.id = b.search AND z.workloads_hash IS q.workloads_hash AND z.shapes IS q.shapes LIMIT 1),
kernels AS MATERIALIZED (
  SELECT max(k.registers) AS registers, max(k.spill_store_bytes) AS spilled, count(DISTINCT k.kernel) AS kernels
  FROM builds b JOIN build_kernels k ON k.build_id = b.id
  WHERE b.id = (SELECT max(id) FROM builds WHERE variant_id = :variant AND status = 'ok'))
SELECT iif(kind = 'emulator', 'estimated cost', 'score') AS label, quantity(score_ns, 'ns') AS value,
       'search ' || search_id AS note, NULL AS tone,
       (SELECT json_group_array(score_ns / 1000.0) FROM (SELECT score_ns FROM own WHERE score_ns IS NOT NULL AND device_id = shown.device_id ORDER BY id)) AS history
FROM shown WHERE score_ns IS NOT NULL
UNION ALL
SELECT 'time over the best', quantity(s.score_ns / b.score_ns, 'ratio'),
       iif(b.variant = :variant, 'this is the best of its definition on this device', 'the best is variant ' || b.variant),
       iif(b.variant = :variant, 'good', NULL), NULL
FROM shown s, best b WHERE s.score_ns / b.score_ns IS NOT NULL
UNION ALL
SELECT 'evaluations', (SELECT count(*) FROM evaluations WHERE variant_id = :variant),
       'the last ended ' || (SELECT status FROM own ORDER BY id DESC LIMIT 1),
       iif((SELECT status FROM own ORDER BY id DESC LIMIT 1) = 'ok', NULL, 'warn'), NULL FROM shown
UNION ALL
SELECT 'occupancy', printf('%.0f %%', 100 * occupancy_ratio), 'limited by ' || nullif(occupancy_limiter, ''), NULL, NULL
FROM own WHERE occupancy_ratio IS NOT NULL AND id = (SELECT max(id) FROM own WHERE occupancy_ratio IS NOT NULL)
UNION ALL
SELECT 'registers a thread', registers, iif(spilled > 0, spilled || ' bytes spilled', 'nothing spilled'), iif(spilled > 0, 'warn', NULL), NULL
FROM kernels WHERE registers IS NOT NULL;
-- @others What it can be compared with
SELECT p.parent_id AS other, 'its parent' AS what FROM variant_parents p WHERE p.variant_id = :variant
UNION
SELECT h.variant, 'the champion of search ' || h.search FROM evaluations e JOIN champions h ON h.search = e.search_id
WHERE e.variant_id = :variant AND h.variant <> :variant ORDER BY 1 LIMIT 8;
-- @members Which kernels it is a set of, and the shapes that each takes
SELECT m.number, m.condition AS shapes, m.member AS variant, v.name AS template, v.tunables
FROM kernel_members m JOIN variants v ON v.id = m.member WHERE m.variant = :variant AND m.member <> :variant ORDER BY m.number;
-- @set How near the set comes to the best known point of each shape
SELECT mean_ratio, worst_ratio, regret AS unseen_ratio, regret_low AS unseen_low_ratio, regret_high AS unseen_high_ratio,
       held_out_shapes AS unseen_shapes, prepared_copies
FROM kernel_sets WHERE id = (SELECT id FROM kernel_sets WHERE variant_id = :variant ORDER BY began_at DESC, uid DESC LIMIT 1);
-- @set_shapes The set on each shape: those that it was learned from, and those never seen
SELECT w.name AS workload, w.axes, iif(x.held_out, 'never seen', 'timed') AS kind, x.member AS number,
       iif(EXISTS (SELECT 1 FROM devices v WHERE v.id = s.device_id AND v.kind = 'cuda'), x.member_ns / 1000, NULL) AS time_us,
       iif(EXISTS (SELECT 1 FROM devices v WHERE v.id = s.device_id AND v.kind = 'cuda'), x.best_ns / 1000, NULL) AS best_us,
       x.member_ns / x.best_ns AS over_best_ratio
FROM set_shapes x JOIN workloads w ON w.id = x.workload_id
JOIN searches s ON s.id = (SELECT max(t.search_id) FROM set_searches t WHERE t.set_id = x.set_id AND t.role = 'set')
WHERE x.set_id = (SELECT id FROM kernel_sets WHERE variant_id = :variant ORDER BY began_at DESC, uid DESC LIMIT 1)
ORDER BY x.held_out, w.name LIMIT 200;
-- @tunables Its point
SELECT key AS tunable, value FROM variants v, json_each(v.tunables) WHERE v.id = :variant LIMIT 100;
-- @source Its source
SELECT v.name AS title, substr(s.text, 1, 300000) AS text
FROM variants v JOIN sources s ON s.id = v.source_id WHERE v.id = :variant;
-- @marks What is known of lines: shares of warps' samples of the latest profile that sampled them, and findings
WITH profile AS (
  SELECT max(e.id) AS id FROM evaluations e WHERE e.variant_id = :variant
    AND EXISTS (SELECT 1 FROM metrics k WHERE k.evaluation_id = e.id AND k.name LIKE 'line/%')),
samples AS MATERIALIZED (
  SELECT CAST(substr(name, 6) AS INTEGER) AS line, substr(name, 6 + instr(substr(name, 6), '/')) AS reason, total(value) AS value
  FROM metrics WHERE evaluation_id = (SELECT id FROM profile) AND name LIKE 'line/%' GROUP BY 1, 2)
SELECT line, 100.0 * sum(value) / (SELECT sum(value) FROM samples) AS share_pct,
       (SELECT group_concat(reason || printf(' %.0f %%', 100 * value / (SELECT sum(b.value) FROM samples b WHERE b.line = s.line)), ', ')
        FROM (SELECT a.reason, a.value FROM samples a WHERE a.line = s.line ORDER BY a.value DESC LIMIT 3)) AS note
FROM samples s GROUP BY line
UNION ALL
SELECT * FROM (
  SELECT json_extract(f.value, '$.line'), NULL,
         json_extract(f.value, '$.severity') || ': ' || substr(json_extract(f.value, '$.message'), 1, 300)
  FROM evaluations e, json_each(e.diagnostics) f WHERE e.variant_id = :variant ORDER BY e.id DESC LIMIT 60)
LIMIT 2000;
-- @assembly What was compiled from it, where the build cache of this machine still has it
SELECT 'PTX of ' || k.kernel || ' for ' || b.arch AS title, cached_ptx(b.build_key, k.lowered_name) AS text
FROM builds b JOIN build_kernels k ON k.build_id = b.id
WHERE b.id = (SELECT max(id) FROM builds WHERE variant_id = :variant AND status = 'ok') AND text <> ''
ORDER BY length(text) DESC LIMIT 1;
-- @hot Lines of its source on which its warps spend most of their time, of the latest profile that sampled them
WITH profile AS (
  SELECT max(e.id) AS id FROM evaluations e WHERE e.variant_id = :variant
    AND EXISTS (SELECT 1 FROM metrics k WHERE k.evaluation_id = e.id AND k.name LIKE 'line/%')),
samples AS (
  SELECT workload_id, kernel, CAST(substr(name, 6) AS INTEGER) AS line,
         substr(name, 6 + instr(substr(name, 6), '/')) AS reason, value
  FROM metrics WHERE evaluation_id = (SELECT id FROM profile) AND name LIKE 'line/%'),
-- The source as a JSON list of lines; backslashes are replaced while the line ends are found.
lines AS (
  SELECT j.key + 1 AS line, replace(j.value, char(1), char(92)) AS text
  FROM variants v JOIN sources s ON s.id = v.source_id,
       json_each('[' || replace(json_quote(replace(substr(s.text, 1, 300000), char(92), char(1))), '\n', '","') || ']') j
  WHERE v.id = :variant AND (SELECT id FROM profile) IS NOT NULL)
SELECT w.name AS workload, s.kernel, nullif(s.line, 0) AS line,
       100.0 * sum(s.value) / (SELECT sum(a.value) FROM samples a WHERE a.workload_id = s.workload_id) AS time_pct,
       (SELECT a.reason FROM samples a WHERE a.workload_id = s.workload_id AND a.kernel = s.kernel AND a.line = s.line
        ORDER BY a.value DESC LIMIT 1) AS mostly,
       iif(s.line = 0, 'no line of this file: headers, the compiler''s own', trim((SELECT l.text FROM lines l WHERE l.line = s.line))) AS source
FROM samples s JOIN workloads w ON w.id = s.workload_id
GROUP BY s.workload_id, s.kernel, s.line ORDER BY s.workload_id, sum(s.value) DESC LIMIT 40;
-- @roofline Its times under the limits of the device
SELECT 1.0 * w.flops / (w.bytes_read + w.bytes_written) AS intensity_flop_per_byte,
       w.flops / min(m.median_ns) / 1000.0 AS throughput_tflops, dev.name AS device, w.name AS workload
FROM evaluations e JOIN devices dev ON dev.id = e.device_id
JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate' AND m.cold = 1 AND m.method <> 'emulator'
JOIN workloads w ON w.id = m.workload_id AND w.flops > 0 AND w.bytes_read + w.bytes_written > 0
WHERE e.variant_id = :variant AND e.status = 'ok' GROUP BY dev.name, w.id LIMIT 100;
-- @roofs Limits of the devices
SELECT DISTINCT dev.name AS facet, l.label, l.peak_tflops, l.peak_gbps FROM variants v
JOIN device_limits l ON l.definition = v.definition_id JOIN devices dev ON dev.id = l.device_id
WHERE v.id = :variant AND dev.kind = 'cuda' LIMIT 20;
-- @history Its scores, and those of the champions of its definition on the same shapes, in the order of time
WITH own AS MATERIALIZED (
  SELECT e.ended_at, 'this variant' AS who, e.score_ns / 1000.0 AS score_us, e.variant_id AS variant, e.search_id AS search
  FROM evaluations e JOIN devices dev ON dev.id = e.device_id AND dev.kind <> 'emulator'
  WHERE e.variant_id = :variant AND e.status = 'ok' AND e.score_ns IS NOT NULL),
shaped AS MATERIALIZED (SELECT search, shapes, shapes_number FROM search_shapes)
SELECT row_number() OVER (ORDER BY c.ended_at, c.who) AS number, c.ended_at, t.shapes, c.who, c.score_us, c.variant, c.search
FROM (
  SELECT * FROM own
  UNION ALL
  SELECT e.ended_at, 'champions of its definition', h.score_ns / 1000.0, h.variant, h.search
  FROM searches s CROSS JOIN champions h ON h.search = s.id JOIN evaluations e ON e.id = h.evaluation
  JOIN devices dev ON dev.id = s.device_id AND dev.kind <> 'emulator'
  WHERE s.definition_id = (SELECT definition_id FROM variants WHERE id = :variant) AND s.best_variant_id IS NOT NULL) c
JOIN shaped t ON t.search = c.search
WHERE t.shapes_number IN (SELECT o.shapes_number FROM own JOIN shaped o ON o.search = own.search)
ORDER BY number LIMIT 300;
-- @evaluations The result
SELECT e.id AS evaluation, e.search_id AS search, e.status, e.stage, e.gate, dev.name AS device, p.proposer,
       p.arm, e.depth, iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, e.occupancy_ratio,
       e.occupancy_limiter, e.shared_bytes, substr(e.message, 1, 400) AS message, e.total_ms, e.ended_at
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN devices dev ON dev.id = e.device_id
WHERE e.variant_id = :variant ORDER BY e.id DESC LIMIT 50;
-- @diagnostics What was found, by line
SELECT e.id AS evaluation, json_extract(f.value, '$.severity') AS severity, json_extract(f.value, '$.line') AS line,
       substr(json_extract(f.value, '$.message'), 1, 600) AS message,
       json_extract(f.value, '$.details.kind') AS kind,
       substr(json_extract(f.value, '$.details.advice'), 1, 300) AS advice
FROM evaluations e, json_each(e.diagnostics) f WHERE e.variant_id = :variant ORDER BY e.id DESC LIMIT 60;
-- @measurements Its times
SELECT m.id AS measurement, e.search_id AS search, w.name AS workload, m.role, m.label, m.method, m.cold,
       iif(m.method <> 'emulator', m.median_ns, NULL) / 1000.0 AS median_us,
       iif(m.method <> 'emulator', m.ci_low_ns, NULL) / 1000.0 AS ci_low_us,
       iif(m.method <> 'emulator', m.ci_high_ns, NULL) / 1000.0 AS ci_high_us,
       iif(m.method = 'emulator', m.median_ns, NULL) / 1000.0 AS emulated_cost_us,
       length(m.samples) / 4 AS samples, m.launches_per_sample,
       w.flops / iif(m.method <> 'emulator', m.median_ns, NULL) / 1000.0 AS throughput_tflops,
       (w.bytes_read + w.bytes_written) / iif(m.method <> 'emulator', m.median_ns, NULL) AS memory_gbps,
       m.sm_clock_mhz, m.temperature_c, m.power_w, m.throttle_reasons
FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id JOIN workloads w ON w.id = m.workload_id
WHERE e.variant_id = :variant ORDER BY e.id DESC, w.id LIMIT 80;
-- @samples Every sample of its latest measurements
WITH latest AS (
  SELECT m.samples, m.launches_per_sample, w.name AS workload
  FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id JOIN workloads w ON w.id = m.workload_id
  WHERE e.variant_id = :variant AND m.role = 'candidate' AND m.method <> 'emulator' ORDER BY e.id DESC, w.id LIMIT 8)
SELECT l.workload, s.key + 1 AS number,
       s.value / 1000.0 / l.launches_per_sample AS sample_us
FROM latest l, json_each(sample_values(l.samples)) s LIMIT 4000;
-- @comparisons Times in pairs with the champion of the time
SELECT c.search, c.workload, c.champion, c.challenger_us, c.champion_us, c.ratio, c.pairs, c.status,
       substr(c.message, 1, 200) AS message
FROM evaluations e JOIN comparisons c ON c.evaluation = e.id WHERE e.variant_id = :variant LIMIT 30;
-- @predictions Times predicted
SELECT p.search, p.workload, p.model, p.limiter, p.predicted_us, p.low_us, p.high_us, p.measured_us,
       100 * p.error AS error_pct
FROM evaluations e JOIN prediction_errors p ON p.search = e.search_id AND p.variant = e.variant_id
WHERE e.variant_id = :variant LIMIT 30;
-- @checks Its outputs compared with the reference
SELECT e.id AS evaluation, w.name AS workload, c.distribution, c.tensor, c.passed, c.max_error, c.mean_error,
       c.tolerance, c.worst_index, c.worst_expected, c.worst_got, c.nonfinite_mismatches
FROM evaluations e JOIN checks c ON c.evaluation_id = e.id JOIN workloads w ON w.id = c.workload_id
WHERE e.variant_id = :variant ORDER BY c.passed, c.max_error / c.tolerance DESC LIMIT 60;
-- @family Its line, the oldest first
WITH RECURSIVE line (variant) AS (
  SELECT :variant
  UNION
  SELECT p.parent_id FROM line l JOIN variant_parents p ON p.variant_id = l.variant LIMIT 200)
SELECT v.id AS id, (SELECT min(p.parent_id) FROM variant_parents p WHERE p.variant_id = v.id) AS parent, v.name AS label,
       (SELECT e.status FROM evaluations e WHERE e.variant_id = v.id ORDER BY e.id LIMIT 1) AS status, v.id AS variant,
       (SELECT p.arm FROM proposals p JOIN evaluations e ON e.proposal_id = p.id WHERE e.variant_id = v.id ORDER BY e.id LIMIT 1)
         AS arm,
       (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables, iif(v.id <> :variant AND EXISTS (SELECT 1 FROM variant_parents p WHERE p.variant_id = v.id),
                       'step?step=' || v.id, NULL) AS address
FROM line l JOIN variants v ON v.id = l.variant
WHERE (SELECT count(*) FROM line) > 1 ORDER BY v.id LIMIT 60;
-- @answer The answer it came from
SELECT c.arm || ': ' || c.model AS title, iif(c.status = 'ok', 'ok', iif(c.status = 'sent', 'running', 'failed')) AS status, nullif(nullif(c.status, 'ok'), 'sent') AS fault,
       c.id AS call, c.reward, c.cost_usd, c.answer AS text
FROM llm_calls c WHERE c.id = (
  SELECT min(p.llm_call_id) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id WHERE e.variant_id = :variant);
-- @diff What distinguishes it from its parent
SELECT 'variant ' || b.id || ' to ' || a.id AS title,
       unified_diff(
         (SELECT group_concat(key || ' = ' || value, char(10)) FROM json_each(b.tunables)) || char(10)
         || substr(sb.text, 1, 300000),
         (SELECT group_concat(key || ' = ' || value, char(10)) FROM json_each(a.tunables)) || char(10)
         || substr(sa.text, 1, 300000)
       ) AS text
FROM variants a JOIN variant_parents p ON p.variant_id = a.id JOIN variants b ON b.id = p.parent_id
JOIN sources sa ON sa.id = a.source_id JOIN sources sb ON sb.id = b.source_id
WHERE a.id = :variant ORDER BY b.id LIMIT 3;
-- @builds Its builds
SELECT b.arch, b.nvrtc_version AS nvrtc, b.status, b.cubin_bytes, b.compile_ms, b.cache_hit, k.kernel, k.registers,
       k.static_shared_bytes, k.spill_store_bytes, k.spill_load_bytes, k.stack_bytes, k.occupancy_ratio
FROM builds b LEFT JOIN build_kernels k ON k.build_id = b.id WHERE b.variant_id = :variant ORDER BY b.id DESC LIMIT 20;
-- @logs What the compiler said
SELECT b.arch || ', NVRTC ' || b.nvrtc_version AS title, substr(b.log, 1, 20000) AS text
FROM builds b WHERE b.variant_id = :variant AND b.log <> '' ORDER BY b.id DESC LIMIT 3;
-- @counters Its counters, of the latest evaluation that has any
SELECT coalesce(w.name, '') AS workload, m.kernel, m.name AS counter, m.value, m.unit
FROM metrics m LEFT JOIN workloads w ON w.id = m.workload_id
WHERE m.evaluation_id = (SELECT max(e.id) FROM evaluations e WHERE e.variant_id = :variant
                         AND EXISTS (SELECT 1 FROM metrics k WHERE k.evaluation_id = e.id))
  AND m.name NOT LIKE 'line/%'
ORDER BY m.workload_id, m.kernel, m.name LIMIT 300;
-- @commands What to type in a terminal
SELECT 'Explain it' AS title, 'alphakernel explain ' || id AS text FROM variants WHERE id = :variant
UNION ALL SELECT 'Export it', 'alphakernel export ' || id || ' --output kernel/' FROM variants WHERE id = :variant
UNION ALL SELECT 'Profile it on this machine''s GPU', 'alphakernel profile ' || id || ' --device cuda' FROM variants WHERE id = :variant;
