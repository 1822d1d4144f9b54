#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the metrics of `alphakernel profile` with those of Nsight Compute on the same kernels and shapes: ten points
# of templates, each profiled by the program and, as emitted stand-alone test, by ncu (clocks as they are, the second
# launch of the candidate's longest kernel). Needs a GPU, nvcc and ncu; some 90 seconds. Writes side_by_side.csv
# (scripts/measure/compare_with_ncu.py says how metrics are compared) and prints a summary.
#   scripts/measure/compare_with_ncu.sh OUTPUT_FOLDER         AK: the program; METRICS: set or names (default: standard)
# CACHES=all: ncu empties all caches before every pass, of instructions too; none (default): it leaves them as the pass
# before and the restored memory did, which is what a profile of ours sees.
set -uo pipefail
out=${1:?usage: scripts/measure/compare_with_ncu.sh OUTPUT_FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
ak=${AK:-$root/build/release/bin/alphakernel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json
mkdir -p "$out"
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
[ "$capability" = 90 ] && capability=90a

# name | shape (also the workload's name) | problem | template and parameters
points() {
  cat <<END
gemm_wgmma|M=1024,N=1024,K=1024|--algorithm gemm|--template gemm_wgmma.cu
gemm_mma|M=1024,N=1024,K=1024|--algorithm gemm|--template gemm_mma.cu
gemm_simt|M=1024,N=1024,K=1024|--algorithm gemm --dtype fp32|--template gemm_simt.cu
attention_mma|B=1,H=8,G=8,S=1024,T=1024|--algorithm flash_attention --head-dim 128|--template attention_mma.cu
softmax|M=8192,N=4096|--algorithm softmax --dtype bf16|
layernorm|M=8192,N=4096|--algorithm layernorm --dtype bf16|
rmsnorm|M=8192,N=4096|--algorithm rmsnorm --dtype bf16|
reduce_sum|N=67108864|--algorithm reduce_sum --dtype fp32|
transpose|R=8192,C=8192|--algorithm transpose --dtype fp32|
vector_add|N=67108864|--algorithm vector_add --dtype fp32|
END
}

# Emits and builds a point; its timing and checking may disturb others, so that all may run at once.
build() {  # NAME SHAPE PROBLEM TEMPLATE
  # shellcheck disable=SC2086  # the flags are words
  ALPHAKERNEL_DB=$scratch/$1.db "$ak" generate -q $3 $4 --shape "$2" --max-evaluations 1 --arch native \
    --output "$scratch/$1.cu" || return
  nvcc -std=c++20 -O3 -lineinfo -gencode "arch=compute_$capability,code=sm_$capability" "$scratch/$1.test.cu" \
    -o "$scratch/$1" -lcuda
}

compare() { python3 "$root/scripts/measure/compare_with_ncu.py" "$@"; }

measure() {  # NAME SHAPE PROBLEM
  local kernel metrics
  # shellcheck disable=SC2086
  ALPHAKERNEL_DB=$scratch/$1.db "$ak" profile "$scratch/$1.cu" $3 --shape "$2" --metrics "${METRICS:-standard}" \
    --no-lines --json >"$out/$1.json" 2>"$out/$1.err" || { tail -n 3 "$out/$1.err"; return; }
  kernel=$(compare kernel "$out/$1.json") && metrics=$(compare metrics "$out/$1.json") || return
  ncu --csv --page raw --print-units base --cache-control "${CACHES:-none}" --clock-control none --metrics "$metrics" \
    --kernel-name "regex:^$kernel\$" --launch-skip 1 --launch-count 1 "$scratch/$1" --workload "$2" \
    >"$out/$1.ncu.csv" 2>>"$out/$1.err"
}

while IFS='|' read -r name shape problem template; do
  build "$name" "$shape" "$problem" "$template" >"$scratch/$name.log" 2>&1 </dev/null &
done < <(points)
wait
while IFS='|' read -r name shape problem template; do
  if [ -x "$scratch/$name" ]; then
    measure "$name" "$shape" "$problem" </dev/null
  else
    echo "$name: not built: $(tail -n 1 "$scratch/$name.log")"
  fi
done < <(points)
compare table "$out"
