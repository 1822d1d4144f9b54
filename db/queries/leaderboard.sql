-- The fastest variants of each definition, device, target and shapes.
-- definition: of this definition alone (text)
-- arch: for this target alone (text)
-- places: so many of each (integer, 3)
WITH boards AS MATERIALIZED (
  SELECT d.id AS definition_id, d.name AS definition, v.id AS device_id, v.name AS device, v.kind, a.arch, a.workloads_hash, a.shapes
  FROM definitions d JOIN devices v JOIN (SELECT DISTINCT definition_id, arch, workloads_hash, shapes FROM searches) a
    ON a.definition_id = d.id
  WHERE ifnull(:definition, d.name) = d.name AND ifnull(:arch, a.arch) = a.arch),
champion AS MATERIALIZED (SELECT search, evaluation, score_ns FROM champions),
shaped AS MATERIALIZED (SELECT search, shapes, shapes_number FROM search_shapes),
-- As the view `leaderboard` places them; of each device no more than can have one of the first places: none is placed
-- before its own score.
placed AS (
  SELECT b.*, c.variant_id, c.search_id, c.score_ns,
         rank() OVER (PARTITION BY b.definition_id, b.kind, b.device, b.arch, b.workloads_hash, b.shapes
                      ORDER BY max(c.score_ns, ifnull(h.score_ns, 0)), h.evaluation IS NOT c.evaluation_id, c.score_ns) AS place
  FROM boards b CROSS JOIN scores c ON c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch
    AND c.score_ns <= ifnull((SELECT max(max(t.score_ns, ifnull(m.score_ns, 0)))
                              FROM (SELECT u.score_ns, u.search_id FROM scores u
                                    CROSS JOIN searches q ON q.id = u.search_id AND q.workloads_hash IS b.workloads_hash AND q.shapes IS b.shapes
                                    WHERE u.definition_id = b.definition_id AND u.device_id = b.device_id AND u.arch = b.arch
                                    ORDER BY u.score_ns LIMIT max(:places, 1)) t
                              LEFT JOIN champion m ON m.search = t.search_id), 9e999)
  CROSS JOIN searches s ON s.id = c.search_id AND s.workloads_hash IS b.workloads_hash AND s.shapes IS b.shapes
  LEFT JOIN champion h ON h.search = c.search_id)
SELECT p.definition, p.device, p.arch, iif(length(t.shapes) > 40, substr(t.shapes, 1, 37) || '...', t.shapes) AS shapes,
       p.place, v.id AS variant, v.name AS template, v.tunables,
       round(iif(p.kind <> 'emulator', p.score_ns / 1000.0, NULL), 3) AS score_us,
       round(iif(p.kind = 'emulator', p.score_ns / 1000.0, NULL), 3) AS emulated_cost_us, p.search_id AS search
FROM placed p JOIN variants v ON v.id = p.variant_id JOIN shaped t ON t.search = p.search_id
WHERE p.place <= :places
ORDER BY p.definition, p.device, p.arch, t.shapes_number, p.place
