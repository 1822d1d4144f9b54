#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs with a real, tiny language model that writes nonsense: a model made here, run by llama.cpp on the loopback
# interface. No answer of it may break a run. Downloads 85 MB the first time.
# Usage: scripts/check/check_tiny_model.sh [BUILD_FOLDER]; AK_ITERATIONS: how many questions at least (200)
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-build/release}")/bin/alphakernel
iterations=${AK_ITERATIONS:-200}
peer=tests/peers/tiny_model
scripts/check/peers.sh tiny_model
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
export ALPHAKERNEL_DB=$work/a.db ALPHAKERNEL_CACHE=$work/cache ALPHAKERNEL_CONFIG=$work/config.json

python3 $peer/make_gguf.py tests/tools/llm/4_fast.md "$work/tiny.gguf"
node $peer/serve.mjs "$work/tiny.gguf" >"$work/port" &
server=$!
for ((i = 0; i < 600; ++i)); do
  [ -s "$work/port" ] && break
  kill -0 $server && sleep 0.1
done
model=local:http://127.0.0.1:$(cat "$work/port")/v1#tiny

query() { "$program" query --format csv "$1" | tail -n +2 | tr -d '\r'; }
algorithms=(vector_add reduce_sum softmax)
asked=0
for ((run = 0; asked < iterations; ++run)); do
  proposer=$([ $((run % 2)) = 0 ] && echo llm || echo hybrid)
  # The tokens are enough for some ten questions.
  "$program" generate -q --algorithm ${algorithms[run % 3]} --device emulator --arch sm_80 --seed $run --model "$model" \
    --proposer "$proposer" --max-tokens 16000 --max-evaluations 30 --output "$work/k.cu" >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
  }
  before=$asked
  asked=$(query 'SELECT count(*) FROM llm_calls')
  [ "$asked" -gt "$before" ] || { echo "run $run ($proposer) asked nothing"; cat "$work/log"; exit 1; }
done
echo "$run runs, $asked questions; answers by arm and end:"
query 'SELECT arm, status, stop, count(*), sum(tokens_reported) FROM llm_calls GROUP BY 1, 2, 3'
echo "what became of the model's candidates:"
query 'SELECT e.status, count(*) FROM evaluations e JOIN proposals p ON p.id = e.proposal_id WHERE p.llm_call_id IS NOT NULL GROUP BY 1'
failed=$(query "SELECT count(*) FROM llm_calls WHERE status NOT IN ('ok', 'cancelled')")
[ "$failed" = 0 ] || { echo "$failed questions failed"; query "SELECT status, message FROM llm_calls WHERE status <> 'ok'"; exit 1; }
