// SPDX-License-Identifier: Apache-2.0
// Scales of linear layers along k, and results from their sums: bias, activation or a gated pair, eight at a time.
//
// Kernels that multiply weights by rows have the sums of neighbouring lines of the weight next to each other in shared
// memory or a workspace. A Store takes kLines of them in registers, all of one row, and writes eight results or fewer
// at the end: 16 bytes where rows are whole vectors. Steps are those of epilogue.cuh.
#pragma once

#include <ak/epilogue.cuh>
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

namespace ak {

// Products without scales along k.
struct NoScales {
  static constexpr bool kPromoted = false;
  __device__ __forceinline__ float row(int, int) const { return 1.0f; }
  __device__ __forceinline__ float line(int, int) const { return 1.0f; }
};
// A scale for every row of x and 128 of k (rows[k / 128][row]) and for 128 lines by 128 of k of the weight.
struct BlockScales {
  static constexpr bool kPromoted = true;
  const float* rows;
  const float* lines;
  int row_count, line_count, blocks;  // blocks of 128 along k
  __device__ __forceinline__ float row(int block, int row) const {
    return row < row_count ? __ldg(rows + static_cast<long long>(block) * row_count + row) : 0.0f;
  }
  __device__ __forceinline__ float line(int block, int line) const {
    return line < line_count ? __ldg(lines + static_cast<long long>(line / 128) * blocks + block) : 0.0f;
  }
};

// COUNT neighbouring sums of 32 bits from shared memory, at a multiple of 16 bytes.
template <class Sum, int COUNT>
__device__ __forceinline__ void load_sums(Sum (&sums)[COUNT], u32 address) {
  static_assert(sizeof(Sum) == 4 && COUNT % 4 == 0);
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    u32 words[4];
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address + i * 4)
                 : "memory");
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[i + e] = reinterpret_cast<const Sum&>(words[e]);
  }
}

// The same, added to what is there.
template <class Sum, int COUNT>
__device__ __forceinline__ void add_sums(Sum (&sums)[COUNT], u32 address) {
  Sum more[COUNT];
  load_sums(more, address);
#pragma unroll
  for (int i = 0; i < COUNT; ++i) sums[i] += more[i];
}

// Sums as they are: adding zero.
struct AsItIs {
  __device__ __forceinline__ float operator()(float sum, int, int) const { return sum; }
};

// Writes the first `inside` of eight values; as one vector where every row of the matrix is whole ones.
template <class T>
__device__ __forceinline__ void store_eight(T* to, const T (&values)[8], int inside, bool whole) {
  constexpr int kCount = 16 / sizeof(T);
  if (whole) {
#pragma unroll
    for (int part = 0; part < 8 / kCount; ++part) {
      Pack<T, kCount> pack;
#pragma unroll
      for (int e = 0; e < kCount; ++e) pack.value[e] = values[part * kCount + e];
      store(to + part * kCount, pack);
    }
  } else {
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (e < inside) to[e] = values[e];
    }
  }
}

// y[row][line] = step(sum, row, line), rounded to Out.
template <class Out, class Step>
struct StoreResults {
  using Result = Out;
  static constexpr int kLines = 8;
  Out* y;
  int columns;
  Step step;
  template <class Sum>
  __device__ __forceinline__ void operator()(const Sum (&sums)[8], int row, int line) const {
    Out values[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      values[e] = static_cast<Out>(step(static_cast<float>(sums[e]), row, min(line + e, columns - 1)));
    }
    store_eight(y + static_cast<long long>(row) * columns + line, values, columns - line, columns % 8 == 0);
  }
};

template <class Out, class Step>
__device__ __forceinline__ StoreResults<Out, Step> store_results(Out* y, int columns, Step step) {
  return {y, columns, step};
}

// Of every 16 lines eight are gates and eight what they let through: y[row][line / 2 + i] = GATED(gate, up).
template <class Out, float (*GATED)(float, float) = swiglu>
struct StoreGated {
  static constexpr int kLines = 16;
  Out* y;
  int columns;
  template <class Sum>
  __device__ __forceinline__ void operator()(const Sum (&sums)[16], int row, int line) const {
    Out values[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) values[e] = static_cast<Out>(GATED(sums[e], sums[8 + e]));
    const int column = line / 2;
    store_eight(y + static_cast<long long>(row) * columns + column, values, columns - column, columns % 8 == 0);
  }
};

// Part `part` of the sums of a split product: parts[part][row][line] of rows x lines.
template <class Sum>
struct StoreSums {
  static constexpr int kLines = 8;
  Sum* parts;
  int lines;
  __device__ __forceinline__ void operator()(const Sum (&sums)[8], int row, int line) const {
    store_eight(parts + static_cast<long long>(row) * lines + line, sums, lines - line,
                lines % 4 == 0 && lines - line >= 8);
  }
};

// Adds up the parts of kLines neighbouring sums in their order and stores the results; thread `i` of the launch.
template <int PARTS, class Sum, class Store>
__device__ __forceinline__ void add_parts(const Sum* parts, int rows, int lines, long long i, Store store) {
  const int across = (lines + Store::kLines - 1) / Store::kLines;
  if (i >= static_cast<long long>(rows) * across) return;
  const int row = static_cast<int>(i / across), line = static_cast<int>(i % across) * Store::kLines;
  Sum sums[Store::kLines] = {};
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    const Sum* from = parts + (static_cast<long long>(part) * rows + row) * lines + line;
#pragma unroll
    for (int e = 0; e < Store::kLines; ++e) {
      if (line + e < lines) sums[e] += from[e];
    }
  }
  store(sums, row, line);
}

}  // namespace ak
