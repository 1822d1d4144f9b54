-- Schema version 4. Audits of problems, and whether a session's problem had passed one.

ALTER TABLE sessions ADD COLUMN audited INTEGER;

CREATE TABLE audits (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  definition_id INTEGER NOT NULL REFERENCES definitions (id),
  device_id INTEGER NOT NULL REFERENCES devices (id),
  environment_id INTEGER NOT NULL REFERENCES environments (id),
  arch TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  passed INTEGER NOT NULL,
  audited_at TEXT NOT NULL
) STRICT;
CREATE INDEX audits_by_content ON audits (content_hash, definition_id);

CREATE TABLE audit_findings (
  id INTEGER PRIMARY KEY,
  audit_id INTEGER NOT NULL REFERENCES audits (id),
  kind TEXT NOT NULL,
  lesion TEXT NOT NULL,
  tensor TEXT NOT NULL,
  verdict TEXT NOT NULL,
  as_expected INTEGER NOT NULL,
  checks INTEGER NOT NULL,
  rejections INTEGER NOT NULL,
  workload TEXT,
  distribution TEXT,
  input_seed INTEGER,
  max_error REAL,
  mean_error REAL,
  tolerance REAL,
  message TEXT NOT NULL,
  UNIQUE (audit_id, kind, lesion, tensor)
) STRICT;
