-- How fast searches go: evaluations an hour, and where their time went.
-- limit: most rows (integer, 20)
SELECT s.id AS search, f.searched AS evaluations,
       round(f.searched / nullif((julianday(s.ended_at) - julianday(s.started_at)) * 24, 0), 1) AS evaluations_an_hour,
       round(avg(e.queue_ms), 1) AS queue_ms, round(avg(e.build_ms), 1) AS build_ms,
       round(avg(e.device_wait_ms), 1) AS device_wait_ms, round(avg(e.check_ms), 1) AS check_ms,
       round(avg(e.time_ms), 1) AS time_ms, round(avg(e.gpu_busy_ms), 1) AS gpu_busy_ms
FROM (SELECT f.* FROM search_figures f JOIN searches s ON s.id = f.search_id
      ORDER BY s.started_at DESC, s.id DESC LIMIT :limit) f
JOIN searches s ON s.id = f.search_id JOIN evaluations e ON e.search_id = s.id
GROUP BY s.id ORDER BY s.started_at DESC, s.id DESC
