-- Pool
-- search: Search (integer)
--
-- @searches The latest searches on a pool
SELECT s.id AS search, d.name AS definition, s.status, count(*) AS places, count(p.device_id) AS devices,
       sum(p.answers) AS evaluations, max(p.noted_at) AS noted_at
FROM pool_places p JOIN searches s ON s.id = p.search_id JOIN definitions d ON d.id = s.definition_id
GROUP BY s.id ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC LIMIT 20;
-- @tiles What its pool comes to
WITH chosen AS MATERIALIZED (
  SELECT * FROM pool_places WHERE search_id = coalesce(:search, (
    SELECT s.id FROM searches s JOIN pool_places p ON p.search_id = s.id ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC LIMIT 1)))
SELECT 'devices' AS label, count(device_id) || ' of ' || count(*) AS value, sum(reason IS NOT NULL) || ' rest or are left out' AS note,
       iif(sum(reason IS NOT NULL) > 0, 'bad', NULL) AS tone FROM chosen HAVING count(*) > 0
UNION ALL SELECT 'evaluations', sum(answers), NULL, NULL FROM chosen HAVING count(*) > 0
UNION ALL SELECT 'evaluations an hour', printf('%.0f', sum(answers * 3600.0 / nullif(present_s, 0))), 'of all devices, by the time that each was there', NULL
FROM chosen HAVING sum(present_s) > 0;
-- @places What each place does
SELECT p.number AS place, p.place AS name, v.name AS device, v.uuid, p.sm_clock_mhz, p.doing, p.breaker, p.answers AS evaluations,
       p.answers * 3600.0 / nullif(p.present_s, 0) AS evaluations_per_hour, p.reason, p.noted_at
FROM pool_places p LEFT JOIN devices v ON v.id = p.device_id
WHERE p.search_id = coalesce(:search, (
  SELECT s.id FROM searches s JOIN pool_places q ON q.search_id = s.id ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC LIMIT 1))
ORDER BY p.number LIMIT 300;
-- @calibrations Their latest calibrations
SELECT c.place AS name, v.name AS device, c.compute_ns / 1000.0 AS compute_us, c.copy_ns / 1000.0 AS copy_us, 100.0 * c.drift AS drift_pct,
       c.sm_clock_mhz, c.memory_errors, c.objection, c.calibrated_at
FROM calibrations c JOIN devices v ON v.id = c.device_id
WHERE c.search_id = coalesce(:search, (
  SELECT s.id FROM searches s JOIN pool_places p ON p.search_id = s.id ORDER BY s.status = 'running' DESC, s.started_at DESC, s.id DESC LIMIT 1))
ORDER BY c.id DESC LIMIT 100;
