-- Winners of searches on shapes that no one could know: how many passed.
SELECT search, definition, variant, template, status, shapes, passed, round(100.0 * share, 1) AS passed_percent,
       substr(message, 1, 100) AS message
FROM generalisation ORDER BY share, search DESC
