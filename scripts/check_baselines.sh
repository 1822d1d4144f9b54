#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times kernels in turns with PyTorch on a GPU: each kernel against itself (which has to read 1), eager, torch.compile and
# max-autotune, and with the libraries behind PyTorch for matrix products and attention. For a person to read; the exit
# status is 0 when every kernel was timed and each read 1 against itself.
#
#   bash scripts/check_baselines.sh OUTPUT_FOLDER
#
# AK: the program, or the folder that it was installed to (build/release/bin/alphakernel). PYTHON: an interpreter with
# PyTorch 2.1 or newer (python3); nvcc has to be on PATH or in /usr/local/cuda/bin. Nothing is downloaded.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 2; }
program=${AK:-$root/build/release/bin/alphakernel}
[ -d "$program" ] && program=$program/bin/alphakernel
[ -x "$program" ] || { echo "there is no program $program; set AK" >&2; exit 2; }
python=${PYTHON:-python3}
mkdir -p "$1" && out=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ALPHAKERNEL_DB=$out/baselines.db ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json
export TORCHINDUCTOR_CACHE_DIR=$scratch/inductor TRITON_CACHE_DIR=$scratch/triton
export PATH=$PATH:/usr/local/cuda/bin
readonly autotune_until_s=330  # tuning takes a minute for a matrix product: what is left then goes to the other modes
failed=0

cat > "$scratch/linear_relu.py" <<'MODEL'
import torch


class Model(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.rand(4096, 4096)]


def get_init_inputs():
    return [4096, 4096]
MODEL

# name | problem | params | timed workload | baselines | module
kernels="
softmax|softmax|dtype=bfloat16|m8192_n4096|self,eager,compile,max-autotune|
gemm|gemm|dtype=bfloat16|m4096_n4096_k4096|self,eager,cublaslt,compile,max-autotune|
layernorm|layernorm|dtype=bfloat16|m8192_n4096|self,eager,compile,max-autotune|
attention|flash_attention|dtype=bfloat16|gpt3|self,eager,cudnn|
linear_relu|gemm|dtype=bfloat16 bias=true activation=relu b_layout=column|m4096_n4096_k4096|self,eager,compile,max-autotune|$scratch/linear_relu.py
"

say() { printf '%4ss  %s\n' $SECONDS "$*"; }

find_kernel() {  # NAME PROBLEM PARAMS
  local name=$1 problem=$2 flags=()
  for param in $3; do
    local flag=${param%%=*}
    flags+=("--${flag//_/-}" "${param#*=}")
  done
  "$program" generate -q --algorithm "$problem" "${flags[@]}" --arch native --seed 1 --max-evaluations 8 --unaudited \
    --output "$scratch/$name/k.cu" > "$out/$name.generate.txt" 2>&1 &&
    "$program" export "$scratch/$name/k.result.json" --force --output "$scratch/$name.export" \
      > "$out/$name.export.txt" 2>&1
}

build_operator() {  # NAME: compilers share the cores
  (cd "$scratch/$1.export/torch" && "$python" -c 'import check; check.build()') > "$out/$1.build.txt" 2>&1
}

time_kernel() {  # NAME WORKLOAD BASELINES MODULE
  local flags=() baselines=$3
  [ -n "$4" ] && flags+=(--module "$4")
  [ $SECONDS -gt $autotune_until_s ] && baselines=${baselines%,max-autotune}
  timeout 150 "$python" "$root/scripts/pytorch_turns.py" "$scratch/$1.export" --workload "$2" "${flags[@]}" \
    --baselines "$baselines" --json "$out/$1.json" \
    2> "$out/$1.stderr.txt" | tee -a "$out/turns.txt"
  return "${PIPESTATUS[0]}"
}

rm -f "$out/turns.txt"
nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader
while IFS='|' read -r name problem params _; do
  [ -n "$name" ] || continue
  mkdir -p "$scratch/$name"
  if find_kernel "$name" "$problem" "$params"; then
    say "$name: found and exported"
    build_operator "$name" &
  else
    say "$name: no kernel; the end of its log:"
    tail -n 5 "$out/$name.generate.txt" "$out/$name.export.txt" 2> /dev/null
    failed=1
  fi
done <<< "$kernels"
wait
say "operators are built"
while IFS='|' read -r name _ _ workload baselines module; do
  [ -n "$name" ] && [ -d "$scratch/$name.export" ] || continue
  time_kernel "$name" "$workload" "$baselines" "$module" || {
    failed=1
    say "$name: failed; the end of its log:"
    tail -n 5 "$out/$name.stderr.txt" "$out/$name.build.txt" 2> /dev/null
  }
  say "$name: timed"
done <<< "$kernels"

grep -q rehearsal "$out/turns.txt" && { echo "PyTorch saw no GPU: nothing was measured"; failed=1; }
say "done; rows with all samples are in $out/*.json"
exit $failed
