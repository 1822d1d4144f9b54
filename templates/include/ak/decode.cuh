// SPDX-License-Identifier: Apache-2.0
// Decoding attention: queries that share a key head as rows, and results from parts of the keys.
//
// Queries and results are [sequences][queries][hq][D]; of hq heads, hq / hkv neighbours share a key head, and these
// heads of all queries are its rows. A part of the keys leaves the mean of its values, weighed by powers of two of scores,
// and the binary logarithm of the weights' sum, minus infinity where it has no key. A thread adds four columns.
#pragma once

#include <ak/clusters.cuh>
#include <ak/elements.cuh>
#include <ak/functions.cuh>

namespace ak {

/// Rows of a key head: row r is head r % group() of query r / group().
struct DecodeRows {
  int queries, hq, hkv;
  __device__ __forceinline__ int group() const { return hq / hkv; }
  __device__ __forceinline__ int count() const { return queries * group(); }
  /// The line of queries and results that is a row.
  __device__ __forceinline__ int line(int sequence, int key_head, int row) const {
    return (sequence * queries + row / group()) * hq + key_head * group() + row % group();
  }
  /// How many of `length` keys a row sees: the last query all, the one before it one fewer; all also past the last row.
  __device__ __forceinline__ int seen(int row, int length) const {
    return min(length, length - queries + 1 + row / group());
  }
  /// How many every row sees.
  __device__ __forceinline__ int seen_by_all(int length) const { return length - queries + 1; }
};

/// Adds parts of a softmax up, four columns each. `top`: the largest exponent of all parts.
struct SoftmaxParts {
  float shift, weight;
  float4 sum;

  __device__ __forceinline__ explicit SoftmaxParts(float top)
      : shift(top == minus_infinity() ? 0.0f : top), weight(0.0f), sum(make_float4(0, 0, 0, 0)) {}

  /// A part whose weights count 2^exponent times: their sum, and that of the weighed values.
  __device__ __forceinline__ void add(float exponent, float weights, float4 values) {
    const float factor = fast_exp2(exponent - shift);
    weight = fmaf(factor, weights, weight);
    sum.x = fmaf(factor, values.x, sum.x);
    sum.y = fmaf(factor, values.y, sum.y);
    sum.z = fmaf(factor, values.z, sum.z);
    sum.w = fmaf(factor, values.w, sum.w);
  }
  /// The mean times `scale`, or zeros where there was no key.
  __device__ __forceinline__ float4 mean(float scale = 1.0f) const {
    const float inverse = weight == 0.0f ? 0.0f : scale / weight;
    return make_float4(sum.x * inverse, sum.y * inverse, sum.z * inverse, sum.w * inverse);
  }
  __device__ __forceinline__ float log2_sum() const { return shift + log2f(weight); }
};

/// Writes four columns of a line of D results, and with the first of them the line's natural logarithm, if wanted.
template <int D, class T>
__device__ __forceinline__ void write_decoded(T* o, float* lse, long long line, int column, const SoftmaxParts& parts,
                                              float scale = 1.0f) {
  const float4 mean = parts.mean(scale);
  const uint2 packed = make_uint2(pack_pair<Element<T>>(mean.x, mean.y), pack_pair<Element<T>>(mean.z, mean.w));
  *reinterpret_cast<uint2*>(o + line * D + column) = packed;
  if (lse != nullptr && column == 0) lse[line] = parts.log2_sum() * 0.69314718055994531f;
}

/// Lets the launch that combines parts begin, if it has "pdl" (sm_90 and later): when every block has come here or ended.
__device__ __forceinline__ void let_combination_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// In that launch: waits until all parts are written.
__device__ __forceinline__ void wait_for_parts() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The same out of the first `used` of `splits` parts that other blocks left: means [lines][splits][D], and logarithms
/// [lines][splits]. They are added in their order.
template <int D, class T>
__device__ __forceinline__ void combine_decoded(const float* means, const float* logarithms, T* o, float* lse,
                                                long long line, int column, int splits, int used) {
  means += line * splits * D + column;
  logarithms += line * splits;
  float top = minus_infinity();
  // Unrolled, so that several reads are under way: their latency is what this takes.
#pragma unroll 16
  for (int split = 0; split < used; ++split) top = fmaxf(top, __ldcg(logarithms + split));
  SoftmaxParts parts(top);
#pragma unroll 8
  for (int split = 0; split < used; ++split) {
    parts.add(__ldcg(logarithms + split), 1.0f,
              __ldcg(reinterpret_cast<const float4*>(means + static_cast<long long>(split) * D)));
  }
  write_decoded<D>(o, lse, line, column, parts);
}

/// The same out of parts that the first `used` blocks of a cluster have in their shared memory: `mean` and `logarithm` are
/// addresses of this block's own. A cluster_sync() comes before and behind it.
template <int D, class T>
__device__ __forceinline__ void combine_cluster(u32 mean, u32 logarithm, T* o, float* lse, long long line, int column,
                                                int used) {
  float top = minus_infinity();
#pragma unroll 8
  for (int rank = 0; rank < used; ++rank) top = fmaxf(top, load_remote(remote_address(logarithm, rank)));
  SoftmaxParts parts(top);
#pragma unroll 8
  for (int rank = 0; rank < used; ++rank)
    parts.add(load_remote(remote_address(logarithm, rank)), 1.0f, load_remote_vector(remote_address(mean, rank)));
  write_decoded<D>(o, lse, line, column, parts);
}

}  // namespace ak
