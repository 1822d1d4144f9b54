-- How far predicted times were off, by definition and model.
SELECT definition, model, count(*) AS predictions, round(100 * avg(abs(error)), 1) AS mean_error_percent,
       round(100 * avg(error), 1) AS bias_percent, round(100.0 * avg(in_interval), 1) AS in_interval_percent
FROM prediction_errors WHERE measured_us IS NOT NULL
GROUP BY definition, model ORDER BY mean_error_percent
