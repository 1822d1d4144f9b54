// SPDX-License-Identifier: Apache-2.0
// Serves a model as OpenAI's Chat Completions on the loopback interface, one request at a time, and prints its port.
// node serve.mjs MODEL_FILE (scripts/check/check_tiny_model.sh)
import http from 'node:http';
import { getLlama, LlamaCompletion } from 'node-llama-cpp';

const contextTokens = 1024;  // its tokens are single characters: small, for short times
// One thread: with more, threads that wait for each other take all of a small machine.
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: 'error', progressLogs: false });
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ contextSize: contextTokens, threads: 1 });
const sequence = context.getSequence();

// Free text is rarely an answer of any form, so most answers are nonsense within one. Of bigrams, that is.
const rules = `
text ::= [^\\x60<>=]{10,40}
number ::= "-"? [0-9]{1,9}
name ::= "BLOCK" | "VEC_BYTES" | "N" | [A-Z]{1,8}
fence ::= "\\x60\\x60\\x60"
`;
const forms = [
  'root ::= fence "json\\n{\\"tunables\\": {\\"" name "\\": " number "}}\\n" fence',
  'root ::= "<<<<<<< SEARCH\\n" (text | "const long long first" | "}") "\\n=======\\n" text "\\n>>>>>>> REPLACE\\n"',
  'root ::= fence "cuda\\n/* alphakernel\\n{\\"tunables\\": {\\"BLOCK\\": {\\"values\\": [64, 128" (", " number)? "], \\"default\\": 128}}, ' +
    '\\"launches\\": [{\\"kernel\\": \\"k\\", \\"grid\\": [" number "], \\"block\\": [" ("BLOCK" | number) "], \\"args\\": [\\"a\\", \\"b\\", \\"c\\"]}]}\\n*/\\n' +
    '__global__ void k(const float* a, const float* b, float* c) {\\n  " ("c[threadIdx.x] = a[blockIdx.x];" | text) "\\n}\\n" fence',
];
const grammars = [undefined];
for (const form of forms) grammars.push(await llama.createGrammar({ grammar: `${form}\n${rules}` }));
let answers = 0;

function send(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
const refuse = (response, status, message) =>
  send(response, status, { error: { message, type: 'invalid_request_error', param: null, code: null } });

async function answer(body, response) {
  let request;
  try {
    request = JSON.parse(body);
  } catch {
    return refuse(response, 400, 'bad JSON');
  }
  if (!Array.isArray(request.messages) || request.messages.length === 0) return refuse(response, 400, "'messages' is required");
  const most = Math.min(request.max_completion_tokens ?? request.max_tokens ?? 256, contextTokens * 3 / 8);
  const prompt = model.tokenize(request.messages.map((message) => message.content).join('\n') + '\n');
  const read = prompt.slice(-contextTokens / 2);  // what does not fit is cut, as other servers do
  await sequence.clearHistory();
  const base = { id: `chatcmpl-${Date.now()}`, created: Math.floor(Date.now() / 1000), model: request.model ?? 'tiny' };
  const chunk = (more) => response.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...more })}\n\n`);
  const piece = (delta, finish_reason = null) => chunk({ choices: [{ index: 0, delta, finish_reason }] });
  if (request.stream) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    piece({ role: 'assistant', content: '' });
  }
  let written = 0;
  const completion = new LlamaCompletion({ contextSequence: sequence });
  const { response: text, metadata } = await completion.generateCompletionWithMeta(read, {
    grammar: grammars[answers++ % grammars.length], maxTokens: most, temperature: request.temperature ?? 0.8, seed: request.seed,
    onToken: (tokens) => { written += tokens.length; },
    onTextChunk: (content) => request.stream && piece({ content }),
  });
  completion.dispose({ disposeSequence: false });
  const reason = metadata.stopReason === 'maxTokens' ? 'length' : 'stop';
  const usage = { prompt_tokens: read.length, completion_tokens: written, total_tokens: read.length + written };
  if (!request.stream)
    return send(response, 200, { ...base, object: 'chat.completion', usage,
      choices: [{ index: 0, message: { role: 'assistant', content: text, refusal: null }, logprobs: null, finish_reason: reason }] });
  piece({}, reason);
  if (request.stream_options?.include_usage) chunk({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

let last = Promise.resolve();
const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (data) => { body += data; }).on('end', () => {
    if (request.url === '/v1/models') return send(response, 200, { object: 'list', data: [{ id: 'tiny', object: 'model' }] });
    if (request.url !== '/v1/chat/completions') return refuse(response, 404, 'Not found');
    last = last.then(() => answer(body, response)).catch((error) => {
      response.headersSent ? response.destroy() : refuse(response, 500, String(error));
    });
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
