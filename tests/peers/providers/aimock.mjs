// SPDX-License-Identifier: Apache-2.0
// Runs `alphakernel generate` against @copilotkit/aimock: every dialect, whole and streamed, and every fault that it
// can play. node aimock.mjs PROGRAM SOURCE_FOLDER quick|all (scripts/check/check_providers.sh)
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { LLMock } from '@copilotkit/aimock';

EventEmitter.defaultMaxListeners = 0;  // streams with many delays would be reported as leaks
const [program, source, mode] = process.argv.slice(2);
const execute = promisify(execFile);
const kernel = fs.readFileSync(path.join(source, 'tests/tools/llm/4_fast.md'), 'utf8');
const key = 'right-key-0123456789';
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'ak_aimock_'));
process.on('exit', () => fs.rmSync(work, { recursive: true }));

const price = { input: 1, output: 10 };
const models = [{ name: 'streamed', usd_per_million: price }, { name: 'whole', stream: false, usd_per_million: price }];
const providers = ['anthropic', 'openai', 'local'];
fs.writeFileSync(path.join(work, 'models.json'),
  JSON.stringify(providers.map((provider) => ({ provider, source: 'a test', models }))));

const dialects = {
  anthropic: { model: (url, name) => `anthropic:${name}`, path: '/v1/messages', usage: ['input_tokens', 'output_tokens'] },
  responses: { model: (url, name) => `openai:${name}`, path: '/v1/responses', usage: ['input_tokens', 'output_tokens'] },
  chat: { model: (url, name) => `openai-chat:${name}`, path: '/v1/chat/completions', usage: ['prompt_tokens', 'completion_tokens'] },
  local: { model: (url, name) => `local:${url}/v1#${name}`, path: '/v1/chat/completions', usage: ['prompt_tokens', 'completion_tokens'] },
};

/**
 * One run of the program until the mock has no more answers: rows of llm_calls and what the mock saw.
 * @param passing the chaos is over as soon as a request for an answer has met it
 */
async function run(name, dialect, model, steps, { chaos, passing = false, env = {}, config = {} } = {}) {
  const mock = new LLMock({ port: 0, auth: { apiKeys: [key] }, chunkSize: 7 });
  let served = 0;  // its own sequenceIndex counts evaluations, also those that chaos ended
  steps.forEach(({ answer, ...options }, index) =>
    mock.on({ predicate: () => served === index }, () => (++served, answer), options));
  await mock.start();
  if (chaos) mock.setChaos(chaos);
  const isHit = () => mock.getRequests().some(({ path: where }) => where === dialects[dialect].path);
  const clearing = passing && setInterval(() => isHit() && mock.clearChaos(), 10);
  const folder = fs.mkdtempSync(path.join(work, 'run_'));
  fs.writeFileSync(path.join(work, 'config.json'), JSON.stringify(config));
  const environment = {
    PATH: process.env.PATH, HOME: folder, ALPHAKERNEL_DB: path.join(folder, 'a.db'),
    ALPHAKERNEL_CACHE: path.join(work, 'cache'), ALPHAKERNEL_CONFIG: path.join(work, 'config.json'),
    ANTHROPIC_BASE_URL: mock.url, ANTHROPIC_API_KEY: key, OPENAI_BASE_URL: `${mock.url}/v1`, OPENAI_API_KEY: key,
    ALPHAKERNEL_LOCAL_KEY: key, ...env,
  };
  const alphakernel = (...args) => execute(program, args, { env: environment, maxBuffer: 1 << 26 });
  const output = await alphakernel('generate', '-q', '--algorithm', 'vector_add', '--device', 'emulator', '--arch',
    'sm_80', '--seed', '1', '--proposer', 'llm', '--model', dialects[dialect].model(mock.url, model), '--output',
    path.join(folder, 'k.cu')).catch((error) => error);
  const sql = 'SELECT status, attempts, input_tokens, output_tokens, tokens_reported, cost_usd, message, answer FROM llm_calls ORDER BY id';
  const began = fs.existsSync(environment.ALPHAKERNEL_DB);
  assert.ok(began || output.code === 5, `${name}: ended with ${output.code}: ${output.stderr}`);
  const rows = began ? JSON.parse((await alphakernel('query', '--json', sql)).stdout) : [];
  clearInterval(clearing);
  const seen = mock.getRequests();
  await mock.stop();
  const all = output.stdout + output.stderr + JSON.stringify(rows);
  assert.ok(!all.includes(key), `${name}: the key was shown`);
  console.log(`${name.padEnd(44)} ${rows.map((row) => `${row.status}/${row.attempts}`).join(' ') || 'code 5'}`);
  return { rows, seen, output };
}

