-- Schema version 1. Documented column by column in docs/schema.md; a public interface: version 18 alone changes names.
-- Times are nanoseconds or milliseconds as the name says; started_at and ended_at are ISO 8601 UTC texts.

CREATE TABLE environments (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  content_hash TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  operating_system TEXT NOT NULL,
  driver_version INTEGER NOT NULL,
  alphakernel_version TEXT NOT NULL
) STRICT;

CREATE TABLE devices (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  uuid TEXT NOT NULL,
  arch TEXT NOT NULL,
  sm_count INTEGER NOT NULL,
  l2_bytes INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  peak_bandwidth_gbps REAL,
  facts TEXT NOT NULL CHECK (json_valid(facts)),
  UNIQUE (kind, name, uuid, arch)
) STRICT;

CREATE TABLE definitions (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  content_hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  problem TEXT NOT NULL,
  params TEXT NOT NULL CHECK (json_valid(params)),
  definition TEXT NOT NULL CHECK (json_valid(definition))
) STRICT;

CREATE TABLE workloads (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  definition_id INTEGER NOT NULL REFERENCES definitions (id),
  name TEXT NOT NULL,
  workload_uid TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  axes TEXT NOT NULL CHECK (json_valid(axes)),
  tier TEXT NOT NULL,
  weight REAL NOT NULL,
  checked INTEGER NOT NULL,
  timed INTEGER NOT NULL,
  flops INTEGER,
  bytes_read INTEGER,
  bytes_written INTEGER,
  UNIQUE (definition_id, content_hash)
) STRICT;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  definition_id INTEGER NOT NULL REFERENCES definitions (id),
  device_id INTEGER NOT NULL REFERENCES devices (id),
  environment_id INTEGER NOT NULL REFERENCES environments (id),
  arch TEXT NOT NULL,
  command TEXT NOT NULL,
  proposer TEXT NOT NULL,
  strategy TEXT NOT NULL,
  seed INTEGER NOT NULL,
  budgets TEXT NOT NULL CHECK (json_valid(budgets)),
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  best_variant_id INTEGER REFERENCES variants (id),
  started_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;

CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  content_hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE variants (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  definition_id INTEGER NOT NULL REFERENCES definitions (id),
  source_id INTEGER NOT NULL REFERENCES sources (id),
  variant_hash TEXT NOT NULL,
  name TEXT NOT NULL,
  plan TEXT NOT NULL CHECK (json_valid(plan)),
  params TEXT NOT NULL CHECK (json_valid(params)),
  tunables TEXT NOT NULL CHECK (json_valid(tunables)),
  UNIQUE (definition_id, variant_hash)
) STRICT;

CREATE TABLE llm_calls (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  model TEXT NOT NULL,
  prompt_version TEXT NOT NULL,
  request TEXT NOT NULL,
  answer TEXT,
  status TEXT NOT NULL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cost_usd REAL,
  started_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;

CREATE TABLE proposals (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  variant_id INTEGER NOT NULL REFERENCES variants (id),
  iteration INTEGER NOT NULL,
  proposer TEXT NOT NULL,
  arm TEXT NOT NULL,
  llm_call_id INTEGER REFERENCES llm_calls (id)
) STRICT;
CREATE INDEX proposals_by_session ON proposals (session_id, iteration);

CREATE TABLE variant_parents (
  variant_id INTEGER NOT NULL REFERENCES variants (id),
  parent_id INTEGER NOT NULL REFERENCES variants (id),
  PRIMARY KEY (variant_id, parent_id)
) STRICT;

CREATE TABLE builds (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  variant_id INTEGER NOT NULL REFERENCES variants (id),
  arch TEXT NOT NULL,
  build_key TEXT NOT NULL,
  options TEXT NOT NULL CHECK (json_valid(options)),
  nvrtc_version TEXT NOT NULL,
  status TEXT NOT NULL,
  cubin_hash TEXT,
  cubin_bytes INTEGER,
  ptx_bytes INTEGER,
  compile_ms REAL NOT NULL,
  cache_hit INTEGER NOT NULL CHECK (cache_hit IN (0, 1)),
  log TEXT NOT NULL,
  UNIQUE (variant_id, build_key)
) STRICT;

CREATE TABLE build_kernels (
  id INTEGER PRIMARY KEY,
  build_id INTEGER NOT NULL REFERENCES builds (id),
  kernel TEXT NOT NULL,
  lowered_name TEXT NOT NULL,
  registers INTEGER NOT NULL,
  static_shared_bytes INTEGER NOT NULL,
  spill_store_bytes INTEGER NOT NULL,
  spill_load_bytes INTEGER NOT NULL,
  stack_bytes INTEGER NOT NULL,
  occupancy_ratio REAL,
  UNIQUE (build_id, kernel)
) STRICT;

CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  proposal_id INTEGER NOT NULL REFERENCES proposals (id),
  variant_id INTEGER NOT NULL REFERENCES variants (id),
  build_id INTEGER REFERENCES builds (id),
  device_id INTEGER NOT NULL REFERENCES devices (id),
  depth TEXT NOT NULL,
  input_seed INTEGER NOT NULL,
  request TEXT NOT NULL CHECK (json_valid(request)),
  status TEXT NOT NULL,
  stage TEXT NOT NULL,
  message TEXT NOT NULL,
  diagnostics TEXT NOT NULL CHECK (json_valid(diagnostics)),
  score_ns REAL,
  occupancy_ratio REAL,
  occupancy_limiter TEXT,
  cache_hit INTEGER NOT NULL CHECK (cache_hit IN (0, 1)),
  queue_ms REAL NOT NULL,
  build_ms REAL NOT NULL,
  device_wait_ms REAL NOT NULL,
  check_ms REAL NOT NULL,
  time_ms REAL NOT NULL,
  gpu_busy_ms REAL NOT NULL,
  total_ms REAL NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL
) STRICT;
CREATE INDEX evaluations_by_session ON evaluations (session_id);
CREATE INDEX evaluations_by_variant ON evaluations (variant_id);

