#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lets two coding agents, Codex and Claude Code, write kernels as `llm_commands` and as `agent:NAME`, and call the MCP server's tools. The
# model behind them is a mock, and nothing leaves the machine: it needs root for a network namespace. Downloads 760 MB
# the first time, so it runs only with AK_AGENT_CLI=1. Usage: AK_AGENT_CLI=1 scripts/check/check_agent_clis.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "${AK_AGENT_CLI:-}" = 1 ] || { echo "skipped: AK_AGENT_CLI=1 lets it run"; exit 77; }
if [ "${AK_IN_NAMESPACE:-}" != 1 ]; then
  scripts/check/peers.sh agents
  AK_IN_NAMESPACE=1 exec unshare --net "$0" "$@"
fi
ip link set lo up
program=$(realpath "${1:-build/release}")/bin/alphakernel
peer=$PWD/tests/peers/agents
codex=$peer/node_modules/.bin/codex
claude=$peer/node_modules/@anthropic-ai/claude-code-linux-x64/claude
work=$(mktemp -d)
trap 'kill "${mock:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/home/.codex"
node "$peer/mock.mjs" tests/tools/llm/4_fast.md "$work/log" >"$work/port" &
mock=$!
while [ ! -s "$work/port" ]; do kill -0 $mock && sleep 0.1; done
url=http://127.0.0.1:$(cat "$work/port")

server_environment='{"ALPHAKERNEL_DB": "'$work'/mcp.db", "ALPHAKERNEL_CACHE": "'$work'/cache"}'
cat >"$work/home/.codex/config.toml" <<EOF
model = "mock-model"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "$url/v1"
wire_api = "responses"
[mcp_servers.alphakernel]
command = "$program"
args = ["mcp"]
env = { ALPHAKERNEL_DB = "$work/mcp.db", ALPHAKERNEL_CACHE = "$work/cache" }
required = true
tool_timeout_sec = 600
default_tools_approval_mode = "approve"
EOF
cat >"$work/mcp.json" <<EOF
{"mcpServers": {"alphakernel": {"type": "stdio", "command": "$program", "args": ["mcp"], "env": $server_environment}}}
EOF
cat >"$work/config.json" <<EOF
{"llm_commands": {
  "codex": {"argv": ["$codex", "exec", "--skip-git-repo-check", "--sandbox", "read-only", "-"], "environment": ["PATH", "HOME"]},
  "claude": {"argv": ["$claude", "-p", "--tools", ""], "environment": ["PATH", "HOME", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]}}}
EOF
clean() {
  env -i PATH="$PATH" HOME="$work/home" ALPHAKERNEL_CONFIG="$work/config.json" ALPHAKERNEL_DB="$work/a.db" ENABLE_TOOL_SEARCH=false \
    ALPHAKERNEL_CACHE="$work/cache" ANTHROPIC_BASE_URL="$url" ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 "$@"
}

"$codex" --version
"$claude" --version
for agent in codex claude; do
  echo "== $agent writes kernels"
  clean "$program" generate -q --algorithm vector_add --device emulator --arch sm_80 --seed 1 --proposer llm \
    --model command:$agent --max-evaluations 3 --output "$work/k.cu" | sed -n '1,2p'
done
clean "$program" query "SELECT c.model, c.status AS answer, e.status AS kernel, count(*) FROM llm_calls c LEFT JOIN proposals p ON
  p.llm_call_id = c.id LEFT JOIN evaluations e ON e.proposal_id = p.id GROUP BY 1, 2, 3"
for agent in codex claude; do
  good=$(clean "$program" query --format csv "SELECT count(*) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
    WHERE p.proposer = 'command:$agent' AND e.status IN ('ok', 'duplicate')" | tail -n 1 | tr -d '\r')
  [ "$good" -gt 0 ] || { echo "$agent wrote no kernel"; exit 1; }
done

echo '{"llm_commands": {"claude": {"environment": ["ANTHROPIC_API_KEY", "ENABLE_TOOL_SEARCH"]}}}' >"$work/agents.json"
# The money is for one question: this model has nothing else to answer, and each agent that is asked takes seconds to start.
for agent in codex claude; do
  echo "== $agent answers a search with a kernel that the search evaluates"
  clean PATH="$(dirname "$codex"):$(dirname "$claude"):$PATH" ALPHAKERNEL_CONFIG="$work/agents.json" "$program" generate -q \
    --algorithm vector_add --device emulator --arch sm_80 --seed 1 --proposer llm --model agent:$agent --agent-minutes 2 \
    --max-evaluations 3 --max-cost-usd 1 --agent-cost-usd 1 --output "$work/k.cu" 2>&1 | grep --line-buffered -E 'tried|agent:' || true
  good=$(clean "$program" query --format csv "SELECT count(*) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id
    JOIN llm_calls c ON c.id = p.llm_call_id WHERE c.model = 'agent:$agent' AND c.status = 'ok' AND e.status IN ('ok', 'duplicate')" |
    tail -n 1 | tr -d '\r')
  [ "$good" -gt 0 ] || { echo "$agent had no kernel evaluated"; cat "$work/log"; exit 1; }
done

question="Call the tool evaluate of alphakernel with your kernel and say what it answers."
cd "$work/home"
echo "== codex calls the MCP server"
clean "$codex" exec --skip-git-repo-check --sandbox read-only "$question" >"$work/codex" 2>"$work/codex.log" </dev/null ||
  { cat "$work/codex.log"; exit 1; }
echo "== claude calls the MCP server"
clean "$claude" -p "$question" --mcp-config "$work/mcp.json" --strict-mcp-config --allowedTools mcp__alphakernel__evaluate \
  >"$work/claude" 2>"$work/claude.log" </dev/null || { cat "$work/claude.log" "$work/claude"; exit 1; }
for agent in codex claude; do
  cut -c 1-300 "$work/$agent"
  grep -q '"status\\*":\\*"ok' "$work/$agent" || { echo "$agent did not get the verdict"; cat "$work/$agent.log" "$work/log"; exit 1; }
done
echo "the model was asked $(wc -l <"$work/log") times; both agents wrote kernels and called the server"
