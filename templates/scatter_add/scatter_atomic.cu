/* alphakernel
{
  "tunables": {
    "LANES": {"values": [8, 16, 32, 64, 128], "default": 32},
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ROWS": {"values": [1, 2, 4, 8], "default": 4}
  },
  "constraints": ["dtype == 'float32'"],
  "let": {
    "WIDE": "H % 4 == 0 and ARCH >= 90"
  },
  "launches": [
    {"kernel": "copy", "grid": ["ceil_div(V * H, 4096)"], "block": [256], "args": ["base", "out", {"i64": "V * H"}]},
    {"kernel": "add<4>", "grid": ["ceil_div(N, THREADS // LANES * ROWS)"], "block": ["LANES", "THREADS // LANES"], "when": "WIDE",
     "args": ["rows", "index", "out", {"i64": "N"}, {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add<1>", "grid": ["ceil_div(N, THREADS // LANES * ROWS)"], "block": ["LANES", "THREADS // LANES"], "when": "not WIDE",
     "args": ["rows", "index", "out", {"i64": "N"}, {"i32": "V"}, {"i32": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The base is copied, then every row is added where it goes by atomic additions, of four floats at once from sm_90 on.
// They come in any order, so that sums differ in their last bits from call to call. LANES threads take ROWS rows at once.
// Float32 alone: of 16 bits every addition would be rounded.
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 32;
constexpr int THREADS = 256;
constexpr int ROWS = 4;
using scalar_t = float;
#endif

__global__ void __launch_bounds__(256) copy(const float* __restrict__ base, float* __restrict__ out, long long count) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const long long at = ((static_cast<long long>(blockIdx.x) * 4 + k) * 256 + threadIdx.x) * 4;
    if (at + 4 <= count) {
      ak::store(out + at, ak::load<4, ak::Cache::streaming>(base + at));
    } else {
      for (long long i = at; i < count; ++i) out[i] = base[i];
    }
  }
}

template <int VEC>
__device__ __forceinline__ void add_to(float* to, const ak::Pack<float, VEC>& pack) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (VEC == 4) {
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(pack.value[0]),
                 "f"(pack.value[1]), "f"(pack.value[2]), "f"(pack.value[3]) : "memory");
    return;
  }
#endif
#pragma unroll
  for (int i = 0; i < VEC; ++i) atomicAdd(to + i, pack.value[i]);
}

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    add(const float* __restrict__ rows, const int* __restrict__ index, float* __restrict__ out, long long n, int v, int h) {
  const long long first = (static_cast<long long>(blockIdx.x) * (THREADS / LANES) + threadIdx.y) * ROWS;
  int to[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    to[r] = first + r < n ? index[first + r] : -1;
    if (to[r] >= v) to[r] = -1;
  }
  for (int column = static_cast<int>(threadIdx.x) * VEC; column < h; column += LANES * VEC) {
    ak::Pack<float, VEC> packs[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (to[r] >= 0) packs[r] = ak::load<VEC, ak::Cache::streaming>(rows + (first + r) * h + column);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (to[r] >= 0) add_to<VEC>(out + static_cast<long long>(to[r]) * h + column, packs[r]);
    }
  }
}