const answer = (content = kernel, more = {}) => ({ answer: { content, ...more } });
const failing = (status, type, message, more = {}) => ({ answer: { error: { type, message, code: type }, status, ...more } });
const statuses = (rows) => rows.map((row) => row.status);
let cases = 0;
async function check(name, dialect, model, steps, expected, more = {}) {
  const result = await run(`${dialect} ${model}: ${name}`, dialect, model, steps, more);
  assert.deepEqual(statuses(result.rows), expected, JSON.stringify(result.rows.map(({ answer, ...rest }) => rest), null, 1) + result.output.stderr);
  ++cases;
  return result;
}

for (const [dialect, { path: where, usage: [input, output] }] of Object.entries(dialects)) {
  for (const model of ['streamed', 'whole']) {
    const told = answer(kernel, { usage: { [input]: 5000, [output]: 700 }, reasoning: 'Wider loads.' });
    const { rows, seen } = await check('an answer, then no fixture', dialect, model, [told], ['ok', 'no_model']);
    assert.deepEqual([rows[0].input_tokens, rows[0].output_tokens, rows[0].tokens_reported], [5000, 700, 1]);
    assert.equal(rows[0].cost_usd, 0.012);
    assert.ok(rows[0].answer.endsWith(kernel), rows[0].answer);
    const asked = seen.filter(({ path: at }) => !/models|count_tokens|input_tokens/.test(at));
    assert.ok(asked.every((request) => request.path === where), JSON.stringify(seen.map((request) => request.path)));
  }
  if (mode === 'quick') continue;
  const again = await check('529, 500, 503, 429, then an answer', dialect, 'streamed',
    [failing(529, 'overloaded_error', 'full'), failing(500, 'api_error', 'oops'), failing(503, 'server_error', 'no'),
      failing(429, 'rate_limit_error', 'slow down', { retryAfter: 2 }), answer()], ['ok', 'no_model']);
  assert.equal(again.rows[0].attempts, 5);
  const times = again.seen.map((request) => request.timestamp);
  assert.ok(times[4] - times[3] >= 1990, `retry-after was not kept: ${times[4] - times[3]} ms`);

  const cut = await check('a stream that is cut, one that is reset', dialect, 'streamed',
    [{ ...answer(), latency: 5, truncateAfterChunks: 20 }, { ...answer(), latency: 20, disconnectAfterMs: 400 }, answer()],
    ['cut_short', 'cut_short', 'ok', 'no_model']);
  assert.ok(cut.rows.slice(0, 2).every((row) => row.output_tokens > 0 && row.attempts === 1));

  await check('no money', dialect, 'whole', [failing(429, 'insufficient_quota', 'no credit')], ['quota']);
  await check('too long, invalid', dialect, 'whole',
    [failing(413, 'request_too_large', 'too large'), failing(400, 'invalid_request_error', 'no'), answer()],
    ['too_long', 'rejected', 'ok', 'no_model']);
  // Found before the run begins, which leaves no database behind.
  const wrong = await check('a wrong key', dialect, 'streamed', [answer()], [],
    { env: { ANTHROPIC_API_KEY: 'wrong-key', OPENAI_API_KEY: 'wrong-key', ALPHAKERNEL_LOCAL_KEY: 'wrong-key' } });
  assert.match(wrong.output.stderr, /cannot be asked: auth: .*; check the key/);
  for (const chaos of [{ dropRate: 1 }, { rateLimitRate: 1 }, { disconnectRate: 1 }]) {
    const { rows } = await check(`${Object.keys(chaos)[0]}, then an answer`, dialect, 'streamed', [answer()], ['ok', 'no_model'], { chaos, passing: true });
    assert.ok(rows[0].attempts > 1);
  }
  await check('broken JSON five times', dialect, 'streamed', [answer()],
    ['malformed', 'malformed', 'malformed', 'malformed', 'malformed'], { chaos: { malformedRate: 1 } });
}
// The mock answers every request of a batch with the same sentence, which is no candidate.
if (mode !== 'quick') {
  for (const dialect of ['responses', 'chat']) {
    const { rows, seen } = await run(`${dialect} in batches`, dialect, 'streamed', [], { config: { llm_batches: true, max_minutes: 1 } });
    assert.ok(rows.length > 0 && rows[0].status === "ok" && rows.every(({ status }) => status === "ok" || status === "cancelled"), JSON.stringify(rows));
    assert.ok(seen.some((request) => request.path === '/v1/batches'));
    ++cases;
  }
}
console.log(`${cases} runs against aimock went as they should`);
