-- Schema version 26. Pools: how steady their devices are, and what each of their places does.

CREATE TABLE calibrations (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  search_id INTEGER NOT NULL REFERENCES searches (id),
  device_id INTEGER NOT NULL REFERENCES devices (id),
  place TEXT NOT NULL,
  compute_ns REAL NOT NULL CHECK (compute_ns > 0),
  copy_ns REAL NOT NULL CHECK (copy_ns > 0),
  memory_errors INTEGER,
  sm_clock_mhz INTEGER,
  drift REAL NOT NULL CHECK (drift >= 0),
  objection TEXT,
  calibrated_at TEXT NOT NULL
) STRICT;
CREATE INDEX calibrations_by_search ON calibrations (search_id, device_id);

-- Written again every few seconds while the search runs; what it said last stays.
CREATE TABLE pool_places (
  search_id INTEGER NOT NULL REFERENCES searches (id),
  number INTEGER NOT NULL CHECK (number > 0),
  place TEXT NOT NULL,
  device_id INTEGER REFERENCES devices (id),
  doing TEXT NOT NULL,
  breaker TEXT NOT NULL CHECK (breaker IN ('closed', 'open', 'half-open')),
  reason TEXT,
  sm_clock_mhz INTEGER,
  answers INTEGER NOT NULL CHECK (answers >= 0),
  present_s REAL NOT NULL CHECK (present_s >= 0),
  noted_at TEXT NOT NULL,
  PRIMARY KEY (search_id, number)
) WITHOUT ROWID, STRICT;
