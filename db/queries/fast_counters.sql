-- What the metrics of fast variants have in common: the mean over the faster half next to that over the slower half.
-- definition: of this definition alone (text)
-- least: variants with the metric at least (integer, 4)
WITH measured AS (
  SELECT d.id AS definition_id, d.name AS definition, k.name AS metric, k.unit, avg(k.value) AS value,
         (SELECT min(f.score_ns) FROM evaluations f WHERE f.variant_id = e.variant_id AND f.device_id = e.device_id
          AND f.status = 'ok') AS score_ns
  FROM metrics k JOIN evaluations e ON e.id = k.evaluation_id JOIN variants v ON v.id = e.variant_id
  JOIN definitions d ON d.id = v.definition_id
  WHERE ifnull(:definition, d.name) = d.name AND k.name NOT LIKE 'line/%'
  GROUP BY d.id, k.name, e.variant_id, e.device_id),
halves AS (
  SELECT *, ntile(2) OVER (PARTITION BY definition_id, metric ORDER BY score_ns) AS half,
         count(*) OVER (PARTITION BY definition_id, metric) AS variants
  FROM measured WHERE score_ns IS NOT NULL),
means AS (
  SELECT definition, metric, unit, max(variants) AS variants, avg(value) FILTER (WHERE half = 1) AS faster_half,
         avg(value) FILTER (WHERE half = 2) AS slower_half
  FROM halves WHERE variants >= :least GROUP BY definition_id, metric)
SELECT *, round(faster_half / nullif(slower_half, 0), 3) AS ratio
FROM means WHERE faster_half <> slower_half
ORDER BY definition, abs(faster_half - slower_half) / max(abs(faster_half), abs(slower_half)) DESC
