-- Schema version 29. How good the result is that a search ended with, and the rounds in which a session shares its budgets.

ALTER TABLE searches ADD COLUMN verdict TEXT CHECK (verdict IN ('at the limit', 'stuck', 'budget'));
ALTER TABLE searches ADD COLUMN headroom REAL CHECK (headroom BETWEEN 0 AND 1);

-- One row each time that a search of a session is given some of the session's budgets.
CREATE TABLE session_rounds (
  session_search_id INTEGER NOT NULL REFERENCES session_searches (id),
  number INTEGER NOT NULL CHECK (number > 0),
  evaluations INTEGER CHECK (evaluations >= 0),
  minutes REAL CHECK (minutes >= 0),
  closes INTEGER NOT NULL CHECK (closes IN (0, 1)),
  best_ns REAL CHECK (best_ns > 0),
  why TEXT NOT NULL,
  PRIMARY KEY (session_search_id, number)
) WITHOUT ROWID, STRICT;

DROP VIEW search_verdicts;
-- How each search ended that says how good its result is, and the last of what it said that it may still gain.
CREATE VIEW search_verdicts AS
SELECT s.id AS search, d.name AS definition, dev.name AS device, s.strategy, s.status, s.reason, s.verdict, s.headroom,
       v.evaluations, v.best_ns, v.expected_gain, v.low_gain, v.high_gain
FROM searches s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN verdicts v ON v.search_id = s.id
  AND v.evaluations = (SELECT max(w.evaluations) FROM verdicts w WHERE w.search_id = s.id)
WHERE v.search_id IS NOT NULL OR s.verdict IS NOT NULL
ORDER BY s.id;
