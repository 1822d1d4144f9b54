-- Schema version 27. What models expected of their candidates, next to what was measured.

CREATE TABLE hypotheses (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  proposal_id INTEGER NOT NULL UNIQUE REFERENCES proposals (id),
  parent_id INTEGER REFERENCES variants (id),
  change TEXT NOT NULL,
  reason TEXT NOT NULL,
  expected_speedup REAL NOT NULL CHECK (expected_speedup > 0),
  measured_speedup REAL CHECK (measured_speedup > 0)
) STRICT;
CREATE INDEX hypotheses_by_parent ON hypotheses (parent_id);

-- The rule of the verdicts is verdict_on() of core/hypothesis.h.
CREATE VIEW hypothesis_results AS
SELECT h.id AS hypothesis, p.search_id AS search, p.proposer AS model, p.arm, d.name AS definition, dev.kind AS device_kind,
       p.variant_id AS variant, h.parent_id AS parent, e.id AS evaluation, e.status, h.change, h.reason,
       h.expected_speedup, h.measured_speedup,
       CASE WHEN e.status NOT IN ('ok', 'duplicate', 'compiled_only') THEN 'failed'
            WHEN h.measured_speedup IS NULL THEN 'not compared'
            WHEN h.measured_speedup >= iif(h.expected_speedup > 1, (1 + h.expected_speedup) / 2, h.expected_speedup - 0.02) THEN 'held'
            WHEN h.expected_speedup > 1 AND h.measured_speedup > 1.02 THEN 'partly'
            ELSE 'refuted' END AS verdict
FROM hypotheses h JOIN proposals p ON p.id = h.proposal_id JOIN searches s ON s.id = p.search_id
JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN evaluations e ON e.variant_id = p.variant_id AND e.proposal_id = p.id;

-- How well the expectations of each model hold: means are geometric, as speedups are ratios.
CREATE VIEW model_expectations AS
SELECT model, device_kind, count(*) AS hypotheses, sum(verdict = 'failed') AS failed, sum(verdict = 'held') AS held,
       sum(verdict = 'partly') AS partly, sum(verdict = 'refuted') AS refuted, count(measured_speedup) AS compared,
       exp(avg(ln(expected_speedup)) FILTER (WHERE measured_speedup IS NOT NULL)) AS mean_expected,
       exp(avg(ln(measured_speedup))) AS mean_measured,
       exp(avg(ln(measured_speedup / expected_speedup))) AS measured_over_expected,
       exp(avg(abs(ln(measured_speedup / expected_speedup)))) AS typical_factor
FROM hypothesis_results GROUP BY model, device_kind;
