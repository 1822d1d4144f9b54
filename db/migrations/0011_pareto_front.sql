-- Schema version 11. What is best in some respect: time, energy, error or shared memory.

-- Of every definition, its shapes, device and architecture the variants that no other beats in one respect without being
-- worse in another. Energy counts between two variants of which it is known.
CREATE VIEW pareto_front AS
WITH points AS MATERIALIZED (
  SELECT s.definition_id, s.device_id, s.arch, s.workloads_hash, e.variant_id, e.session_id, min(e.score_ns) AS score_ns,
         e.shared_bytes,
         (SELECT max(c.max_error) FROM checks c WHERE c.evaluation_id = e.id) AS max_error,
         (SELECT max(k.value) FROM metrics k WHERE k.evaluation_id = e.id AND k.name = 'energy/joule') AS energy_joule
  FROM evaluations e JOIN sessions s ON s.id = e.session_id AND s.device_id = e.device_id
  JOIN proposals p ON p.id = e.proposal_id AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile')
  WHERE e.status = 'ok' AND e.score_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
  GROUP BY s.definition_id, s.device_id, s.arch, s.workloads_hash, e.variant_id)
SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, a.arch, a.session_id AS session, v.id AS variant,
       v.name AS template, v.tunables,
       CASE WHEN dev.kind <> 'emulator' THEN a.score_ns / 1000.0 END AS score_us,
       CASE WHEN dev.kind = 'emulator' THEN a.score_ns / 1000.0 END AS emulated_cost_us,
       a.energy_joule, a.max_error, a.shared_bytes
FROM points a JOIN variants v ON v.id = a.variant_id JOIN definitions d ON d.id = a.definition_id
JOIN devices dev ON dev.id = a.device_id
WHERE NOT EXISTS (
  SELECT 1 FROM points b
  WHERE b.definition_id = a.definition_id AND b.device_id = a.device_id AND b.arch = a.arch AND b.workloads_hash IS a.workloads_hash
    AND b.score_ns <= a.score_ns AND coalesce(b.max_error, 0) <= coalesce(a.max_error, 0)
    AND coalesce(b.shared_bytes, 0) <= coalesce(a.shared_bytes, 0)
    AND coalesce(b.energy_joule <= a.energy_joule, 1)
    AND (b.score_ns < a.score_ns OR coalesce(b.max_error, 0) < coalesce(a.max_error, 0)
         OR coalesce(b.shared_bytes, 0) < coalesce(a.shared_bytes, 0) OR coalesce(b.energy_joule < a.energy_joule, 0)))
ORDER BY definition, device, a.arch, a.score_ns;
