-- Schema version 16. Queues of searches that run for a night and go on where they were killed.

CREATE TABLE campaigns (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  name TEXT NOT NULL,
  command TEXT NOT NULL,
  folder TEXT NOT NULL,
  budgets TEXT NOT NULL CHECK (json_valid(budgets)),
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  stop_requested INTEGER NOT NULL CHECK (stop_requested IN (0, 1)),
  started_at TEXT NOT NULL,
  ended_at TEXT,
  heartbeat_at TEXT
) STRICT;

CREATE TABLE campaign_runs (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  campaign_id INTEGER NOT NULL REFERENCES campaigns (id),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  priority INTEGER NOT NULL,
  share REAL NOT NULL,
  arguments TEXT NOT NULL CHECK (json_valid(arguments)),
  first_points TEXT CHECK (first_points IS NULL OR json_valid(first_points)),
  budgets TEXT CHECK (budgets IS NULL OR json_valid(budgets)),
  model TEXT,
  session_id INTEGER REFERENCES sessions (id),
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  evaluations INTEGER NOT NULL,
  verified INTEGER NOT NULL,
  in_flight INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  cost_usd REAL NOT NULL,
  best_ns REAL,
  baseline TEXT,
  baseline_ns REAL,
  limit_ns REAL,
  spent_ms INTEGER NOT NULL,
  UNIQUE (campaign_id, position)
) STRICT;

CREATE TABLE journal (
  evaluation_id INTEGER PRIMARY KEY REFERENCES evaluations (id),
  request_key TEXT NOT NULL,
  result TEXT CHECK (result IS NULL OR json_valid(result))
) STRICT;
