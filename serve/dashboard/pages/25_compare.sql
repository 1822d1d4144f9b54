-- Compare
-- a: Variant (integer)
-- b: with variant (integer)
--
-- @pair The two
SELECT a.id AS a, b.id AS b, da.name AS a_definition, db.name AS b_definition
FROM variants a JOIN variants b ON b.id = :b JOIN definitions da ON da.id = a.definition_id JOIN definitions db ON db.id = b.definition_id
WHERE a.id = :a;
-- @given What was asked for
SELECT :a AS a, :b AS b WHERE :a IS NOT NULL OR :b IS NOT NULL;
-- @variants What they are
SELECT v.id AS variant, d.name AS definition, v.name AS template, (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables, e.status, dev.name AS device,
       iif(dev.kind <> 'emulator', e.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', e.score_ns, NULL) / 1000.0 AS emulated_cost_us, e.occupancy_ratio, e.shared_bytes,
       (SELECT max(k.registers) FROM build_kernels k WHERE k.build_id = e.build_id) AS registers, e.search_id AS search
FROM variants v JOIN definitions d ON d.id = v.definition_id
LEFT JOIN evaluations e ON e.id = (SELECT f.id FROM evaluations f WHERE f.variant_id = v.id
                                   ORDER BY f.status = 'ok' AND f.score_ns IS NOT NULL DESC, f.id DESC LIMIT 1)
LEFT JOIN devices dev ON dev.id = e.device_id WHERE v.id IN (:a, :b) ORDER BY v.id = :b;
-- @pairs Timed alternately, the one against the other
SELECT c.search, c.workload, c.challenger AS variant, c.champion, c.challenger_us, c.champion_us, c.ratio, c.pairs, c.status,
       substr(c.message, 1, 200) AS message
FROM evaluations e JOIN comparisons c ON c.evaluation = e.id
WHERE e.variant_id IN (:a, :b) AND c.champion IN (:a, :b) AND c.challenger <> c.champion ORDER BY c.evaluation DESC LIMIT 40;
-- @times Their times on the same shapes of the same device, apart from each other
WITH times AS MATERIALIZED (
  SELECT e.variant_id, w.name AS workload, w.id AS workload_id, dev.name AS device, m.median_ns, m.ci_low_ns, m.ci_high_ns,
         row_number() OVER (PARTITION BY e.variant_id, w.name, dev.name ORDER BY e.id DESC) AS age
  FROM evaluations e JOIN proposals p ON p.id = e.proposal_id AND p.arm <> 'comparison'
  JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate' AND m.cold = 1 AND m.method <> 'emulator'
  JOIN workloads w ON w.id = m.workload_id JOIN devices dev ON dev.id = e.device_id
  WHERE e.variant_id IN (:a, :b) AND e.status = 'ok')
SELECT a.workload, a.device, a.median_ns / 1000.0 AS a_us, b.median_ns / 1000.0 AS b_us, b.median_ns / a.median_ns AS b_over_a_ratio,
       iif(a.ci_high_ns < b.ci_low_ns, 'a is faster', iif(b.ci_high_ns < a.ci_low_ns, 'b is faster', 'intervals overlap')) AS verdict,
       a.ci_low_ns / 1000.0 AS a_low_us, a.ci_high_ns / 1000.0 AS a_high_us, b.ci_low_ns / 1000.0 AS b_low_us,
       b.ci_high_ns / 1000.0 AS b_high_us
FROM times a JOIN times b ON b.workload = a.workload AND b.device = a.device AND b.age = 1 AND b.variant_id = :b
WHERE a.variant_id = :a AND a.age = 1 ORDER BY a.workload_id LIMIT 100;
-- @tunables Tunables in which they differ
WITH own AS (SELECT v.id, j.key, j.value FROM variants v, json_each(v.tunables) j WHERE v.id IN (:a, :b))
SELECT key AS tunable, max(iif(id = :a, value, NULL)) AS a, max(iif(id = :b, value, NULL)) AS b FROM own
GROUP BY key HAVING a IS NOT b ORDER BY key LIMIT 100;
-- @diff Their sources
SELECT 'variant ' || a.id || ' and variant ' || b.id AS title,
       unified_diff(substr(sa.text, 1, 300000), substr(sb.text, 1, 300000)) AS text
FROM variants a JOIN sources sa ON sa.id = a.source_id JOIN variants b ON b.id = :b JOIN sources sb ON sb.id = b.source_id
WHERE a.id = :a AND a.source_id <> b.source_id;
-- @counters Counters that both have, those that differ most first
WITH own AS MATERIALIZED (
  SELECT e.variant_id, e.device_id, w.name AS workload, m.name, m.unit, total(m.value) AS value
  FROM metrics m JOIN evaluations e ON e.id = m.evaluation_id LEFT JOIN workloads w ON w.id = m.workload_id
  WHERE m.evaluation_id IN (
      SELECT max(x.id) FROM evaluations x WHERE x.variant_id IN (:a, :b)
      AND EXISTS (SELECT 1 FROM metrics k WHERE k.evaluation_id = x.id) GROUP BY x.variant_id, x.device_id)
    AND m.name NOT LIKE 'line/%' GROUP BY e.variant_id, e.device_id, w.name, m.name)
SELECT a.name AS counter, a.workload, a.value AS a, b.value AS b, b.value / nullif(a.value, 0) AS b_over_a_ratio, a.unit,
       d.name AS device
FROM own a JOIN own b ON b.variant_id = :b AND b.device_id = a.device_id AND b.name = a.name AND b.workload IS a.workload
JOIN devices d ON d.id = a.device_id
WHERE a.variant_id = :a AND a.value IS NOT b.value
ORDER BY abs(ln(max(1e-9, abs(b.value)) / max(1e-9, abs(a.value)))) DESC, counter LIMIT 120;
