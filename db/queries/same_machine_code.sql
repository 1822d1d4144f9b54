-- Variants that compile to the same machine code: their tunables make no difference.
SELECT d.name AS definition, b.arch, count(DISTINCT b.variant_id) AS variants, min(b.variant_id) AS first,
       group_concat(DISTINCT v.tunables) AS tunables
FROM builds b JOIN variants v ON v.id = b.variant_id JOIN definitions d ON d.id = v.definition_id
WHERE b.cubin_hash IS NOT NULL
GROUP BY d.id, b.arch, b.cubin_hash HAVING count(DISTINCT b.variant_id) > 1 ORDER BY variants DESC LIMIT 50
