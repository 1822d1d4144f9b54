-- Schema version 28. What searches could still gain, as they went: how good the result is that they end with.

CREATE TABLE verdicts (
  search_id INTEGER NOT NULL REFERENCES searches (id),
  evaluations INTEGER NOT NULL CHECK (evaluations > 0),
  best_ns REAL NOT NULL CHECK (best_ns > 0),
  expected_gain REAL NOT NULL CHECK (expected_gain BETWEEN 0 AND 1),
  low_gain REAL NOT NULL CHECK (low_gain BETWEEN 0 AND 1),
  high_gain REAL NOT NULL CHECK (high_gain BETWEEN 0 AND 1),
  PRIMARY KEY (search_id, evaluations)
) WITHOUT ROWID, STRICT;

-- The last verdict of each search.
CREATE VIEW search_verdicts AS
SELECT s.id AS search, d.name AS definition, dev.name AS device, s.strategy, s.status, s.reason, v.evaluations, v.best_ns,
       v.expected_gain, v.low_gain, v.high_gain
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
JOIN verdicts v ON v.search_id = s.id
WHERE v.evaluations = (SELECT max(w.evaluations) FROM verdicts w WHERE w.search_id = s.id)
ORDER BY s.id;
