-- Schema version 21. A definition with the tag `degenerate` has results that do not depend on its inputs: its kernels are
-- not ranked and in no mean.

CREATE VIEW ranked_definitions AS
SELECT id, name, problem FROM definitions d
WHERE NOT EXISTS (SELECT 1 FROM json_each(d.definition, '$.tags') t WHERE t.value = 'degenerate');

-- What the table `scores` holds by definition: `alphakernel db verify` compares.
DROP VIEW scores_defined;
CREATE VIEW scores_defined AS
SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id AS evaluation_id, e.search_id, e.variant_id, e.shared_bytes,
       p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile') AS searched
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
JOIN searches s ON s.id = e.search_id
WHERE e.status = 'ok' AND e.score_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
  AND EXISTS (SELECT 1 FROM ranked_definitions r WHERE r.id = v.definition_id);

-- The champion that is best of each definition, product and target.
DROP VIEW best_kernels;
CREATE VIEW best_kernels AS
SELECT definition, device, device_kind, arch, search, variant, evaluation, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN score_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN score_ns / 1000.0 END AS emulated_cost_us, confirmed
FROM (SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, h.search, h.variant, h.evaluation,
             v.name AS template, v.tunables, h.score_ns, h.confirmed,
             row_number() OVER (PARTITION BY s.definition_id, dev.kind, dev.name, s.arch
                                ORDER BY h.score_ns, s.started_at, s.uid) AS number
      FROM champions h JOIN searches s ON s.id = h.search JOIN variants v ON v.id = h.variant
      JOIN ranked_definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id)
WHERE number = 1
ORDER BY definition, device, arch;
