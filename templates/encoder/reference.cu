/* alphakernel
{
  "let": {"T": "B * S"},
  "workspace": [
    {"name": "tokens", "dtype": "float64", "count": "T * H"},
    {"name": "projected", "dtype": "float64", "count": "T * 3 * H"},
    {"name": "attended", "dtype": "float64", "count": "T * H"},
    {"name": "added", "dtype": "float64", "count": "T * H"},
    {"name": "normed", "dtype": "float64", "count": "T * H"},
    {"name": "inside", "dtype": "float64", "count": "T * I"},
    {"name": "fed", "dtype": "float64", "count": "T * H"},
    {"name": "results", "dtype": "float64", "count": "T * H"},
    {"name": "means", "dtype": "float64", "count": "B * H"}
  ],
  "launches": [
    {"kernel": "embed_reference", "grid": ["ceil_div(H, 128)", "T"], "block": [128],
     "args": ["ids", "lengths", "table", "positions", "tokens", {"i64": "S"}, {"i64": "V"}, {"i64": "H"}]},
    {"kernel": "linear_reference<false>", "grid": ["ceil_div(3 * H, 128)", "T"], "block": [128],
     "args": ["tokens", "lengths", "qkv", "projected", {"i64": "S"}, {"i64": "3 * H"}, {"i64": "H"}]},
    {"kernel": "attention_reference", "grid": ["H // D", "T"], "block": ["D"],
     "args": ["projected", "lengths", "attended", {"i64": "S"}, {"i64": "H"}]},
    {"kernel": "linear_reference<false>", "grid": ["ceil_div(H, 128)", "T"], "block": [128],
     "args": ["attended", "lengths", "out", "added", {"i64": "S"}, {"i64": "H"}, {"i64": "H"}]},
    {"kernel": "norm_reference<1>", "grid": ["T"], "block": [128],
     "args": ["tokens", "added", "lengths", "weight_1", "bias_1", "normed", {"i64": "S"}, {"i64": "H"}]},
    {"kernel": "linear_reference<true>", "grid": ["ceil_div(I, 128)", "T"], "block": [128],
     "args": ["normed", "lengths", "up", "inside", {"i64": "S"}, {"i64": "I"}, {"i64": "H"}]},
    {"kernel": "linear_reference<false>", "grid": ["ceil_div(H, 128)", "T"], "block": [128],
     "args": ["inside", "lengths", "down", "fed", {"i64": "S"}, {"i64": "H"}, {"i64": "I"}]},
    {"kernel": "norm_reference<2>", "grid": ["T"], "block": [128],
     "args": ["normed", "fed", "lengths", "weight_2", "bias_2", "results", {"i64": "S"}, {"i64": "H"}]},
    {"kernel": "mean_reference", "grid": ["B"], "block": [128],
     "args": ["results", "lengths", "means", {"i64": "S"}, {"i64": "H"}]},
    {"kernel": "scale_reference", "grid": ["B"], "block": [128], "args": ["means", "y", {"i64": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Token ids to sentence embeddings, step by step; what goes from step to step is in memory. A token behind its
// sequence's end is left alone: nothing reads what would become of it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int D = 64;
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

__device__ long long length_of(const int* lengths, long long b, long long s) {
  return min(max(static_cast<long long>(lengths[b]), 0ll), s);
}

// Whether anything comes of token blockIdx.y (or x, of a grid of tokens alone).
__device__ bool counts(const int* lengths, long long token, long long s) {
#if defined(AK_MUTATION_NO_LENGTHS) || defined(AK_MUTATION_ALL_KEYS)
  return true;
#else
  return token % s < length_of(lengths, token / s, s);
#endif
}

__global__ void embed_reference(const int* ids, const int* lengths, const scalar_t* table, const scalar_t* positions,
                                double* tokens, long long s, long long v, long long h) {
  const long long token = blockIdx.y, column = blockIdx.x * 128ll + threadIdx.x;
  if (column >= h || !counts(lengths, token, s)) return;
  long long id = ids[token];
#ifdef AK_MUTATION_CLAMPED
  id = min(max(id, 0ll), v - 1);
#endif
  accum_t value = id >= 0 && id < v ? widen(table[id * h + column]) : accum_t(0);
#ifndef AK_MUTATION_NO_POSITIONS
  value += widen(positions[token % s * h + column]);
#endif
  tokens[token * h + column] = handed_on(value);
}

// results[token][n] = x[token] . weight[n], perhaps gelu of it.
template <bool GELU>
__global__ void linear_reference(const double* x, const int* lengths, const scalar_t* weight, double* results,
                                 long long s, long long n, long long k) {
  const long long token = blockIdx.y, column = blockIdx.x * 128ll + threadIdx.x;
  if (column >= n || !counts(lengths, token, s)) return;
  accum_t sum = 0;
  for (long long at = 0; at < k; ++at)
    sum = keep(sum + static_cast<accum_t>(x[token * k + at]) * widen(weight[column * k + at]));
#ifndef AK_MUTATION_NO_GELU
  if (GELU) sum = sum * accum_t(0.5) * (accum_t(1) + erf(sum * accum_t(0.70710678118654752)));
#endif
  results[token * n + column] = handed_on(sum);
}

// One query of one head: a thread has a column of the result, and takes scores of the keys in turns.
__global__ void attention_reference(const double* projected, const int* lengths, double* attended, long long s,
                                    long long h) {
  __shared__ accum_t scores[4096];
  const long long token = blockIdx.y, head = blockIdx.x, first = token / s * s;
  if (!counts(lengths, token, s)) return;
#ifdef AK_MUTATION_ALL_KEYS
  const long long n = s;
#else
  const long long n = length_of(lengths, token / s, s);
#endif
#ifdef AK_MUTATION_SWAPPED
  const long long keys = 2 * h, values = h;
#else
  const long long keys = h, values = 2 * h;
#endif
#ifdef AK_MUTATION_FIRST_HEAD
  const long long key_head = 0;
#else
  const long long key_head = head;
#endif
#ifdef AK_MUTATION_NO_SCALE
  const accum_t scale = 1;
#else
  const accum_t scale = accum_t(1) / sqrt(accum_t(D));
#endif
  const double* query = projected + token * 3 * h + head * D;
  for (long long key = threadIdx.x; key < n; key += D) {
    accum_t sum = 0;
    for (int at = 0; at < D; ++at)
      sum = keep(sum + static_cast<accum_t>(query[at]) *
                           static_cast<accum_t>(projected[(first + key) * 3 * h + keys + key_head * D + at]));
    scores[key] = sum * scale;
  }
  __syncthreads();
  accum_t largest = scores[0];
  for (long long key = 1; key < n; ++key) largest = max(largest, scores[key]);
  __syncthreads();
  for (long long key = threadIdx.x; key < n; key += D) scores[key] = exp(scores[key] - largest);
  __syncthreads();
  accum_t total = 0, result = 0;
  for (long long key = 0; key < n; ++key) {
    total = keep(total + scores[key]);
    result = keep(result + scores[key] * static_cast<accum_t>(
                                             projected[(first + key) * 3 * h + values + head * D + threadIdx.x]));
  }
  attended[token * h + head * D + threadIdx.x] = handed_on(result / total);
}

// Sum of a value of each of 128 threads.
__device__ accum_t sum_of_block(accum_t value) {
  __shared__ accum_t shared[128];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = keep(shared[threadIdx.x] + shared[threadIdx.x + half]);
    __syncthreads();
  }
  const accum_t sum = shared[0];
  __syncthreads();
  return sum;
}

// Norm NUMBER of x + more.
template <int NUMBER>
__global__ void norm_reference(const double* x, const double* more, const int* lengths, const scalar_t* weight,
                               const scalar_t* bias, double* results, long long s, long long h) {
  const long long token = blockIdx.x;
  if (!counts(lengths, token, s)) return;
  const auto sum_at = [&](long long column) -> accum_t {
#ifdef AK_MUTATION_NO_RESIDUAL_1
    if (NUMBER == 1) return static_cast<accum_t>(more[token * h + column]);
#endif
#ifdef AK_MUTATION_NO_RESIDUAL_2
    if (NUMBER == 2) return static_cast<accum_t>(more[token * h + column]);
#endif
    return static_cast<accum_t>(x[token * h + column]) + static_cast<accum_t>(more[token * h + column]);
  };
  accum_t sum = 0, squares = 0;
  for (long long column = threadIdx.x; column < h; column += 128) sum = keep(sum + sum_at(column));
#ifdef AK_MUTATION_NO_MEAN
  const accum_t mean = 0;
#else
  const accum_t mean = sum_of_block(sum) / static_cast<accum_t>(h);
#endif
  for (long long column = threadIdx.x; column < h; column += 128) {
    const accum_t off = sum_at(column) - mean;
    squares = keep(squares + off * off);
  }
  const accum_t root = sqrt(sum_of_block(squares) / static_cast<accum_t>(h) + accum_t(1e-5));
  for (long long column = threadIdx.x; column < h; column += 128)
    results[token * h + column] =
        handed_on((sum_at(column) - mean) / root * widen(weight[column]) + widen(bias[column]));
}

__global__ void mean_reference(const double* x, const int* lengths, double* means, long long s, long long h) {
#ifdef AK_MUTATION_NO_LENGTHS
  const long long n = s;
#else
  const long long n = length_of(lengths, blockIdx.x, s);
#endif
  for (long long column = threadIdx.x; column < h; column += 128) {
    accum_t sum = 0;
    for (long long at = 0; at < n; ++at)
      sum = keep(sum + static_cast<accum_t>(x[(blockIdx.x * s + at) * h + column]));
    means[blockIdx.x * h + column] = static_cast<double>(sum / static_cast<accum_t>(max(n, 1ll)));
  }
}

__global__ void scale_reference(const double* means, out_t* y, long long h) {
  const double* mean = means + blockIdx.x * h;
  accum_t squares = 0;
  for (long long column = threadIdx.x; column < h; column += 128)
    squares = keep(squares + static_cast<accum_t>(mean[column]) * static_cast<accum_t>(mean[column]));
  accum_t norm = sqrt(sum_of_block(squares));
#ifdef AK_MUTATION_NO_NORM
  norm = 1;
#endif
  norm = max(norm, accum_t(1e-12));
  for (long long column = threadIdx.x; column < h; column += 128)
    y[blockIdx.x * h + column] = static_cast<out_t>(static_cast<accum_t>(mean[column]) / norm);
}
