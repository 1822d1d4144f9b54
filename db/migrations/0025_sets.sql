-- Schema version 25. Kernel sets: several kernels and the rule that picks one by the shape. A set is a variant like any
-- other; these tables say which variants it is made of, and why.

CREATE TABLE kernel_sets (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  definition_id INTEGER NOT NULL REFERENCES definitions (id),
  began_at TEXT NOT NULL,
  variant_id INTEGER REFERENCES variants (id),
  mean_ratio REAL,
  worst_ratio REAL,
  within_limits INTEGER CHECK (within_limits IN (0, 1)),
  prepared_copies INTEGER,
  held_out_shapes INTEGER,
  regret REAL,
  regret_low REAL,
  regret_high REAL,
  worst_regret REAL
) STRICT;
CREATE INDEX kernel_sets_by_variant ON kernel_sets (variant_id);

-- The searches of a set: one a shape, one that measures what they found on all shapes, and one of the set itself.
CREATE TABLE set_searches (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  set_id INTEGER NOT NULL REFERENCES kernel_sets (id),
  search_id INTEGER NOT NULL UNIQUE REFERENCES searches (id),
  role TEXT NOT NULL CHECK (role IN ('shape', 'members', 'set'))
) STRICT;
CREATE INDEX set_searches_by_set ON set_searches (set_id);

CREATE TABLE set_members (
  set_id INTEGER NOT NULL REFERENCES kernel_sets (id),
  number INTEGER NOT NULL CHECK (number > 0),
  variant_id INTEGER NOT NULL REFERENCES variants (id),
  condition TEXT NOT NULL,
  fallback INTEGER NOT NULL CHECK (fallback IN (0, 1)),
  PRIMARY KEY (set_id, number)
) WITHOUT ROWID, STRICT;

CREATE TABLE set_shapes (
  set_id INTEGER NOT NULL REFERENCES kernel_sets (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  held_out INTEGER NOT NULL CHECK (held_out IN (0, 1)),
  member INTEGER NOT NULL,
  member_ns REAL NOT NULL,
  best_ns REAL NOT NULL,
  best_variant_id INTEGER REFERENCES variants (id),
  PRIMARY KEY (set_id, workload_id, held_out)
) WITHOUT ROWID, STRICT;

-- The members of every variant: a variant that is no set is its only one. Of a set that was learned twice the later
-- counts.
CREATE VIEW kernel_members AS
SELECT s.variant_id AS variant, m.number, m.variant_id AS member, m.condition, m.fallback
FROM kernel_sets s JOIN set_members m ON m.set_id = s.id
WHERE NOT EXISTS (SELECT 1 FROM kernel_sets t WHERE t.variant_id = s.variant_id AND (t.began_at, t.uid) > (s.began_at, s.uid))
UNION ALL
SELECT v.id, 1, v.id, 'every shape', 1 FROM variants v
WHERE NOT EXISTS (SELECT 1 FROM kernel_sets t WHERE t.variant_id = v.id);

-- Scores of one shape alone are no scores of the definition.
DROP VIEW scores_defined;
CREATE VIEW scores_defined AS
SELECT v.definition_id, e.device_id, s.arch, e.score_ns, e.id AS evaluation_id, e.search_id, e.variant_id, e.shared_bytes,
       p.arm NOT IN ('held_out', 'comparison', 'examination', 'profile') AS searched
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN variants v ON v.id = e.variant_id
JOIN searches s ON s.id = e.search_id
WHERE e.status = 'ok' AND e.score_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
  AND EXISTS (SELECT 1 FROM ranked_definitions r WHERE r.id = v.definition_id)
  AND NOT EXISTS (SELECT 1 FROM set_searches t WHERE t.search_id = e.search_id AND t.role <> 'set');

DROP VIEW best_kernels;
CREATE VIEW best_kernels AS
SELECT definition, device, device_kind, arch, search, variant, evaluation, template, tunables,
       CASE WHEN device_kind <> 'emulator' THEN score_ns / 1000.0 END AS score_us,
       CASE WHEN device_kind = 'emulator' THEN score_ns / 1000.0 END AS emulated_cost_us, confirmed
FROM (SELECT d.name AS definition, dev.name AS device, dev.kind AS device_kind, s.arch, h.search, h.variant, h.evaluation,
             v.name AS template, v.tunables, h.score_ns, h.confirmed,
             row_number() OVER (PARTITION BY s.definition_id, dev.kind, dev.name, s.arch
                                ORDER BY h.score_ns, s.started_at, s.uid) AS number
      FROM champions h JOIN searches s ON s.id = h.search JOIN variants v ON v.id = h.variant
      JOIN ranked_definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
      WHERE NOT EXISTS (SELECT 1 FROM set_searches t WHERE t.search_id = s.id AND t.role <> 'set'))
WHERE number = 1
ORDER BY definition, device, arch;
