-- Schema version 33. A search may go on on another GPU of its model: what the first one measured counts until the second
-- one has measured it.

-- What each search came to: its champion by the last measurement that counts, the final one where there is one; of a
-- search that has named no champion the best that passed and was not found wrong. A search without either has no row.
-- Measurements on the search's own device go before those on others of its model.
DROP VIEW champions;
CREATE VIEW champions AS
SELECT s.id AS search, e.variant_id AS variant, e.id AS evaluation, e.score_ns, p.arm = 'final' AS confirmed
FROM searches s
JOIN evaluations e ON e.id = iif(
  s.best_variant_id IS NOT NULL,
  (SELECT f.id FROM searches t JOIN devices own ON own.id = t.device_id
   JOIN evaluations f ON f.variant_id = t.best_variant_id AND +f.search_id = t.id
   JOIN devices d ON d.id = f.device_id AND d.kind = own.kind AND d.name = own.name
   JOIN proposals q ON q.id = f.proposal_id
   WHERE t.id = s.id AND f.status = 'ok' AND f.score_ns IS NOT NULL
     AND q.arm NOT IN ('held_out', 'comparison', 'examination', 'profile')
     AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = f.id)
   ORDER BY f.device_id = t.device_id DESC, q.arm = 'final' DESC, f.id DESC LIMIT 1),
  (SELECT f.id FROM searches t JOIN devices own ON own.id = t.device_id
   JOIN evaluations f ON f.search_id = t.id
   JOIN devices d ON d.id = f.device_id AND d.kind = own.kind AND d.name = own.name
   JOIN scores c ON c.definition_id = t.definition_id AND c.device_id = f.device_id AND c.arch = t.arch
     AND c.score_ns = f.score_ns AND c.evaluation_id = f.id AND c.searched = 1
   WHERE t.id = s.id
   ORDER BY f.device_id = t.device_id DESC, f.score_ns, f.id LIMIT 1))
JOIN proposals p ON p.id = e.proposal_id;

-- As in version 32, of all devices of the search's model together, as in `leaderboard`.
DROP VIEW pareto_front;
CREATE VIEW pareto_front AS
WITH models AS MATERIALIZED (SELECT id AS device, min(id) OVER (PARTITION BY kind, name) AS model FROM devices),
shaped AS MATERIALIZED (
  SELECT t.search, m.model, t.shapes, t.shapes_number
  FROM search_shapes t JOIN searches s ON s.id = t.search JOIN models m ON m.device = s.device_id),
best AS (
  SELECT c.definition_id, m.model, c.arch, s.shapes, s.shapes_number, c.variant_id, c.search_id, min(c.score_ns) AS score_ns,
         c.shared_bytes, c.evaluation_id
  FROM scores c CROSS JOIN shaped s ON s.search = c.search_id CROSS JOIN models m ON m.device = c.device_id AND m.model = s.model
  WHERE c.searched = 1
  GROUP BY c.variant_id, m.model, c.arch, s.shapes_number),
measured AS (
  SELECT *, (SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = b.evaluation_id) AS max_error,
         (SELECT max(k.value) FROM metrics k WHERE k.evaluation_id = b.evaluation_id AND k.name = 'energy/joule') AS energy_joule
  FROM best b),
stairs AS (
  SELECT *, min(coalesce(max_error, 0)) OVER (
           PARTITION BY definition_id, model, arch, shapes_number, energy_joule IS NULL, coalesce(shared_bytes, 0)
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
JOIN devices dev ON dev.id = a.model
WHERE NOT EXISTS (
  SELECT 1 FROM points b
  WHERE b.definition_id = a.definition_id AND b.model = a.model AND b.arch = a.arch AND b.shapes_number = a.shapes_number
    AND b.score_ns <= a.score_ns AND coalesce(b.max_error, 0) <= coalesce(a.max_error, 0)
    AND coalesce(b.shared_bytes, 0) <= coalesce(a.shared_bytes, 0)
    AND coalesce(b.energy_joule <= a.energy_joule, 1)
    AND (b.score_ns < a.score_ns OR coalesce(b.max_error, 0) < coalesce(a.max_error, 0)
         OR coalesce(b.shared_bytes, 0) < coalesce(a.shared_bytes, 0) OR coalesce(b.energy_joule < a.energy_joule, 0)))
ORDER BY definition, device, a.arch, a.shapes_number, a.score_ns;
