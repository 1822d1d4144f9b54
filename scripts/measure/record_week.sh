#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records on a GPU machine what a week of work leaves behind, and its report: audits of problems, a queue of searches,
# candidates that cheat, a kernel checked by hand. OUT gets the database, the kernels and the report.
# Usage: scripts/measure/record_week.sh OUT [MANIFEST]; $AK: the program.
set -uo pipefail
out=${1:?usage: scripts/measure/record_week.sh OUT [MANIFEST]}
manifest=${2:-experiments/sessions/h200_week.json}
ak=${AK:-build/release/bin/alphakernel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out/kernels"
export ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json ALPHAKERNEL_DB=$out/week.db

for algorithm in softmax gemm transpose; do
  "$ak" algorithms audit "$algorithm" | tail -n 2
done
"$ak" session start "$manifest" --foreground --output-folder "$out/kernels" || echo "session start: exit code $?"
while read -r file algorithm; do
  echo "$file as $algorithm"
  "$ak" evaluate "tests/exploits/$file" --algorithm "$algorithm" | tail -n 3
done <<'EOF'
stored_answers/r03_first_two_calls.cu vector_add
stored_answers/r03_sum_first_call.cu reduce_sum
wrong_results/r06_softmax_constant.cu softmax
wrong_results/r06_gemm_half_of_k.cu gemm
faults/r12_illegal_address.cu vector_add
EOF
"$ak" evaluate "$out/kernels/softmax_bfloat16.cu" 2>/dev/null | tail -n 3
"$ak" db verify
"$ak" report --output "$out/report.html"
"$ak" report --output "$out/report.md"
