-- The fastest variants of each definition, device and target.
-- definition: of this definition alone (text)
-- arch: for this target alone (text)
-- places: so many of each (integer, 3)
WITH boards AS MATERIALIZED (
  SELECT d.id AS definition_id, d.name AS definition, v.id AS device_id, v.name AS device, v.kind, a.arch
  FROM definitions d JOIN devices v JOIN (SELECT DISTINCT arch FROM searches) a
  WHERE ifnull(:definition, d.name) = d.name AND ifnull(:arch, a.arch) = a.arch),
champion AS MATERIALIZED (SELECT search, evaluation, score_ns FROM champions),
-- As the view `leaderboard` places them; of each device no more than can have one of the first places: none is placed
-- before its own score.
placed AS (
  SELECT b.*, c.variant_id, c.search_id, c.score_ns,
         rank() OVER (PARTITION BY b.definition_id, b.kind, b.device, b.arch
                      ORDER BY max(c.score_ns, ifnull(h.score_ns, 0)), h.evaluation IS NOT c.evaluation_id, c.score_ns) AS place
  FROM boards b CROSS JOIN scores c ON c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch
    AND c.score_ns <= ifnull((SELECT max(max(t.score_ns, ifnull(m.score_ns, 0)))
                              FROM (SELECT score_ns, search_id FROM scores
                                    WHERE definition_id = b.definition_id AND device_id = b.device_id AND arch = b.arch
                                    ORDER BY score_ns LIMIT max(:places, 1)) t
                              LEFT JOIN champion m ON m.search = t.search_id), 9e999)
  LEFT JOIN champion h ON h.search = c.search_id)
SELECT p.definition, p.device, p.arch, p.place, v.id AS variant, v.name AS template, v.tunables,
       round(iif(p.kind <> 'emulator', p.score_ns / 1000.0, NULL), 3) AS score_us,
       round(iif(p.kind = 'emulator', p.score_ns / 1000.0, NULL), 3) AS emulated_cost_us, p.search_id AS search
FROM placed p JOIN variants v ON v.id = p.variant_id
WHERE p.place <= :places
ORDER BY p.definition, p.device, p.arch, p.place
