-- What each search of the database came to, as the view `champions` has it; `reported`: it is a search of the report.
-- Those of degenerate problems are not ranked, nor are searches of single shapes that led to a set.
SELECT h.search, s.definition_id, v.name AS device, v.kind AS device_kind, s.device_id, s.arch, s.workloads_hash, h.variant, h.evaluation,
       s.started_at, h.search IN (SELECT id FROM report_searches) AS reported, h.score_ns
FROM champions h JOIN searches s ON s.id = h.search JOIN devices v ON v.id = s.device_id
JOIN ranked_definitions d ON d.id = s.definition_id
WHERE s.best_variant_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM set_searches t WHERE t.search_id = s.id AND t.role <> 'set')
