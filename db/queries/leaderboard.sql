-- The fastest variants of each definition, device and target.
-- definition: of this definition alone (text)
-- arch: for this target alone (text)
-- places: so many of each (integer, 3)
WITH boards AS MATERIALIZED (
  SELECT d.id AS definition_id, d.name AS definition, v.id AS device_id, v.name AS device, v.kind, a.arch
  FROM definitions d JOIN devices v JOIN (SELECT DISTINCT arch FROM searches) a
  WHERE ifnull(:definition, d.name) = d.name AND ifnull(:arch, a.arch) = a.arch),
placed AS (
  SELECT b.*, c.variant_id, c.search_id, c.score_ns,
         rank() OVER (PARTITION BY b.definition_id, b.device_id, b.arch ORDER BY c.score_ns) AS place
  FROM boards b CROSS JOIN scores c ON c.definition_id = b.definition_id AND c.device_id = b.device_id AND c.arch = b.arch
    AND c.score_ns <= ifnull((SELECT t.score_ns FROM scores t
                              WHERE t.definition_id = b.definition_id AND t.device_id = b.device_id AND t.arch = b.arch
                              ORDER BY t.score_ns LIMIT 1 OFFSET max(:places - 1, 0)), 9e999))
SELECT p.definition, p.device, p.arch, p.place, v.id AS variant, v.name AS template, v.tunables,
       round(iif(p.kind <> 'emulator', p.score_ns / 1000.0, NULL), 3) AS score_us,
       round(iif(p.kind = 'emulator', p.score_ns / 1000.0, NULL), 3) AS emulated_cost_us, p.search_id AS search
FROM placed p JOIN variants v ON v.id = p.variant_id
WHERE p.place <= :places
ORDER BY p.definition, p.device, p.arch, p.place
