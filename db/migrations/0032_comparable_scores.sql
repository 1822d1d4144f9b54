-- Schema version 32. One number says which scores of a definition compare, and in which order their boards come.

-- The problem's own shapes are those of the search that began last and has a score. Part of a set is also what was
-- searched for one of several shapes that the caller gave.
DROP VIEW search_shapes;
CREATE VIEW search_shapes AS
SELECT search, shapes,
       dense_rank() OVER (PARTITION BY definition_id
                          ORDER BY shapes <> 'own', shapes <> 'own, earlier', shapes = 'part of a set', shapes, workloads_hash) AS shapes_number
FROM (SELECT search, definition_id, workloads_hash,
             CASE WHEN of_part THEN 'part of a set'
                  WHEN shapes IS NOT NULL THEN shapes
                  WHEN workloads_hash IS first_value(workloads_hash)
                         OVER (PARTITION BY definition_id ORDER BY of_part OR shapes IS NOT NULL, unscored, started_at DESC, uid DESC)
                    THEN 'own'
                  ELSE 'own, earlier' END AS shapes
      FROM (SELECT s.id AS search, s.definition_id, s.workloads_hash, s.shapes, s.started_at, s.uid,
                   EXISTS (SELECT 1 FROM set_searches t WHERE t.search_id = s.id AND t.role <> 'set') AS of_part,
                   NOT EXISTS (SELECT 1 FROM search_figures f WHERE f.search_id = s.id AND f.best_ns IS NOT NULL) AS unscored
            FROM searches s));

DROP VIEW best_kernels;
CREATE VIEW best_kernels AS
SELECT definition, device, device_kind, arch, search, variant, evaluation, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN score_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN score_ns / 1000.0 END AS emulated_cost_us, confirmed, shapes, shapes_number
FROM (SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, h.search, h.variant, h.evaluation,
             v.name AS template, v.tunables, h.score_ns, h.confirmed, t.shapes, t.shapes_number,
             row_number() OVER (PARTITION BY s.definition_id, dev.kind, dev.name, s.arch, t.shapes_number
                                ORDER BY h.score_ns, s.started_at, s.uid) AS number
      FROM champions h JOIN searches s ON s.id = h.search JOIN search_shapes t ON t.search = s.id
      JOIN variants v ON v.id = h.variant
      JOIN ranked_definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
      WHERE NOT EXISTS (SELECT 1 FROM set_searches p WHERE p.search_id = s.id AND p.role <> 'set'))
WHERE number = 1
ORDER BY definition, device, arch, shapes_number;

DROP VIEW leaderboard;
CREATE VIEW leaderboard AS
WITH champion AS MATERIALIZED (SELECT search, evaluation, score_ns FROM champions),
shaped AS MATERIALIZED (SELECT search, shapes, shapes_number FROM search_shapes)
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, r.arch, v.id AS variant, v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN r.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN r.score_ns / 1000.0 END AS emulated_cost_us,
       'ok' AS status, r.search_id AS search,
       rank() OVER (PARTITION BY r.definition_id, dev.kind, dev.name, r.arch, t.shapes_number
                    ORDER BY max(r.score_ns, ifnull(h.score_ns, 0)), h.evaluation IS NOT r.evaluation_id, r.score_ns) AS place,
       t.shapes, t.shapes_number
FROM scores r JOIN definitions d ON d.id = r.definition_id JOIN devices dev ON dev.id = r.device_id
JOIN shaped t ON t.search = r.search_id
JOIN variants v ON v.id = r.variant_id LEFT JOIN champion h ON h.search = r.search_id
ORDER BY definition, device, r.arch, t.shapes_number, place;

-- As in version 19, by the number of the shapes.
DROP VIEW hypervolume;
DROP VIEW pareto_front;
CREATE VIEW pareto_front AS
WITH shaped AS MATERIALIZED (
  SELECT t.search, s.device_id, t.shapes, t.shapes_number FROM search_shapes t JOIN searches s ON s.id = t.search),
