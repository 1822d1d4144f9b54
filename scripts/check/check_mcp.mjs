// SPDX-License-Identifier: Apache-2.0
// Drives `alphakernel mcp` with @modelcontextprotocol/client: node check_mcp.mjs PROGRAM legacy|auto (check_mcp.sh)
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [program, era] = process.argv.slice(2);
const options = era === 'legacy' ? {} : { versionNegotiation: { mode: era } };
const client = new Client({ name: 'check', version: '1' }, options);
const transport = new StdioClientTransport({ command: program, args: ['mcp'], env: process.env, stderr: 'inherit' });
await client.connect(transport);
const version = client.getNegotiatedProtocolVersion();
console.log('revision', version, 'server', JSON.stringify(client.getServerVersion()));
assert.equal(version, era === 'legacy' ? '2025-11-25' : '2026-07-28');

const { tools } = await client.listTools();
console.log('tools', tools.map((tool) => tool.name).join(' '));
assert.ok(tools.length > 10);

const patience = { timeout: 600_000 };
const call = (name, args = {}, more = {}) => client.callTool({ name, arguments: args }, { ...patience, ...more });
const overview = await call('show_problem', { problem: 'vector_add' });
assert.ok(JSON.stringify(overview.structuredContent).length < 6000);
const shown = await call('show_problem', { problem: 'vector_add', section: 'example' });
const onCpu = { source: shown.structuredContent.example.source, problem: 'vector_add', device: 'emulator', wait_s: 600 };
let progress = 0;
const right = await call('evaluate', onCpu, { onprogress: () => progress++ });
assert.equal(right.structuredContent.status, 'ok');
console.log('evaluate', right.structuredContent.status, right.structuredContent.checks, 'progress', progress);
const wrong = await call('evaluate', { ...onCpu, source: onCpu.source.replace(' + static_cast<float>(y)', '') });
assert.equal(wrong.isError, true);
assert.equal(wrong.structuredContent.gate, 'tolerance');
const why = await call('explain_failure', { variant: wrong.structuredContent.variant });
console.log('explain', why.structuredContent.gate.name, '-', why.structuredContent.try[0]);

const job = await call('evaluate', { ...onCpu, wait_s: 0 });
const done = await call('job_result', { job: job.structuredContent.job, wait_s: 600 });
assert.equal(done.structuredContent.status, 'ok');
const abort = new AbortController();
const stopped = call('evaluate', onCpu, { signal: abort.signal });
setTimeout(() => abort.abort(), 100);
await assert.rejects(stopped);

// The rest of a task: tune, compare, explain, export, and a session that runs on by itself.
const tuned = await call('tune', { ...onCpu, shape: { N: 1000 }, max_evaluations: 3, seed: 1, wait_s: 600 });
console.log('tune', tuned.structuredContent.verified, 'verified, best', tuned.structuredContent.best.tunables);
const pair = { first: String(right.structuredContent.variant), second: String(tuned.structuredContent.best.variant) };
console.log('compare', (await call('compare', { ...pair, wait_s: 120 })).structuredContent.why);
const explained = await call('explain', { variant: tuned.structuredContent.best.variant, wait_s: 120 });
for (const limit of explained.structuredContent.limits) assert.ok(!limit.bottleneck || limit.evidence);
console.log('explain', explained.structuredContent.limits[0].bottleneck);
const exported = await call('export_kernel', { variant: tuned.structuredContent.best.variant, folder: `out_${era}` });
console.log('export', exported.structuredContent.files.length, 'files');
fs.writeFileSync('night.json', JSON.stringify({ runs: [{ algorithm: 'vector_add', device: 'none', arch: 'sm_90a' }] }));
const session = await call('start_session', { manifest: 'night.json', wait_s: 120 });
const ended = await call('stop_session', { session: session.structuredContent.session, wait_s: 120 });
console.log('session', session.structuredContent.state, 'then', ended.structuredContent.state);
assert.equal(ended.structuredContent.state, 'stopped');

const rows = await call('query', { sql: 'SELECT status, count(*) FROM evaluations GROUP BY status' });
console.log('query', JSON.stringify(rows.structuredContent.rows));
await assert.rejects(call('no_such_tool'), (error) => error.code === -32602);
assert.equal((await call('query', { sql: 5 })).isError, true);
await client.close();
console.log('ok');
