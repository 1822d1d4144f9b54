-- The latest searches: what they looked for, what they found, why they ended.
-- algorithm: of this problem family alone (text)
-- limit: most rows (integer, 20)
SELECT x.search, x.definition, x.device, x.arch, x.proposer, x.strategy, x.status, x.reason, x.evaluations, x.verified,
       round(x.best_us, 3) AS best_us, round(x.best_emulated_cost_us, 3) AS best_emulated_cost_us, x.started_at
FROM experiments x JOIN searches s ON s.id = x.search JOIN definitions d ON d.id = s.definition_id
WHERE ifnull(:algorithm, d.problem) = d.problem
ORDER BY x.started_at DESC, x.search DESC LIMIT :limit
