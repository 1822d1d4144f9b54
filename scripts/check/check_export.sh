#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exports champions of shipped templates and uses them as a stranger would: builds each with CMake, runs the benchmark,
# which checks it against the problem's reference, builds the PyTorch operators and compares them with the definition's
# Python reference. Prints a line a kernel and step; the exit status is 0 when every step passed.
#
#   bash scripts/check/check_export.sh OUT                 # a GPU, CMake, nvcc and PyTorch; about five minutes
#   bash scripts/check/check_export.sh OUT --no-torch      # without PyTorch
#   bash scripts/check/check_export.sh OUT --build-only    # no GPU: templates' own points for sm_90a, nothing is run
#   bash scripts/check/check_export.sh OUT --only linear   # one kernel of the list below
#
# ALPHAKERNEL names the program (build/release/bin/alphakernel). Nothing is downloaded.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
program=${ALPHAKERNEL:-$root/build/release/bin/alphakernel}
out=${1:-}
[ -n "$out" ] && [ "${out#-}" = "$out" ] || { sed -n '3,12s/^# \{0,1\}//p' "$0"; exit 2; }
shift
torch=yes run=yes only=
while [ $# -gt 0 ]; do
  case $1 in
    --no-torch) torch=no ;;
    --build-only) run=no torch=no ;;
    --only) only=${2:?--only takes a name of the list}; shift ;;
    *) echo "unknown flag $1" >&2; exit 2 ;;
  esac
  shift
done
[ -x "$program" ] || { echo "there is no $program; build it or set ALPHAKERNEL" >&2; exit 2; }
mkdir -p "$out" && out=$(cd "$out" && pwd)
export ALPHAKERNEL_DB=$out/alphakernel.db ALPHAKERNEL_CACHE=$out/cache ALPHAKERNEL_CONFIG=$out/config.json

# name | problem and parameters | the template whose own point is exported with --build-only
kernels="
softmax|--algorithm softmax --dtype bfloat16|softmax/softmax_registers.cu
softmax_online|--algorithm softmax --dtype float32|softmax/softmax_online.cu
gemm|--algorithm gemm --dtype bfloat16|gemm/gemm_wgmma.cu
gemm_bias|--algorithm gemm --dtype float16 --bias true --activation relu|gemm/gemm_mma.cu
layernorm|--algorithm layernorm --dtype float16|layernorm/layernorm_registers.cu
reduce_sum|--algorithm reduce_sum --dtype float32|reduce_sum/reduce_sum_two_pass.cu
transpose|--algorithm transpose --dtype float16|transpose/transpose_tiles.cu
transpose_inplace|--algorithm transpose_inplace --dtype float32|transpose_inplace/transpose_tile_pairs.cu
attention|--algorithm flash_attention --dtype bfloat16|flash_attention/attention_wgmma.cu
linear|--algorithm linear --dtype bfloat16|linear/linear_transposed.cu
"
[ -z "$only" ] || kernels=$(grep "^$only|" <<< "$kernels") || { echo "there is no kernel '$only' in the list" >&2; exit 2; }

# result NAME STEP STATUS SECONDS LOG
result() {
  printf '%-18s %-10s %-5s %4ss\n' "$1" "$2" "$3" "$4" | tee -a "$out/$1.results"
  if [ "$3" = FAIL ]; then tail -n 15 "$5" | sed 's/^/    /'; fi
}

# step NAME STEP command...
step() {
  local name=$1 what=$2 begin=$SECONDS log=$out/$1.$2.log
  shift 2
  if "$@" > "$log" 2>&1 < /dev/null; then
    result "$name" "$what" pass $((SECONDS - begin)) "$log"
  else
    result "$name" "$what" FAIL $((SECONDS - begin)) "$log"
    return 1
  fi
}

find_and_export() {  # NAME FLAGS TEMPLATE: one at a time, as kernels are timed
  local name=$1 flags=$2 template=$3
  # shellcheck disable=SC2086  # flags are words
  if [ $run = yes ]; then
    mkdir -p "$out/$name.search"
    step "$name" search "$program" generate $flags --arch native --max-evaluations 16 --seed 1 -q \
      --output "$out/$name.search/k.cu" || return
    step "$name" export "$program" export "$out/$name.search/k.result.json" --force --output "$out/$name"
  else
    step "$name" export "$program" export "$root/templates/$template" $flags --arch sm_90a --force --output "$out/$name"
  fi
}

build_cmake() { cmake -S "$out/$1" -B "$out/$1/build" > /dev/null && cmake --build "$out/$1/build" -j 2; }
build_torch() { cd "$out/$1/torch" && python3 -c 'import check; check.build()'; }

rm -f "$out"/*.results
while IFS='|' read -r name flags template; do
  [ -n "$name" ] && find_and_export "$name" "$flags" "$template"
done <<< "$kernels"
# Compilers share the cores; only what is timed runs by itself.
while IFS='|' read -r name _; do
  [ -n "$name" ] && [ -d "$out/$name" ] || continue
  (step "$name" cmake build_cmake "$name") &
  [ $torch = yes ] && (step "$name" extension build_torch "$name") &
done <<< "$kernels"
wait
while IFS='|' read -r name _; do
  [ -n "$name" ] && [ -d "$out/$name" ] && [ $run = yes ] || continue
  benchmark=$(find "$out/$name/build" -maxdepth 1 -name '*_benchmark' -type f 2> /dev/null | head -n 1)
  [ -n "$benchmark" ] && step "$name" benchmark "$benchmark"
  [ $torch = yes ] && step "$name" torch python3 "$out/$name/torch/check.py"
done <<< "$kernels"

failed=$(cat "$out"/*.results | grep -c FAIL)
passed=$(cat "$out"/*.results | grep -c pass)
echo "$passed steps passed, $failed failed, in $SECONDS s; logs and kernels are in $out"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
