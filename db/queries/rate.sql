-- How fast searches go: evaluations an hour, and where their time went.
-- limit: most rows (integer, 20)
SELECT s.id AS search, count(*) AS evaluations,
       round(count(*) / nullif((julianday(s.ended_at) - julianday(s.started_at)) * 24, 0), 1) AS evaluations_an_hour,
       round(avg(e.queue_ms), 1) AS queue_ms, round(avg(e.build_ms), 1) AS build_ms,
       round(avg(e.device_wait_ms), 1) AS device_wait_ms, round(avg(e.check_ms), 1) AS check_ms,
       round(avg(e.time_ms), 1) AS time_ms, round(avg(e.gpu_busy_ms), 1) AS gpu_busy_ms
FROM (SELECT search_id FROM search_figures ORDER BY search_id DESC LIMIT :limit) f
JOIN searches s ON s.id = f.search_id JOIN evaluations e ON e.search_id = s.id
GROUP BY s.id ORDER BY s.id DESC
