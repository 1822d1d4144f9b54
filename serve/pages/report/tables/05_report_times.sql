-- How long each search of the report worked. One of a session may have waited in between, for answers, a device, or to be
-- resumed after a stop: what its session counted is its work. Of others the end is known alone.
SELECT s.id AS search,
       coalesce((SELECT nullif(max(x.spent_ms), 0) / 86400e3 FROM session_searches x WHERE x.search_id = s.id),
                julianday(coalesce(s.ended_at, s.started_at)) - julianday(s.started_at)) AS days
FROM searches s WHERE s.id IN (SELECT id FROM report_searches)
