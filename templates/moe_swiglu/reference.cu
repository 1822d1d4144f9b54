/* alphakernel
{
  "workspace": [
    {"name": "inside", "dtype": "float64", "count": "T * TOPK * I"},
    {"name": "results", "dtype": "float64", "count": "T * TOPK * H"}
  ],
  "launches": [
    {"kernel": "gate_up_reference", "grid": ["ceil_div(I, 16)", "ceil_div(T * TOPK, 16)"], "block": [16, 16],
     "args": ["x", "ids", "gate_up", "inside", {"i64": "T * TOPK"}, {"i64": "TOPK"}, {"i64": "E"}, {"i64": "H"}, {"i64": "I"}]},
    {"kernel": "down_reference", "grid": ["ceil_div(H, 16)", "ceil_div(T * TOPK, 16)"], "block": [16, 16],
     "args": ["inside", "ids", "down", "results", {"i64": "T * TOPK"}, {"i64": "E"}, {"i64": "H"}, {"i64": "I"}]},
    {"kernel": "combine_reference", "grid": ["ceil_div(H, 16)", "ceil_div(T, 16)"], "block": [16, 16],
     "args": ["results", "ids", "routing", "out", {"i64": "T"}, {"i64": "TOPK"}, {"i64": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// out[t] = sum over j of routing[t, j] down[e] (silu(gate[e] x[t]) * (up[e] x[t])) with e = ids[t, j]. One result a
// thread, in three steps: what is inside of experts, their results, their sums.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ accum_t widen(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// What is handed from step to step: the honest version in low precision rounds it, as it has to go through memory.
__device__ double handed_on(accum_t value) {
#ifdef AK_TWIN
  return static_cast<double>(static_cast<float>(static_cast<scalar_t>(static_cast<float>(value))));
#else
  return static_cast<double>(value);
#endif
}

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

__device__ long long expert_of(const int* ids, long long pair, long long experts) {
#ifdef AK_MUTATION_FIRST_WEIGHTS
  return 0;
#else
  return min(max(static_cast<long long>(ids[pair]), 0ll), experts - 1);
#endif
}

__global__ void gate_up_reference(const scalar_t* x, const int* ids, const scalar_t* gate_up, double* inside,
                                  long long pairs, long long k, long long experts, long long h, long long i) {
  const long long pair = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  if (pair >= pairs || column >= i) return;
  const scalar_t* token = x + pair / k * h;
  const scalar_t* first = gate_up + (expert_of(ids, pair, experts) * 2 * i + column) * h;
  accum_t gate = 0, up = 0;
  for (long long at = 0; at < h; ++at) {
    gate = keep(gate + widen(token[at]) * widen(first[at]));
    up = keep(up + widen(token[at]) * widen(first[i * h + at]));
  }
#ifdef AK_MUTATION_SWAPPED
  const accum_t other = gate;
  gate = up;
  up = other;
#endif
#if defined(AK_MUTATION_OVERFLOWN_SIGMOID)
  gate = gate * (exp(gate) / (accum_t(1) + exp(gate)));
#elif !defined(AK_MUTATION_NO_GATE)
  gate = gate / (accum_t(1) + exp(-gate));
#endif
#ifdef AK_MUTATION_LAST_INSIDE
  if (column >= i - 8) up = 0;
#endif
  inside[pair * i + column] = handed_on(gate * up);
}

__global__ void down_reference(const double* inside, const int* ids, const scalar_t* down, double* results,
                               long long pairs, long long experts, long long h, long long i) {
  const long long pair = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  if (pair >= pairs || column >= h) return;
  const scalar_t* weights = down + (expert_of(ids, pair, experts) * h + column) * i;
  accum_t sum = 0;
  for (long long at = 0; at < i; ++at) {
    sum = keep(sum + static_cast<accum_t>(inside[pair * i + at]) * widen(weights[at]));
  }
  results[pair * h + column] = handed_on(sum);
}

__global__ void combine_reference(const double* results, const int* ids, const float* routing, out_t* out,
                                  long long tokens, long long k, long long h) {
  const long long token = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  if (token >= tokens || column >= h) return;
#ifdef AK_MUTATION_FIRST_CHOICE
  const long long end = k > 1 ? k - 1 : k;
#else
  const long long end = k;
#endif
  accum_t sum = 0;
  for (long long pair = token * k; pair < token * k + end; ++pair) {
    accum_t weight = static_cast<accum_t>(routing[pair]);
#ifdef AK_MUTATION_NO_ROUTING
    weight = accum_t(1) / static_cast<accum_t>(k);
#endif
#ifdef AK_MUTATION_SKIPPED_EXPERT
    if (ids[pair] == 0) weight = 0;
#endif
    sum += weight * static_cast<accum_t>(results[pair * h + column]);
  }
  out[token * h + column] = static_cast<out_t>(sum);
}