CREATE TABLE checks (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  distribution TEXT NOT NULL,
  input_seed INTEGER NOT NULL,
  tensor TEXT NOT NULL,
  passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
  max_error REAL,
  mean_error REAL,
  tolerance REAL,
  worst_index INTEGER,
  worst_expected REAL,
  worst_got REAL,
  nonfinite_mismatches INTEGER NOT NULL
) STRICT;
CREATE INDEX checks_by_evaluation ON checks (evaluation_id, workload_id);

CREATE TABLE measurements (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  role TEXT NOT NULL,
  label TEXT NOT NULL,
  method TEXT NOT NULL,
  cold INTEGER NOT NULL CHECK (cold IN (0, 1)),
  samples BLOB NOT NULL CHECK (length(samples) % 4 = 0),
  launches_per_sample INTEGER NOT NULL,
  truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
  median_ns REAL,
  ci_low_ns REAL,
  ci_high_ns REAL,
  sm_clock_mhz INTEGER,
  memory_clock_mhz INTEGER,
  temperature_c INTEGER,
  throttle_reasons TEXT NOT NULL
) STRICT;
CREATE INDEX measurements_by_evaluation ON measurements (evaluation_id, workload_id);
CREATE INDEX baseline_measurements ON measurements (workload_id, evaluation_id) WHERE role = 'baseline';

CREATE TABLE metrics (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id),
  workload_id INTEGER REFERENCES workloads (id),
  kernel TEXT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  value REAL NOT NULL
) STRICT;
CREATE INDEX metrics_by_evaluation ON metrics (evaluation_id);

CREATE TABLE predictions (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  variant_id INTEGER NOT NULL REFERENCES variants (id),
  workload_id INTEGER NOT NULL REFERENCES workloads (id),
  device_id INTEGER NOT NULL REFERENCES devices (id),
  model TEXT NOT NULL,
  predicted_ns REAL NOT NULL
) STRICT;

CREATE TABLE insights (
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL UNIQUE CHECK (length(uid) = 16),
  session_id INTEGER REFERENCES sessions (id),
  definition_id INTEGER REFERENCES definitions (id),
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  evidence TEXT NOT NULL CHECK (json_valid(evidence)),
  created_at TEXT NOT NULL
) STRICT;

-- One row an evaluation that was timed, fastest first within a definition and device.
CREATE VIEW leaderboard AS
SELECT d.name AS definition, dev.name AS device, s.arch, v.id AS variant, v.name AS template, v.tunables,
       e.score_ns / 1000.0 AS score_us, e.status, e.session_id AS session,
       rank() OVER (PARTITION BY d.id, dev.id, s.arch ORDER BY e.score_ns) AS place
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
JOIN sessions s ON s.id = e.session_id JOIN devices dev ON dev.id = e.device_id
WHERE e.status = 'ok' AND e.score_ns IS NOT NULL
ORDER BY definition, device, score_us;

-- The champion each session ended with.
CREATE VIEW best_variants AS
SELECT s.id AS session, d.name AS definition, dev.name AS device, s.arch, s.best_variant_id AS variant, v.name AS template,
       v.tunables, min(e.score_ns) / 1000.0 AS score_us, s.started_at, s.command
FROM sessions s
JOIN variants v ON v.id = s.best_variant_id JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN evaluations e ON e.session_id = s.id AND e.variant_id = v.id AND e.status = 'ok'
GROUP BY s.id;

-- Every evaluation of a session in order, with the best score so far.
CREATE VIEW progress AS
SELECT e.session_id AS session, p.iteration, e.variant_id AS variant, e.status, e.score_ns / 1000.0 AS score_us,
       min(CASE WHEN e.status = 'ok' THEN e.score_ns END) OVER (PARTITION BY e.session_id ORDER BY e.id) / 1000.0 AS best_so_far_us, e.ended_at
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
ORDER BY e.session_id, e.id;

