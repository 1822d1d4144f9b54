-- Kernels that spill registers, with what they use and how fast their variants are.
-- limit: most rows (integer, 30)
SELECT d.name AS definition, b.variant_id AS variant, v.name AS template, b.arch, k.kernel, k.registers, k.spill_store_bytes,
       k.spill_load_bytes, round(100 * k.occupancy_ratio, 0) AS occupancy_percent,
       (SELECT round(min(e.score_ns) / 1000.0, 3) FROM evaluations e
        WHERE e.variant_id = b.variant_id AND e.build_id = b.id) AS score_us
FROM (SELECT * FROM build_kernels WHERE spill_store_bytes + spill_load_bytes > 0
      ORDER BY spill_store_bytes + spill_load_bytes DESC LIMIT :limit) k
JOIN builds b ON b.id = k.build_id JOIN variants v ON v.id = b.variant_id JOIN definitions d ON d.id = v.definition_id
ORDER BY k.spill_store_bytes + k.spill_load_bytes DESC
