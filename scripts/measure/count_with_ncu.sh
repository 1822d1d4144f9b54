#!/usr/bin/env bash
# Hardware counters of one point of every template, measured by Nsight Compute on the emitted stand-alone tests: what
# limits each kernel (docs/kernels.md). Needs a GPU of sm_90a, nvcc and ncu; a few minutes. Writes counters.csv.
#   scripts/measure/count_with_ncu.sh OUTPUT_FOLDER
set -uo pipefail
out=${1:?usage: scripts/measure/count_with_ncu.sh OUTPUT_FOLDER}
ak=${AK:-build/release/bin/alphakernel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export ALPHAKERNEL_CACHE=$scratch/cache ALPHAKERNEL_CONFIG=$scratch/none.json ALPHAKERNEL_DB=$scratch/counters.db
attention="--algorithm flash_attention --template attention_wgmma.cu --set PERSISTENT=1 --set PINGPONG=1 --set STAGES=2 --set GROUP=8"
mkdir -p "$out"

# name | workload | flags of generate: the best points known (experiments/results), else the defaults
points() {
  cat <<END
attention_wgmma_d64|B=1,H=32,G=32,S=8192,T=8192|$attention --head-dim 64 --shape B=1,H=32,G=32,S=8192,T=8192 --set CONSUMERS=3 --set BN=128 --set BUFFERS=2
attention_wgmma_d128|B=1,H=32,G=32,S=8192,T=8192|$attention --head-dim 128 --shape B=1,H=32,G=32,S=8192,T=8192 --set CONSUMERS=3 --set BN=80 --set BUFFERS=2
attention_wgmma_d256|B=1,H=16,G=16,S=8192,T=8192|$attention --head-dim 256 --shape B=1,H=16,G=16,S=8192,T=8192 --set CONSUMERS=2 --set BN=80 --set BUFFERS=1
attention_mma_d128|B=1,H=32,G=32,S=8192,T=8192|--algorithm flash_attention --template attention_mma.cu --head-dim 128 --shape B=1,H=32,G=32,S=8192,T=8192
gemm_wgmma|M=8192,N=8192,K=8192|--algorithm gemm --template gemm_wgmma.cu --shape M=8192,N=8192,K=8192 --set BM=128 --set BN=256 --set CLUSTER=2 --set CONSUMERS=2 --set GROUP=8 --set STAGES=4
gemm_mma|M=4096,N=4096,K=4096|--algorithm gemm --template gemm_mma.cu --shape M=4096,N=4096,K=4096
gemm_simt|M=4096,N=4096,K=4096|--algorithm gemm --dtype fp32 --template gemm_simt.cu --shape M=4096,N=4096,K=4096
activation_gelu|n134217728|--algorithm activation --function gelu --dtype bf16 --set BLOCK=128 --set UNROLL=2 --set VEC_BYTES=8 --set FAST=1 --set CACHE=0
layernorm|M=8192,N=4096|--algorithm layernorm --dtype bf16 --shape M=8192,N=4096 --set BLOCKS_PER_SM=1 --set CACHE=0 --set ROWS_PER_BLOCK=4 --set THREADS_PER_ROW=128 --set UNROLL=4 --set VEC_BYTES=16
rmsnorm|m8192_n4096|--algorithm rmsnorm --dtype bf16
softmax|m8192_n4096|--algorithm softmax --dtype bf16
reduce_sum|n268435456|--algorithm reduce_sum --dtype fp32
vector_add|n67108864|--algorithm vector_add --dtype fp32
transpose|r8192_c8192|--algorithm transpose --dtype fp32
transpose_inplace|n8192|--algorithm transpose_inplace --dtype fp32 --set BLOCK=512 --set CACHE=1 --set OUT_WORDS=2 --set TILE=64 --set VEC_BYTES=8
END
}

kernels='attention_wgmma|attention_mma|gemm_wgmma|gemm_mma|gemm_simt|activation$|layernorm_vector|rmsnorm_vector|softmax_vector|softmax_online|sum_tiles|sum_all|vector_add$|transpose_tiles|transpose_tile_pairs'
build() {  # NAME FLAGS...
  local name=$1; shift
  "$ak" generate -q "$@" --max-evaluations 1 --arch native --output "$scratch/$name.cu" >"$scratch/$name.log" 2>&1 || { tail -n 3 "$scratch/$name.log"; return; }
  nvcc -std=c++17 -O2 -gencode arch=compute_90a,code=sm_90a "$scratch/$name.test.cu" -o "$scratch/$name" -lcuda
}
while IFS='|' read -r name workload flags; do
  # shellcheck disable=SC2086  # the flags are words
  build "$name" $flags </dev/null || continue
  ncu --csv --page raw --section SpeedOfLight --section Occupancy --section WarpStateStats --section ComputeWorkloadAnalysis \
    --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables --kernel-name "regex:^($kernels)" \
    --launch-count 1 "$scratch/$name" --no-time --workload "$workload" </dev/null >"$scratch/$name.csv" 2>"$scratch/$name.err"
  echo "$name: $(grep -c '^"' "$scratch/$name.csv") lines"
done < <(points)
python3 scripts/measure/summarize_counters.py "$scratch" >"$out/counters.csv"
