// SPDX-License-Identifier: Apache-2.0
// The model behind a coding agent: OpenAI's Responses and Anthropic's Messages, streamed. It answers a prompt of
// AlphaKernel's with a kernel, and any other by calling the tool `evaluate` and repeating what came of it.
// node mock.mjs ANSWER_FILE LOG_FILE; prints its port (scripts/check/check_agent_clis.sh)
import fs from 'node:fs';
import http from 'node:http';

const [answerFile, logFile] = process.argv.slice(2);
const kernel = fs.readFileSync(answerFile, 'utf8');
const source = /```cuda\n([\s\S]*)```/.exec(kernel)[1];
const call = { source, problem: 'vector_add', device: 'emulator', wait_s: 120 };
const log = (text) => fs.appendFileSync(logFile, text + '\n');
let number = 0;

/** The call of `evaluate`, with what this one takes: of a search's own it is known what it evaluates, and where. */
function callOf(tool) {
  const known = (tool.parameters ?? tool.input_schema)?.properties ?? call;
  return JSON.stringify(Object.fromEntries(Object.entries(call).filter(([name]) => name in known)));
}

/** What the model says: a text, or a call of a tool by the name that the agent gives it. */
function decide(request, tools, results) {
  const text = JSON.stringify(request);
  if (text.includes('/* alphakernel') && !text.includes('Call the tool evaluate')) return { text: kernel };
  if (results.length) return { text: `The tool answered: ${results.at(-1)}` };
  const tool = tools.find(({ name }) => name.endsWith('evaluate'));
  return tool ? { tool } : { text: `no tool evaluate among ${tools.map(({ name }) => name).join(' ')}` };
}

function stream(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

function responses(request, response) {
  const tools = (request.tools ?? []).flatMap((tool) =>
    tool.type === 'namespace' ? tool.tools.map((inner) => ({ ...inner, namespace: tool.name })) : [tool]);
  const results = request.input.filter(({ type }) => type === 'function_call_output')
    .map(({ output }) => typeof output === 'string' ? output : JSON.stringify(output));
  const said = decide(request.input, tools.filter(({ name }) => name), results);
  const id = `resp_${++number}`;
  const item = said.tool
    ? { type: 'function_call', id: `fc_${number}`, call_id: `call_${number}`, name: said.tool.name, arguments: callOf(said.tool), status: 'completed',
        ...(said.tool.namespace ? { namespace: said.tool.namespace } : {}) }
    : { type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: said.text, annotations: [] }] };
  const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 15 };
  const base = { id, object: 'response', created_at: 0, model: request.model };
  stream(response, [
    { type: 'response.created', sequence_number: 0, response: { ...base, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...item, status: 'in_progress' } },
    { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item },
    { type: 'response.completed', sequence_number: 3, response: { ...base, status: 'completed', output: [item], usage } },
  ]);
}

function messages(request, response) {
  const blocks = request.messages.flatMap(({ content }) => Array.isArray(content) ? content : []);
  const results = blocks.filter(({ type }) => type === 'tool_result')
    .map(({ content }) => typeof content === 'string' ? content : JSON.stringify(content));
  const said = decide(request.messages, request.tools ?? [], results);
  const [block, delta] = said.tool
    ? [{ type: 'tool_use', id: `toolu_${++number}`, name: said.tool.name, input: {} }, { type: 'input_json_delta', partial_json: callOf(said.tool) }]
    : [{ type: 'text', text: '' }, { type: 'text_delta', text: said.text }];
  const message = { id: `msg_${++number}`, type: 'message', role: 'assistant', model: request.model, content: [], stop_reason: null,
    stop_sequence: null, usage: { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } };
  stream(response, [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: said.tool ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]);
}

const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (data) => { body += data; }).on('end', () => {
    const path = request.url.split('?')[0];
    log(`${request.method} ${request.url} ${body.length} bytes`);
    if (request.method === 'POST' && path === '/v1/responses') return responses(JSON.parse(body), response);
    if (request.method === 'POST' && path === '/v1/messages') return messages(JSON.parse(body), response);
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end('{"type":"error","error":{"type":"not_found_error","message":"Not found"}}');
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
