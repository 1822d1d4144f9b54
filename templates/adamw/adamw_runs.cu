/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "VEC": {"values": [4, 8], "default": 4},
    "ITEMS": {"values": [1, 2, 4], "default": 2},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4], "default": 0}
  },
  "starts": [
    {"CACHE": 0, "THREADS": 128},
    {"CACHE": 0, "ITEMS": 1, "THREADS": 128}
  ],
  "constraints": [
    "VEC * ITEMS <= 16",
    "max(BLOCKS_PER_SM, 1) * THREADS * (32 + 5 * VEC * ITEMS) <= 65536"
  ],
  "let": {
    "RUNS": "ceil_div(N, 32 * VEC * ITEMS)",
    "BLOCKS": "ceil_div(RUNS, THREADS // 32)"
  },
  "launches": [
    {"kernel": "adamw", "grid": ["min(BLOCKS, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else BLOCKS"], "block": ["THREADS"],
     "args": ["param_out", "grad", "m_out", "v_out", {"optional": "model"}, "offsets", "decay", "grad_scale",
              "lr", "beta1", "beta2", "epsilon", "step", {"i64": "N"}, {"i32": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A step of AdamW, in place, for all tensors in one launch.
//
//   weights ─┬─ run of warp 0 ──────────────┬─ run of warp 1 ─ ...     a run: ITEMS x 32 lanes x VEC weights
//   tensors ─┴──────┬────────────────────┬──┴─
//
// A warp's loads of all four arrays are under way before it looks for its tensor: 32 offsets at a time, so that a
// thousand tensors cost two rounds. Where a run lies in one tensor, its decay is one number; else each lane walks along,
// and leaves padding behind the last tensor as it is. What all weights share is computed by one thread of a block, while
// the first loads of all are under way.
// With BLOCKS_PER_SM > 0 blocks stay and take runs in turn.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int VEC = 4;
constexpr int ITEMS = 2;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = __nv_bfloat16;
#endif

#if AK_MASTER
using Weight = float;
#else
using Weight = scalar_t;
#endif

constexpr int ITEM = 32 * VEC;       // weights of a warp at a time
constexpr int RUN = ITEMS * ITEM;

// Neighbouring elements that one instruction moves.
template <class T>
constexpr int PACK = VEC * sizeof(T) <= 16 ? VEC : 16 / static_cast<int>(sizeof(T));

// CACHE 1: evict-first hints, as every element is touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// VEC neighbouring elements from `at` on, in packs of up to 16 bytes; where not WHOLE, those before n, and zeros.
template <bool WHOLE, class T>
__device__ __forceinline__ void read(float (&values)[VEC], const T* from, long long at, long long n) {
  constexpr int kPack = PACK<T>;
#pragma unroll
  for (int first = 0; first < VEC; first += kPack) {
    if (WHOLE || at + VEC <= n) {
      const auto pack = ak::load<kPack, HINT>(from + at + first);
#pragma unroll
      for (int i = 0; i < kPack; ++i) values[first + i] = static_cast<float>(pack.value[i]);
    } else {
#pragma unroll
      for (int i = first; i < first + kPack; ++i) values[i] = at + i < n ? static_cast<float>(from[at + i]) : 0.0f;
    }
  }
}

template <bool WHOLE, class T>
__device__ __forceinline__ void write(T* to, const float (&values)[VEC], long long at, long long n) {
  constexpr int kPack = PACK<T>;
#pragma unroll
  for (int first = 0; first < VEC; first += kPack) {
    if (WHOLE || at + VEC <= n) {
      ak::Pack<T, kPack> pack;
#pragma unroll
      for (int i = 0; i < kPack; ++i) pack.value[i] = static_cast<T>(values[first + i]);
      ak::store<HINT>(to + at + first, pack);
    } else {
#pragma unroll
      for (int i = first; i < first + kPack; ++i) {
        if (at + i < n) to[at + i] = static_cast<T>(values[i]);
      }
    }
  }
}

// Which tensor weights belong to: a lane asks for places that never fall.
struct Tensors {
  const long long* offsets;
  const float* decays;
  int last, at;
  long long end;  // of the last one; padding follows

  // A warp finds the last tensor that begins at or before `place`.
  __device__ __forceinline__ Tensors(const long long* starts, const float* all_decays, int count, long long place)
      : offsets(starts), decays(all_decays), last(count - 1), at(0), end(starts[count]) {
    const int lane = ak::lane_index();
    while (count > 1) {
      const int step = (count + 31) / 32;
      const bool before = lane * step < count && offsets[at + lane * step] <= place;
      const int passed = (__popc(__ballot_sync(0xffffffffu, before)) - 1) * step;
      at += passed;
      count = min(step, count - passed);
    }
  }
  // Whether weights up to `place` are of the same tensor.
  __device__ __forceinline__ bool holds(long long place) const { return place <= offsets[at + 1]; }
  __device__ __forceinline__ float decay() const { return decays[at]; }
  __device__ __forceinline__ float decay_at(long long place) {
    while (at < last && offsets[at + 1] <= place) ++at;
    return decays[at];
  }
};

// 1 - beta^step; beta - 1 is exact, so that nothing cancels.
__device__ __forceinline__ float correction(float beta, int step) {
  return -expm1f(static_cast<float>(step) * log1pf(beta - 1.0f));
}

// What is the same for all weights.
struct Step {
  float lr, beta1, beta2, epsilon, grad_scale;
  float rate;  // of the first moment: lr over its correction
  float root;  // 1 over the root of the second moment's correction

  __device__ __forceinline__ void apply(float& w, float gradient, float& m, float& v, float decay) const {
    const float g = gradient * grad_scale;
    m = beta1 * m + (1.0f - beta1) * g;
    v = beta2 * v + (1.0f - beta2) * (g * g);
    w = w - lr * decay * w - rate * m / (sqrtf(v) * root + epsilon);
  }
};

struct Arrays {
  Weight* param;
  const scalar_t* grad;
  float *m, *v;
  scalar_t* model;
};

// The run of a warp that begins at `start`, perhaps behind the end; WHOLE: it ends at n or before. get_step() is called when
// loads are under way.
template <bool WHOLE, class GetStep>
__device__ __forceinline__ void update(const Arrays& arrays, const long long* offsets, const float* decays, int tensors,
                                       long long start, long long n, GetStep get_step) {
  const long long first = start + ak::lane_index() * VEC;
  float w[ITEMS][VEC], g[ITEMS][VEC], m[ITEMS][VEC], v[ITEMS][VEC];
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long at = first + item * ITEM;
    read<WHOLE>(w[item], arrays.param, at, n);
    read<WHOLE>(g[item], arrays.grad, at, n);
    read<WHOLE>(m[item], arrays.m, at, n);
    read<WHOLE>(v[item], arrays.v, at, n);
  }
  Tensors tensor(offsets, decays, tensors, start);
  const Step step = get_step();
  const bool same = tensor.holds(min(start + RUN, n));
  const float decay = tensor.decay();
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const long long at = first + item * ITEM;
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      if (!same && at + i >= tensor.end) continue;
      step.apply(w[item][i], g[item][i], m[item][i], v[item][i], same ? decay : tensor.decay_at(at + i));
    }
    write<WHOLE>(arrays.param, w[item], at, n);
    write<WHOLE>(arrays.m, m[item], at, n);
    write<WHOLE>(arrays.v, v[item], at, n);
#if AK_MASTER
    write<WHOLE>(arrays.model, w[item], at, n);
#endif
  }
}

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM > 0 ? BLOCKS_PER_SM : 1)
    adamw(Weight* param, const scalar_t* grad, float* m, float* v, scalar_t* model, const long long* offsets,
          const float* decays, const float* grad_scale, float lr, float beta1, float beta2, float epsilon, int step,
          long long n, int tensors) {
  const Arrays arrays = {param, grad, m, v, model};
  __shared__ Step shared;
  constexpr long long kRuns = THREADS / 32 * RUN;  // of a block
  const long long first = blockIdx.x * kRuns;
  for (long long runs = first; runs < n; runs += gridDim.x * kRuns) {
    const long long start = runs + ak::warp_index() * RUN;
    const auto get_step = [&] {
      if (runs == first) {
        if (threadIdx.x == 0) {
          shared = {lr, beta1, beta2, epsilon, *grad_scale, lr / correction(beta1, step),
                    1.0f / sqrtf(correction(beta2, step))};
        }
        __syncthreads();
      }
      return shared;
    };
    if (runs + kRuns <= n) {
      update<true>(arrays, offsets, decays, tensors, start, n, get_step);
    } else {
      update<false>(arrays, offsets, decays, tensors, start, n, get_step);
    }
  }
}