-- What failed, where and why.
CREATE VIEW failures AS
SELECT e.session_id AS session, d.name AS definition, e.variant_id AS variant, v.name AS template, v.tunables, e.status, e.stage, e.message
FROM evaluations e JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id
WHERE e.status NOT IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted');

-- Tokens and money of each session.
CREATE VIEW spend AS
SELECT session_id AS session, model, count(*) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cost_usd) AS cost_usd
FROM llm_calls GROUP BY session_id, model;

-- One row a session: what was tried and what came of it.
CREATE VIEW experiments AS
SELECT s.id AS session, d.name AS definition, dev.name AS device, s.arch, s.proposer, s.strategy, s.seed, s.status, s.reason,
       count(e.id) AS evaluations, count(*) FILTER (WHERE e.status = 'ok') AS verified, min(CASE WHEN e.status = 'ok' THEN e.score_ns END) / 1000.0 AS best_us,
       s.started_at, s.ended_at, s.command
FROM sessions s JOIN definitions d ON d.id = s.definition_id JOIN devices dev ON dev.id = s.device_id
LEFT JOIN evaluations e ON e.session_id = s.id
GROUP BY s.id;

-- Where the time of each session went, mean milliseconds an evaluation.
CREATE VIEW stage_time_summary AS
SELECT session_id AS session, count(*) AS evaluations, avg(queue_ms) AS queue_ms, avg(build_ms) AS build_ms, avg(device_wait_ms) AS device_wait_ms,
       avg(check_ms) AS check_ms, avg(time_ms) AS time_ms, avg(gpu_busy_ms) AS gpu_busy_ms, avg(total_ms) AS total_ms, sum(gpu_busy_ms) AS gpu_busy_total_ms
FROM evaluations GROUP BY session_id;

-- One row an evaluation and workload it touched, in the terms benchmark suites use; an evaluation that reached no
-- workload (compiled_only, compile_error, ...) has one row without workload. NULL where not known.
CREATE VIEW benchmark_results AS
WITH baselines AS (
  SELECT e.session_id, m.workload_id, m.cold,
         min(m.median_ns) FILTER (WHERE m.label = 'naive') AS naive_ns,
         min(m.median_ns) FILTER (WHERE m.label LIKE 'pytorch%') AS pytorch_ns,
         min(m.median_ns) AS fastest_ns
  FROM measurements m JOIN evaluations e ON e.id = m.evaluation_id
  WHERE m.role = 'baseline'
  GROUP BY e.session_id, m.workload_id, m.cold)
SELECT d.name AS definition, w.name AS workload, v.id AS variant, v.name AS template, v.tunables, dev.name AS device,
       e.session_id AS session, e.id AS evaluation, e.status, m.method, m.cold,
       CASE WHEN e.status = 'ok' THEN 1
            WHEN e.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race') THEN 0
            ELSE (SELECT min(c.passed) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) END AS output_correct,
       (SELECT max(c.max_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS max_error,
       (SELECT avg(c.mean_error) FROM checks c WHERE c.evaluation_id = e.id AND c.workload_id = w.id) AS mean_error,
       w.flops / m.median_ns / 1000.0 AS throughput_tflops,
       m.median_ns / 1e6 AS latency_ms,
       (w.bytes_read + w.bytes_written) / m.median_ns AS memory_bandwidth_gbs,
       e.occupancy_ratio AS occupancy,
       (SELECT k.value FROM metrics k WHERE k.evaluation_id = e.id AND k.name = 'sm/efficiency'
        AND (k.workload_id IS NULL OR k.workload_id = w.id) ORDER BY k.workload_id DESC LIMIT 1) AS sm_efficiency,
       (w.bytes_read + w.bytes_written) / m.median_ns / nullif(dev.peak_bandwidth_gbps, 0) AS memory_efficiency,
       (SELECT max(b.registers) FROM build_kernels b WHERE b.build_id = e.build_id) AS register_usage,
       (SELECT max(b.static_shared_bytes) FROM build_kernels b WHERE b.build_id = e.build_id) AS shared_mem_usage,
       base.naive_ns / m.median_ns AS speedup_vs_naive,
       base.pytorch_ns / m.median_ns AS speedup_vs_pytorch,
       100.0 * base.fastest_ns / m.median_ns AS pct_of_reference
FROM evaluations e
JOIN variants v ON v.id = e.variant_id JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
LEFT JOIN workloads w ON w.definition_id = d.id
  AND (EXISTS (SELECT 1 FROM measurements x WHERE x.evaluation_id = e.id AND x.workload_id = w.id AND x.role = 'candidate')
       OR EXISTS (SELECT 1 FROM checks x WHERE x.evaluation_id = e.id AND x.workload_id = w.id))
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.workload_id = w.id AND m.role = 'candidate'
LEFT JOIN baselines base ON base.session_id = e.session_id AND base.workload_id = w.id AND base.cold = m.cold;
