// SPDX-License-Identifier: Apache-2.0
// Checks every form of request with the TypeScript types of the providers' own libraries, which know every field and
// refuse others: llm_bodies | node bodies.mjs (scripts/check/check_providers.sh)
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const folder = import.meta.dirname;
const types = {
  // The API's version that is asked for still has `temperature`; the library is of the next one.
  'anthropic-messages': 'Anthropic.MessageCreateParams & { temperature?: number }',
  'anthropic-messages count': 'Anthropic.MessageCountTokensParams',
  'openai-responses count': 'OpenAI.Responses.InputTokenCountParams',
  'openai-chat': 'OpenAI.Chat.ChatCompletionCreateParams',
  'openai-responses': 'OpenAI.Responses.ResponseCreateParams',
};
const wrong = {
  'anthropic-messages': { model: 'm', max_tokens: 1, messages: [], efort: 'high' },
  'openai-chat': { model: 'm', messages: [], reasoning_effort: 'most' },
  'openai-responses': { model: 'm', input: [{ role: 'user' }] },
};

/** Errors that the compiler finds in these requests, each on a line of its own. */
function errors(name, requests) {
  const lines = ["import type Anthropic from '@anthropic-ai/sdk';", "import type OpenAI from 'openai';"];
  for (const { dialect, body } of requests) lines.push(`(${JSON.stringify(body)}) satisfies ${types[dialect]};`);
  const file = path.join(folder, 'node_modules', `${name}.mts`);
  fs.writeFileSync(file, lines.join('\n') + '\n');
  const tsc = path.join(folder, 'node_modules/typescript/bin/tsc');
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext'];
  try {
    execFileSync(process.execPath, [tsc, ...flags, file], { encoding: 'utf8', stdio: 'pipe' });
    return [];
  } catch (error) {
    return error.stdout.trim().split('\n');
  }
}

const requests = fs.readFileSync(0, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
// Bounds that types do not have.
const least = { max_tokens: 1, max_completion_tokens: 1, max_output_tokens: 16 };
for (const { body } of requests) {
  for (const [field, value] of Object.entries(least)) assert.ok(body[field] === undefined || body[field] >= value, JSON.stringify(body));
  assert.ok(!('max_tokens' in body && 'max_completion_tokens' in body), JSON.stringify(body));
}
const found = errors('requests', requests);
if (found.length) {
  console.error(found.slice(0, 20).join('\n'));
  process.exit(1);
}
for (const [dialect, body] of Object.entries(wrong)) {
  if (errors('wrong', [{ dialect, body }]).length === 0) {
    console.error(`the types of ${dialect} let everything pass`);
    process.exit(1);
  }
}
console.log(`${requests.length} requests are what the types of the providers' libraries ask for`);