best AS (
  SELECT c.definition_id, c.device_id, c.arch, s.shapes, s.shapes_number, c.variant_id, c.search_id, min(c.score_ns) AS score_ns,
         c.shared_bytes, c.evaluation_id
  FROM scores c CROSS JOIN shaped s ON s.search = c.search_id AND s.device_id = c.device_id
  WHERE c.searched = 1
  GROUP BY c.variant_id, c.device_id, c.arch, s.shapes_number),
measured AS (
  SELECT *, (SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = b.evaluation_id) AS max_error,
         (SELECT max(k.value) FROM metrics k WHERE k.evaluation_id = b.evaluation_id AND k.name = 'energy/joule') AS energy_joule
  FROM best b),
stairs AS (
  SELECT *, min(coalesce(max_error, 0)) OVER (
           PARTITION BY definition_id, device_id, arch, shapes_number, energy_joule IS NULL, coalesce(shared_bytes, 0)
           ORDER BY score_ns, coalesce(max_error, 0) GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS error_before
  FROM measured),
points AS MATERIALIZED (
  SELECT * FROM stairs WHERE energy_joule IS NOT NULL OR coalesce(coalesce(max_error, 0) < error_before, 1))
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, a.arch, a.search_id AS search, v.id AS variant,
       v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN a.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN a.score_ns / 1000.0 END AS emulated_cost_us,
       a.energy_joule, a.max_error, a.shared_bytes, a.shapes, a.shapes_number
FROM points a JOIN variants v ON v.id = a.variant_id JOIN definitions d ON d.id = a.definition_id
JOIN devices dev ON dev.id = a.device_id
WHERE NOT EXISTS (
  SELECT 1 FROM points b
  WHERE b.definition_id = a.definition_id AND b.device_id = a.device_id AND b.arch = a.arch AND b.shapes_number = a.shapes_number
    AND b.score_ns <= a.score_ns AND coalesce(b.max_error, 0) <= coalesce(a.max_error, 0)
    AND coalesce(b.shared_bytes, 0) <= coalesce(a.shared_bytes, 0)
    AND coalesce(b.energy_joule <= a.energy_joule, 1)
    AND (b.score_ns < a.score_ns OR coalesce(b.max_error, 0) < coalesce(a.max_error, 0)
         OR coalesce(b.shared_bytes, 0) < coalesce(a.shared_bytes, 0) OR coalesce(b.energy_joule < a.energy_joule, 0)))
ORDER BY definition, device, a.arch, a.shapes_number, a.score_ns;

-- Of the front of time and one other objective, both as shares of the worst on the front: the part of the unit square that
-- the front dominates. 0 where the front is one point.
CREATE VIEW hypervolume AS
WITH points AS (
  SELECT definition, device, device_kind, arch, shapes, shapes_number, coalesce(score_us, emulated_cost_us) AS time,
         energy_joule, max_error, shared_bytes
  FROM pareto_front),
pairs AS (
  SELECT definition, device, device_kind, arch, shapes, shapes_number, 'energy_joule' AS objective, time, energy_joule AS value FROM points
  UNION ALL SELECT definition, device, device_kind, arch, shapes, shapes_number, 'max_error', time, max_error FROM points
  UNION ALL SELECT definition, device, device_kind, arch, shapes, shapes_number, 'shared_bytes', time, shared_bytes FROM points),
scaled AS (
  SELECT *, time / max(time) OVER front AS x, coalesce(value / nullif(1.0 * max(value) OVER front, 0), 0) AS y
  FROM pairs WHERE value IS NOT NULL WINDOW front AS (PARTITION BY definition, device, device_kind, arch, shapes_number, objective)),
steps AS (
  SELECT *, coalesce(min(y) OVER (PARTITION BY definition, device, device_kind, arch, shapes_number, objective ORDER BY x, y
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS above
  FROM scaled)
SELECT definition, device, device_kind, arch, objective, count(*) AS points, sum(max(0, above - y) * (1 - x)) AS hypervolume,
       shapes, shapes_number
FROM steps GROUP BY definition, device, device_kind, arch, shapes_number, objective;
