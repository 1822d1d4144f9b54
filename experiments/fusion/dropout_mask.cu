/* alphakernel
{
  "tunables": {"THREADS": {"values": [256], "default": 256}},
  "let": {"VEC": "8 if N % 8 == 0 else 1", "PACKS": "M * N // VEC"},
  "launches": [
    {"kernel": "dropout<8>", "grid": ["ceil_div(PACKS, THREADS)"], "block": ["THREADS"], "when": "VEC == 8",
     "args": ["x", "seed", "p", "y", "mask", {"i64": "PACKS"}]},
    {"kernel": "dropout<1>", "grid": ["ceil_div(PACKS, THREADS)"], "block": ["THREADS"], "when": "VEC == 1",
     "args": ["x", "seed", "p", "y", "mask", {"i64": "PACKS"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Dropout alone, with its mask: one pack of neighbouring elements a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/philox.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
using scalar_t = __nv_bfloat16;
#endif

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    dropout(const scalar_t* __restrict__ x, const long long* __restrict__ seed, const float* __restrict__ p,
            scalar_t* __restrict__ y, unsigned char* __restrict__ mask, long long packs) {
  const long long at = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * VEC;
  if (at >= packs * VEC) return;
  const ak::Dropout dropout(static_cast<unsigned long long>(*seed), *p);
  bool stay[VEC];
  dropout.choose(stay, static_cast<unsigned long long>(at));
  ak::Pack<scalar_t, VEC> values = ak::load<VEC, ak::Cache::streaming>(x + at);
  ak::Pack<unsigned char, VEC> kept;
#pragma unroll
  for (int i = 0; i < VEC; ++i) {
    kept.value[i] = stay[i];
    values.value[i] = static_cast<scalar_t>(stay[i] ? static_cast<float>(values.value[i]) * dropout.scale : 0.0f);
  }
  ak::store<ak::Cache::streaming>(y + at, values);
  ak::store<ak::Cache::streaming>(mask + at, kept);
}
