-- Definition
-- definition: its name (text, required)
-- x: Heat map: across (text)
-- y: Heat map: down (text)
--
-- @definition The definition
SELECT d.name AS definition, d.problem, d.params,
       (SELECT count(*) FROM searches s WHERE s.definition_id = d.id) AS searches,
       (SELECT count(*) FROM workloads w WHERE w.definition_id = d.id AND w.timed = 1) AS timed_shapes
FROM definitions d WHERE d.name = :definition;
-- @about What it computes
SELECT name AS definition, json_extract(definition, '$.description') AS description FROM definitions
WHERE name = :definition;
-- @leaders The fastest variants on each device
WITH boards AS MATERIALIZED (
  SELECT DISTINCT s.definition_id, s.device_id, s.arch, s.workloads_hash, s.shapes, dev.name AS device, dev.kind
  FROM searches s JOIN devices dev ON dev.id = s.device_id
  WHERE s.definition_id IN (SELECT id FROM definitions WHERE name = :definition)),
champion AS MATERIALIZED (SELECT search, evaluation, score_ns FROM champions),
-- As the view `leaderboard` places them; of each device no more than can have one of the first ten places.
placed AS (
  SELECT b.device, b.kind, c.*,
         rank() OVER (PARTITION BY b.definition_id, b.kind, b.device, b.arch, b.workloads_hash, b.shapes
                      ORDER BY max(c.score_ns, ifnull(h.score_ns, 0)), h.evaluation IS NOT c.evaluation_id, c.score_ns) AS place
  FROM boards b CROSS JOIN scores c
    ON c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch
    AND c.score_ns <= ifnull((SELECT max(max(t.score_ns, ifnull(m.score_ns, 0)))
                              FROM (SELECT u.score_ns, u.search_id FROM scores u
                                    CROSS JOIN searches q ON q.id = u.search_id AND q.workloads_hash IS b.workloads_hash AND q.shapes IS b.shapes
                                    WHERE u.definition_id = b.definition_id AND u.device_id = b.device_id AND u.arch = b.arch
                                    ORDER BY u.score_ns LIMIT 10) t
                              LEFT JOIN champion m ON m.search = t.search_id), 9e999)
  CROSS JOIN searches s ON s.id = c.search_id AND s.workloads_hash IS b.workloads_hash AND s.shapes IS b.shapes
  LEFT JOIN champion h ON h.search = c.search_id)
