-- Schema version 15. How much two objectives reach together, to compare sessions and devices by one figure.

-- Of the front of time and one other objective, both as shares of the worst on the front: the part of the unit square that
-- the front dominates. 0 where the front is one point.
CREATE VIEW hypervolume AS
WITH points AS (
  SELECT definition, device, device_kind, arch, coalesce(score_us, emulated_cost_us) AS time, energy_joule, max_error, shared_bytes
  FROM pareto_front),
pairs AS (
  SELECT definition, device, device_kind, arch, 'energy_joule' AS objective, time, energy_joule AS value FROM points
  UNION ALL SELECT definition, device, device_kind, arch, 'max_error', time, max_error FROM points
  UNION ALL SELECT definition, device, device_kind, arch, 'shared_bytes', time, shared_bytes FROM points),
scaled AS (
  SELECT *, time / max(time) OVER front AS x, coalesce(value / nullif(1.0 * max(value) OVER front, 0), 0) AS y
  FROM pairs WHERE value IS NOT NULL WINDOW front AS (PARTITION BY definition, device, device_kind, arch, objective)),
steps AS (
  SELECT *, coalesce(min(y) OVER (PARTITION BY definition, device, device_kind, arch, objective ORDER BY x, y
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS above
  FROM scaled)
SELECT definition, device, device_kind, arch, objective, count(*) AS points, sum(max(0, above - y) * (1 - x)) AS hypervolume
FROM steps GROUP BY definition, device, device_kind, arch, objective;
