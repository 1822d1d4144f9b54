-- How fast searches go: evaluations an hour, and where their time went.
-- limit: most rows (integer, 20)
SELECT t.search, x.evaluations,
       round(x.evaluations / nullif((julianday(s.ended_at) - julianday(s.started_at)) * 24, 0), 1) AS evaluations_an_hour,
       round(t.queue_ms, 1) AS queue_ms, round(t.build_ms, 1) AS build_ms, round(t.device_wait_ms, 1) AS device_wait_ms,
       round(t.check_ms, 1) AS check_ms, round(t.time_ms, 1) AS time_ms, round(t.gpu_busy_ms, 1) AS gpu_busy_ms
FROM stage_time_summary t JOIN searches s ON s.id = t.search JOIN experiments x ON x.search = t.search
ORDER BY s.started_at DESC, s.id DESC LIMIT :limit
