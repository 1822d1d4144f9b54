#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures random points of every template at several shapes on a GPU, into one database: what the model of
# `alphakernel model fit` learns from and is judged by.
#   scripts/measure/measure_spaces.sh DATABASE [POINTS_A_SHAPE [SECONDS]]
# Shapes go from lines' first to last column, so that a run cut short by SECONDS has seen every template.
set -uo pipefail
export ALPHAKERNEL_DB=${1:?usage: scripts/measure/measure_spaces.sh DATABASE [POINTS_A_SHAPE [SECONDS]]}
points=${2:-50} limit=${3:-3600}
ak=${AK:-build/release/bin/alphakernel}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# flags of generate | shapes
spaces() {
  cat <<END
--algorithm softmax --dtype bf16 --template softmax_registers.cu|M=8192,N=4096 M=1024,N=4096 M=4096,N=8192 M=65536,N=512
--algorithm softmax --dtype fp32 --template softmax_online.cu|M=2048,N=8192 M=512,N=4096 M=128,N=131072 M=8192,N=4096
--algorithm gemm --template gemm_wgmma.cu|M=4096,N=4096,K=4096 M=1024,N=1024,K=1024 M=64,N=4096,K=16384 M=512,N=512,K=512
--algorithm gemm --template gemm_skinny.cu|M=64,N=4096,K=16384 M=8,N=14336,K=4096 M=128,N=4096,K=4096 M=16,N=128256,K=4096
--algorithm gemm --template gemm_stream.cu|M=1,N=4096,K=4096 M=1,N=14336,K=4096 M=4,N=4096,K=14336 M=8,N=4096,K=4096
--algorithm gemm --template gemm_mma.cu|M=4096,N=4096,K=4096 M=1024,N=1024,K=1024 M=512,N=512,K=512 M=64,N=4096,K=16384
--algorithm gemm --dtype fp32 --template gemm_simt.cu|M=2048,N=2048,K=2048 M=512,N=512,K=512 M=1000,N=1000,K=1000
--algorithm flash_attention --template attention_wgmma.cu|B=4,H=16,G=16,S=2048,T=2048 B=8,H=16,G=16,S=512,T=512 B=1,H=16,G=16,S=8192,T=8192
--algorithm flash_attention --template attention_mma.cu|B=4,H=16,G=16,S=2048,T=2048 B=8,H=16,G=16,S=512,T=512 B=1,H=16,G=4,S=4096,T=4096
--algorithm transpose --dtype fp32|R=8192,C=8192 R=1024,C=2048 R=4096,C=4096 R=100000,C=240
--algorithm transpose_inplace --dtype fp32|N=8192 N=1024 N=4104
--algorithm reduce_sum --dtype fp32 --template reduce_sum_single_pass.cu|N=268435456 N=2000000 N=16777216
--algorithm reduce_sum --dtype fp32 --template reduce_sum_two_pass.cu|N=268435456 N=2000000 N=16777216
--algorithm activation --function gelu --dtype bf16|N=134217728 N=1000000 N=16777216
--algorithm layernorm --dtype bf16|M=8192,N=4096 M=1024,N=4096 M=65536,N=512
--algorithm rmsnorm --dtype bf16|M=8192,N=4096 M=1024,N=4096 M=65536,N=512
--algorithm vector_add --dtype fp32|N=67108864 N=1000000 N=16777216
--algorithm copy --dtype fp32|N=268435456 N=1000000 N=16777216
END
}

for column in 1 2 3 4; do
  while IFS='|' read -r flags shapes; do
    shape=$(cut -d' ' -f$column <<<"$shapes ")
    [[ -n $shape && $SECONDS -lt $limit ]] || continue
    began=$SECONDS
    # shellcheck disable=SC2086 # flags are words
    timeout 120 "$ak" generate -q $flags --shape "$shape" --arch native --strategy random --seed 1 \
      --max-evaluations "$points" --output "$scratch/k.cu" >"$scratch/log" 2>&1 || tail -n 2 "$scratch/log"
    echo "$((SECONDS - began)) s: $flags --shape $shape"
  done < <(spaces)
done
