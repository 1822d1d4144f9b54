-- Schema version 8. What a prediction says apart from the time, and which evaluation it was made for.

ALTER TABLE predictions ADD COLUMN evaluation_id INTEGER REFERENCES evaluations (id);
ALTER TABLE predictions ADD COLUMN low_ns REAL;
ALTER TABLE predictions ADD COLUMN high_ns REAL;
ALTER TABLE predictions ADD COLUMN limiter TEXT;
CREATE INDEX predictions_by_evaluation ON predictions (evaluation_id);

-- One row a predicted call, next to what was measured where it was.
CREATE VIEW prediction_errors AS
SELECT e.session_id AS session, d.name AS definition, v.name AS template, p.variant_id AS variant, w.name AS workload, e.status,
       p.model, p.limiter, p.predicted_ns / 1000.0 AS predicted_us, p.low_ns / 1000.0 AS low_us, p.high_ns / 1000.0 AS high_us,
       m.median_ns / 1000.0 AS measured_us, p.predicted_ns / m.median_ns - 1 AS error,
       m.median_ns BETWEEN p.low_ns AND p.high_ns AS in_interval
FROM predictions p JOIN evaluations e ON e.id = p.evaluation_id JOIN variants v ON v.id = p.variant_id
JOIN workloads w ON w.id = p.workload_id JOIN definitions d ON d.id = v.definition_id
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate' AND m.cold = 1
  AND m.method <> 'emulator';
