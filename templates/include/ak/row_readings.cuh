// SPDX-License-Identifier: Apache-2.0
// Rows without a ring, for the operators of row_pipeline.cuh: short ones held by lanes, any read twice.
#pragma once

#include <ak/row_exchange.cuh>
#include <ak/vectors.cuh>

namespace ak {

/// The same for short rows, of LANES * VECTORS vectors of 16 bytes at most: LANES lanes hold a row in registers, and ROWS
/// rows at once. Blocks of THREADS threads take THREADS / LANES * ROWS rows each.
template <int THREADS, int LANES, int VECTORS, int ROWS, Cache HINT, class Operator>
__device__ __forceinline__ void hold_short_rows(const Operator& op, long long m, int n) {
  using T = typename Operator::Element;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T)), kGroups = 32 / LANES;
  constexpr int kSources = Operator::kSources, kWeights = Operator::kWeights;
  const int lane = lane_index() % LANES;
  const long long warp = static_cast<long long>(blockIdx.x) * (THREADS / 32) + warp_index();
  const auto row_of = [&](int r) { return (warp * ROWS + r) * kGroups + lane_index() / LANES; };
  const auto column_of = [&](int v) { return (v * LANES + lane) * kWidth; };
  Pack<T, kWidth> packs[ROWS][VECTORS][kSources], weights[VECTORS][kWeights > 0 ? kWeights : 1];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (row_of(r) >= m || column_of(v) >= n) continue;
#pragma unroll
      for (int s = 0; s < kSources; ++s)
        packs[r][v][s] = load<kWidth, HINT>(op.source(s) + row_of(r) * n + column_of(v));
    }
  }
  if constexpr (kWeights > 0) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (column_of(v) >= n) continue;
#pragma unroll
      for (int w = 0; w < kWeights; ++w)
        weights[v][w] = load<kWidth, Cache::read_only>(op.weight(w) + column_of(v));
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    auto own = op.begin();
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (row_of(r) < m && column_of(v) < n) op.add(own, packs[r][v], row_of(r), column_of(v));
    }
    const auto found = found_by_lanes(op, op.found(own), LANES);
    if (row_of(r) >= m) continue;
    const auto result = op.result(found, row_of(r), lane == 0);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
      if (column_of(v) < n) op.put(result, packs[r][v], weights[v], row_of(r), column_of(v));
    }
  }
}

/// The same for any rows, which are read twice: one a block of THREADS threads, in packs of WIDTH that divide n.
template <int THREADS, int WIDTH, class Operator>
__device__ __forceinline__ void read_rows_twice(const Operator& op, int n) {
  using T = typename Operator::Element;
  constexpr int kAtOnce = 4, kWarps = THREADS / 32;
  constexpr int kSources = Operator::kSources, kWeights = Operator::kWeights;
  __shared__ uint4 parts[kWarps];
  const long long row = blockIdx.x;
  const auto for_row = [&](auto use) {
    for (int start = static_cast<int>(threadIdx.x) * WIDTH; start < n; start += kAtOnce * THREADS * WIDTH) {
      Pack<T, WIDTH> packs[kAtOnce][kSources];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int column = start + k * THREADS * WIDTH;
        if (column >= n) continue;
#pragma unroll
        for (int s = 0; s < kSources; ++s) packs[k][s] = load<WIDTH>(op.source(s) + row * n + column);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int column = start + k * THREADS * WIDTH;
        if (column < n) use(packs[k], column);
      }
    }
  };
  auto own = op.begin();
  for_row([&](const Pack<T, WIDTH>(&packs)[kSources], int column) { op.add(own, packs, row, column); });
  auto found = found_by_lanes(op, op.found(own), 32);
  using Found = decltype(found);
  if (lane_index() == 0) *reinterpret_cast<Found*>(&parts[warp_index()]) = found;
  __syncthreads();
  found = *reinterpret_cast<const Found*>(&parts[lane_index() % kWarps]);
  found = found_by_lanes(op, found, kWarps);
  const auto result = op.result(found, row, threadIdx.x == 0);
  for_row([&](const Pack<T, WIDTH>(&packs)[kSources], int column) {
    Pack<T, WIDTH> weights[kWeights > 0 ? kWeights : 1];
    if constexpr (kWeights > 0) {
#pragma unroll
      for (int w = 0; w < kWeights; ++w) weights[w] = load<WIDTH, Cache::read_only>(op.weight(w) + column);
    }
    op.put(result, packs, weights, row, column);
  });
}

}  // namespace ak
