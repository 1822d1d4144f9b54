#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times kernels in turns on a GPU: each with itself (which has to read 1), with PyTorch as it is, compiled and tuned, and
# with the libraries that its problem names. For a person to read; the exit status is 0 when every kernel was timed and
# each read 1 within 0.5 % against itself.
#
#   bash scripts/check/check_baselines.sh OUTPUT_FOLDER
#
# AK: the program, or the folder that it was installed to (build/release/bin/alphakernel). PYTHON: an interpreter with
# PyTorch 2.1 or newer (python3); nvcc has to be on PATH or in /usr/local/cuda/bin. Nothing is downloaded.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -eq 1 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 2; }
program=${AK:-$root/build/release/bin/alphakernel}
[ -d "$program" ] && program=$program/bin/alphakernel
[ -x "$program" ] || { echo "there is no program $program; set AK" >&2; exit 2; }
export ALPHAKERNEL_PYTHON=${PYTHON:-python3}
mkdir -p "$1" && out=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ALPHAKERNEL_DB=$out/baselines.db ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json
export PATH=$PATH:/usr/local/cuda/bin
readonly autotune_until_s=330  # tuning takes a minute for a matrix product: what is left then goes to the other modes
failed=0

# name | problem | params | timed workload
kernels="
softmax|softmax|dtype=bfloat16|m8192_n4096
gemm|gemm|dtype=bfloat16|m4096_n4096_k4096
layernorm|layernorm|dtype=bfloat16|m8192_n4096
attention|flash_attention|dtype=bfloat16|gpt3
attention_by_tokens|flash_attention|dtype=bfloat16 layout=tokens|gpt3
"

say() { printf '%4ss  %s\n' $SECONDS "$*"; }

time_kernel() {  # NAME PROBLEM PARAMS WORKLOAD
  local flags=() baselines=self,eager,compile
  for param in $3; do
    local flag=${param%%=*}
    flags+=("--${flag//_/-}" "${param#*=}")
  done
  [ $SECONDS -gt $autotune_until_s ] || baselines=$baselines,max-autotune
  "$program" generate -q --algorithm "$2" "${flags[@]}" --arch native --seed 1 --max-evaluations 8 --unaudited \
    --output "$scratch/$1.cu" > "$out/$1.generate.txt" 2>&1 &&
    "$program" baselines "$scratch/$1.cu" --unaudited --workload "$4" --baselines "$baselines" --json \
      > "$out/$1.json" 2> "$out/$1.stderr.txt"
}

nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
while IFS='|' read -r name problem params workload; do
  [ -n "$name" ] || continue
  if time_kernel "$name" "$problem" "$params" "$workload"; then
    "$ALPHAKERNEL_PYTHON" - "$out/$name.json" <<'SHOW' || failed=1
import json, sys
answer = json.load(open(sys.argv[1]))
print(answer["page"], end="")
apart = [t for t in answer["turns"] if t["baseline"] == "itself" and t["times"] == "device" and abs(t["speedup"] - 1) > 0.005]
sys.exit(1 if apart else 0)
SHOW
  else
    failed=1
    say "$name: failed; the end of its log:"
    tail -n 5 "$out/$name.generate.txt" "$out/$name.stderr.txt" 2> /dev/null
  fi
  say "$name: timed"
done <<< "$kernels"
exit $failed