SELECT p.device, p.arch, t.shapes, p.place, p.variant_id AS variant,
       iif(p.kind <> 'emulator', p.score_ns, NULL) / 1000.0 AS score_us,
       iif(p.kind = 'emulator', p.score_ns, NULL) / 1000.0 AS emulated_cost_us, p.search_id AS search,
       v.name AS template, (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables
FROM placed p JOIN variants v ON v.id = p.variant_id JOIN search_shapes t ON t.search = p.search_id
WHERE p.place <= 10
ORDER BY p.kind = 'emulator', p.device, p.arch, t.shapes_number, p.place LIMIT 80;
-- @by_search Best score of each search
SELECT h.search, s.started_at, dev.name AS device, t.shapes, h.variant, h.score_ns / 1000.0 AS best_us
FROM searches s CROSS JOIN champions h ON h.search = s.id JOIN devices dev ON dev.id = s.device_id
JOIN search_shapes t ON t.search = s.id
WHERE s.definition_id IN (SELECT id FROM definitions WHERE name = :definition) AND dev.kind <> 'emulator'
  AND s.best_variant_id IS NOT NULL ORDER BY s.started_at DESC, s.id DESC LIMIT 200;
-- @roofline The fastest variant of each search under the limits of its device
WITH recent AS MATERIALIZED (
  SELECT h.search, h.variant, h.evaluation, s.device_id FROM searches s CROSS JOIN champions h ON h.search = s.id
  WHERE s.definition_id IN (SELECT id FROM definitions WHERE name = :definition) AND s.best_variant_id IS NOT NULL
  ORDER BY s.started_at DESC, s.id DESC LIMIT 40)
SELECT 1.0 * w.flops / (w.bytes_read + w.bytes_written) AS intensity_flop_per_byte,
       w.flops / min(m.median_ns) / 1000.0 AS throughput_tflops, dev.name AS device,
       w.name AS workload, c.variant
FROM recent c
JOIN measurements m ON m.evaluation_id = c.evaluation AND m.role = 'candidate' AND m.cold = 1 AND m.method <> 'emulator'
JOIN workloads w ON w.id = m.workload_id AND w.flops > 0 AND w.bytes_read + w.bytes_written > 0
JOIN devices dev ON dev.id = c.device_id
GROUP BY c.search, w.id LIMIT 300;
-- @roofs Limits of the devices
SELECT DISTINCT dev.name AS facet, l.label, l.peak_tflops, l.peak_gbps FROM device_limits l
JOIN devices dev ON dev.id = l.device_id
WHERE l.definition IN (SELECT id FROM definitions WHERE name = :definition) AND dev.kind = 'cuda' LIMIT 20;
-- @front Of the 300 fastest on each device and shapes, those that no other beats in time, energy, error and shared memory at once
WITH boards AS MATERIALIZED (
  SELECT DISTINCT definition_id, device_id, arch, workloads_hash, shapes FROM searches
  WHERE definition_id IN (SELECT id FROM definitions WHERE name = :definition)),
fastest AS MATERIALIZED (
  SELECT b.workloads_hash, b.shapes, c.*
  FROM boards b CROSS JOIN scores c
    ON c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch AND c.searched = 1
    AND c.score_ns <= ifnull((SELECT u.score_ns FROM scores u
                              CROSS JOIN searches q ON q.id = u.search_id AND q.workloads_hash IS b.workloads_hash AND q.shapes IS b.shapes
                              WHERE u.definition_id = b.definition_id AND u.device_id = b.device_id AND u.arch = b.arch
                              ORDER BY u.score_ns LIMIT 1 OFFSET 299), 9e999)
  CROSS JOIN searches s ON s.id = c.search_id AND s.workloads_hash IS b.workloads_hash AND s.shapes IS b.shapes),
points AS MATERIALIZED (
  SELECT f.device_id, f.arch, f.workloads_hash, f.shapes, f.search_id, f.variant_id, min(f.score_ns) AS score_ns,
         coalesce(f.shared_bytes, 0) AS shared_bytes,
         coalesce((SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = f.evaluation_id), 0) AS max_error,
         (SELECT max(k.value) FROM metrics k WHERE k.evaluation_id = f.evaluation_id AND k.name = 'energy/joule')
           AS energy_joule
  FROM fastest f GROUP BY f.device_id, f.arch, f.workloads_hash, f.shapes, f.variant_id)
SELECT dev.name AS device, a.arch, t.shapes, a.variant_id AS variant,
       iif(dev.kind <> 'emulator', a.score_ns, NULL) / 1000.0 AS score_us,
       iif(dev.kind = 'emulator', a.score_ns, NULL) / 1000.0 AS emulated_cost_us, a.energy_joule, a.max_error,
       a.shared_bytes, v.name AS template, (SELECT group_concat(key || '=' || value, ' ') FROM json_each(v.tunables)) AS tunables
FROM points a JOIN devices dev ON dev.id = a.device_id JOIN variants v ON v.id = a.variant_id
JOIN search_shapes t ON t.search = a.search_id
WHERE NOT EXISTS (
  SELECT 1 FROM points b
  WHERE b.device_id = a.device_id AND b.arch = a.arch AND b.workloads_hash IS a.workloads_hash AND b.shapes IS a.shapes
    AND b.score_ns <= a.score_ns AND b.max_error <= a.max_error AND b.shared_bytes <= a.shared_bytes
    AND coalesce(b.energy_joule <= a.energy_joule, 1)
    AND (b.score_ns < a.score_ns OR b.max_error < a.max_error OR b.shared_bytes < a.shared_bytes
         OR coalesce(b.energy_joule < a.energy_joule, 0)))
ORDER BY device, a.arch, t.shapes_number, a.score_ns LIMIT 100;
-- @x Tunables for the heat map, across
WITH best AS MATERIALIZED (
  SELECT search, variant FROM best_kernels WHERE definition = :definition AND device_kind = 'cuda'
  ORDER BY shapes_number, score_us LIMIT 1),
points AS MATERIALIZED (
  SELECT v.id, v.tunables, v.source_id, min(e.score_ns) AS score_ns
  FROM best b JOIN evaluations e ON e.search_id = b.search AND e.status = 'ok' AND e.score_ns IS NOT NULL
  JOIN variants v ON v.id = e.variant_id GROUP BY v.id LIMIT 3000)
SELECT DISTINCT j.key FROM points, json_each(points.tunables) j ORDER BY j.key LIMIT 100;
-- @y Tunables for the heat map, down
WITH best AS MATERIALIZED (
  SELECT search, variant FROM best_kernels WHERE definition = :definition AND device_kind = 'cuda'
  ORDER BY shapes_number, score_us LIMIT 1),
points AS MATERIALIZED (
  SELECT v.id, v.tunables, v.source_id, min(e.score_ns) AS score_ns
  FROM best b JOIN evaluations e ON e.search_id = b.search AND e.status = 'ok' AND e.score_ns IS NOT NULL
  JOIN variants v ON v.id = e.variant_id GROUP BY v.id LIMIT 3000)
SELECT DISTINCT j.key FROM points, json_each(points.tunables) j ORDER BY j.key LIMIT 100;
-- @space Best time at each point of two tunables, in the search that found the fastest kernel
WITH best AS MATERIALIZED (
  SELECT search, variant FROM best_kernels WHERE definition = :definition AND device_kind = 'cuda'
  ORDER BY shapes_number, score_us LIMIT 1),
points AS MATERIALIZED (
  SELECT v.id, v.tunables, v.source_id, min(e.score_ns) AS score_ns
  FROM best b JOIN evaluations e ON e.search_id = b.search AND e.status = 'ok' AND e.score_ns IS NOT NULL
  JOIN variants v ON v.id = e.variant_id GROUP BY v.id LIMIT 3000),
-- Without a choice: the two tunables of which the fastest source had most values.
own AS MATERIALIZED (
  SELECT j.key, row_number() OVER (ORDER BY count(DISTINCT j.value) DESC, j.key) AS place
  FROM points, json_each(points.tunables) j
  WHERE points.source_id = (SELECT source_id FROM points ORDER BY score_ns LIMIT 1)
    AND (:x IS NULL OR j.key <> :x) AND (:y IS NULL OR j.key <> :y)
  GROUP BY j.key HAVING count(DISTINCT j.value) > 1)
SELECT a.value AS x, b.value AS y, min(points.score_ns) / 1000.0 AS best_us, count(*) AS points, a.key AS x_tunable, b.key AS y_tunable
FROM points, json_each(points.tunables) a, json_each(points.tunables) b
WHERE a.key = coalesce(:x, (SELECT key FROM own WHERE place = 1))
  AND b.key = coalesce(:y, (SELECT key FROM own WHERE place = 1 + (:x IS NULL)))
GROUP BY a.value, b.value ORDER BY a.value, b.value LIMIT 1000;
-- @shapes Its timed shapes
SELECT w.name AS workload, w.axes, w.tier, w.weight, w.flops, w.bytes_read, w.bytes_written
FROM workloads w
WHERE w.definition_id IN (SELECT id FROM definitions WHERE name = :definition) AND w.timed = 1
ORDER BY w.id DESC LIMIT 60;
