-- Schema version 31. Scores are compared, and kernels ranked, only where they are of the same shapes.

-- Names of the shapes that the caller gave; NULL: the problem's own.
ALTER TABLE searches ADD COLUMN shapes TEXT;

-- Of searches before: a shape that was given has its sizes as its name.
UPDATE searches SET shapes = (
  SELECT group_concat(name, '; ') FROM (
    SELECT DISTINCT w.name FROM measurements m JOIN workloads w ON w.id = m.workload_id
    WHERE m.role = 'candidate' AND m.evaluation_id = (
        SELECT e.id FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
        WHERE e.search_id = searches.id AND e.status = 'ok' AND e.score_ns IS NOT NULL
          AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile') LIMIT 1)
      AND w.axes <> '{}' AND NOT EXISTS (
        SELECT 1 FROM json_each(w.axes) j WHERE instr(',' || w.name || ',', ',' || j.key || '=' || j.value || ',') = 0)
    ORDER BY w.name));

-- Which shapes the scores of a search are of. A problem whose shapes or formulas were edited has other ones of its own
-- since: those of the search that began last are 'own'.
CREATE VIEW search_shapes AS
SELECT search,
       CASE WHEN shapes IS NOT NULL THEN shapes
            WHEN of_part THEN 'part of a set'
            WHEN workloads_hash IS first_value(workloads_hash)
                   OVER (PARTITION BY definition_id ORDER BY shapes IS NOT NULL OR of_part, started_at DESC, uid DESC)
              THEN 'own'
            ELSE 'own, earlier' END AS shapes
FROM (SELECT s.id AS search, s.definition_id, s.workloads_hash, s.shapes, s.started_at, s.uid,
             EXISTS (SELECT 1 FROM set_searches t WHERE t.search_id = s.id AND t.role <> 'set') AS of_part
      FROM searches s);

-- The champion that is best of each definition, product, target and shapes.
DROP VIEW best_kernels;
CREATE VIEW best_kernels AS
SELECT definition, device, device_kind, arch, search, variant, evaluation, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN score_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN score_ns / 1000.0 END AS emulated_cost_us, confirmed, shapes
FROM (SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, h.search, h.variant, h.evaluation,
             v.name AS template, v.tunables, h.score_ns, h.confirmed, t.shapes,
             row_number() OVER (PARTITION BY s.definition_id, dev.kind, dev.name, s.arch, s.workloads_hash, s.shapes
                                ORDER BY h.score_ns, s.started_at, s.uid) AS number
      FROM champions h JOIN searches s ON s.id = h.search JOIN search_shapes t ON t.search = s.id
      JOIN variants v ON v.id = h.variant
      JOIN ranked_definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
      WHERE NOT EXISTS (SELECT 1 FROM set_searches p WHERE p.search_id = s.id AND p.role <> 'set'))
WHERE number = 1
ORDER BY definition, device, arch, shapes <> 'own', shapes;

-- One row an evaluation that was timed or counted, best first within a definition, product, target and shapes. What its
-- search measured and did not choose is placed after the champion of that search: it may have been luck.
DROP VIEW leaderboard;
CREATE VIEW leaderboard AS
WITH champion AS MATERIALIZED (SELECT search, evaluation, score_ns FROM champions),
shaped AS MATERIALIZED (  -- a number for the hash, which is long
  SELECT t.search, t.shapes, min(s.id) OVER (PARTITION BY s.workloads_hash, s.shapes) AS number
  FROM search_shapes t JOIN searches s ON s.id = t.search)
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, r.arch, v.id AS variant, v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN r.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN r.score_ns / 1000.0 END AS emulated_cost_us,
       'ok' AS status, r.search_id AS search,
       rank() OVER (PARTITION BY r.definition_id, dev.kind, dev.name, r.arch, t.number
                    ORDER BY max(r.score_ns, ifnull(h.score_ns, 0)), h.evaluation IS NOT r.evaluation_id, r.score_ns) AS place,
       t.shapes
FROM scores r JOIN definitions d ON d.id = r.definition_id JOIN devices dev ON dev.id = r.device_id
JOIN shaped t ON t.search = r.search_id
JOIN variants v ON v.id = r.variant_id LEFT JOIN champion h ON h.search = r.search_id
ORDER BY definition, device, r.arch, t.shapes <> 'own', t.shapes, place;
