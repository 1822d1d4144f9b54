-- Schema version 12. What was asked of language models, by which prompt, and what came of it.

ALTER TABLE llm_calls ADD COLUMN arm TEXT;
ALTER TABLE llm_calls ADD COLUMN raw TEXT;
ALTER TABLE llm_calls ADD COLUMN message TEXT;
ALTER TABLE llm_calls ADD COLUMN stop TEXT;
ALTER TABLE llm_calls ADD COLUMN cached_tokens INTEGER;
ALTER TABLE llm_calls ADD COLUMN tokens_reported INTEGER CHECK (tokens_reported IN (0, 1));
ALTER TABLE llm_calls ADD COLUMN attempts INTEGER;
ALTER TABLE llm_calls ADD COLUMN provider_request TEXT;
ALTER TABLE llm_calls ADD COLUMN latency_ms REAL;
CREATE INDEX proposals_by_llm_call ON proposals (llm_call_id) WHERE llm_call_id IS NOT NULL;

-- What every prompt of every model was worth: a row a session, model and arm.
CREATE VIEW llm_yield AS
SELECT c.session_id AS session, c.model, c.arm, count(DISTINCT c.id) AS calls, count(DISTINCT p.variant_id) AS candidates,
       count(DISTINCT CASE WHEN e.status = 'ok' THEN p.variant_id END) AS verified,
       min(CASE WHEN e.status = 'ok' AND dev.kind <> 'emulator' THEN e.score_ns END) / 1000.0 AS best_us,
       min(CASE WHEN e.status = 'ok' AND dev.kind = 'emulator' THEN e.score_ns END) / 1000.0 AS best_emulated_cost_us
FROM llm_calls c LEFT JOIN proposals p ON p.llm_call_id = c.id LEFT JOIN evaluations e ON e.proposal_id = p.id
LEFT JOIN devices dev ON dev.id = e.device_id
GROUP BY c.session_id, c.model, c.arm;
