-- What a variant was made from, back to the first.
-- variant: its number (integer, required)
WITH RECURSIVE line (variant, depth) AS (
  SELECT :variant, 0
  UNION
  SELECT p.parent_id, l.depth + 1 FROM line l JOIN variant_parents p ON p.variant_id = l.variant WHERE l.depth < 1000)
SELECT l.depth, l.variant, v.name, v.tunables, p.proposer, p.arm, e.status, round(min(e.score_ns) / 1000.0, 3) AS score_us
FROM line l JOIN variants v ON v.id = l.variant LEFT JOIN proposals p ON p.variant_id = v.id
LEFT JOIN evaluations e ON e.proposal_id = p.id AND p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile')
GROUP BY l.variant ORDER BY l.depth, l.variant
