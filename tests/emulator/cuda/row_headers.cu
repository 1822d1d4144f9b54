// SPDX-License-Identifier: Apache-2.0
// Rows by ak/row_pipeline.cuh and ak/row_readings.cuh: row_headers_test.cpp knows what they give.
#include <ak/row_pipeline.cuh>
#include <ak/row_readings.cuh>

// What must be right of every element: which row and column it is, and that it is taken once.
struct Known {
  int sum, weighted, maximum, count;
};

// Of a row of x and r: y = x + 3 * r + sum - maximum + count, and 5 * w + 7 * b where there are weights. `firsts` counts the
// threads that are the first of a row.
template <bool WEIGHTS>
struct Totals {
  using Element = int;
  static constexpr int kSources = 2, kWeights = WEIGHTS ? 2 : 0;
  const int *x, *r, *w, *b;
  int *y, *firsts, n;

  __device__ const int* source(int i) const { return i == 0 ? x : r; }
  __device__ const int* weight(int i) const { return i == 0 ? w : b; }
  __device__ Known begin() const { return {0, 0, -1000000, 0}; }
  template <int WIDTH>
  __device__ void add(Known& own, const ak::Pack<int, WIDTH> (&packs)[2], long long row, int column) const {
    for (int i = 0; i < WIDTH; ++i) {
      const int value = packs[0].value[i] + 2 * packs[1].value[i];
      own.sum += value;
      own.weighted += value * (column + i + 1) + static_cast<int>(row);
      own.maximum = max(own.maximum, value);
      ++own.count;
    }
  }
  __device__ Known found(const Known& own) const { return own; }
  __device__ Known both(const Known& a, const Known& b) const {
    return {a.sum + b.sum, a.weighted + b.weighted, max(a.maximum, b.maximum), a.count + b.count};
  }
  __device__ int result(const Known& all, long long row, bool first) const {
    if (first) atomicAdd(firsts + row, 1);
    return all.sum + all.weighted - all.maximum + all.count;
  }
  template <int WIDTH>
  __device__ void put(int of_row, const ak::Pack<int, WIDTH> (&packs)[2],
                      const ak::Pack<int, WIDTH> (&weights)[WEIGHTS ? 2 : 1], long long row, int column) const {
    ak::Pack<int, WIDTH> results;
    for (int i = 0; i < WIDTH; ++i) {
      results.value[i] = packs[0].value[i] + 3 * packs[1].value[i] + of_row;
      if constexpr (WEIGHTS) results.value[i] += 5 * weights[0].value[i] + 7 * weights[1].value[i];
    }
    ak::store(y + row * n + column, results);
  }
};

template <bool WEIGHTS, bool HELD, int THREADS, int ITEMS, bool ONCE>
__global__ void __launch_bounds__(THREADS + 32)
    streamed(const int* x, const int* r, const int* w, const int* b, int* y, int* firsts, int m, int n, int stages) {
  ak::stream_rows<THREADS, ITEMS, HELD, ONCE>(Totals<WEIGHTS>{x, r, w, b, y, firsts, n}, m, n, stages);
}

// Blocks of 64 threads.
template <bool WEIGHTS, int LANES, int VECTORS, int ROWS>
__global__ void held(const int* x, const int* r, const int* w, const int* b, int* y, int* firsts, int m, int n, int) {
  ak::hold_short_rows<64, LANES, VECTORS, ROWS, ak::Cache::streaming>(Totals<WEIGHTS>{x, r, w, b, y, firsts, n}, m, n);
}

template <bool WEIGHTS, int WIDTH>
__global__ void twice(const int* x, const int* r, const int* w, const int* b, int* y, int* firsts, int, int n, int) {
  ak::read_rows_twice<64, WIDTH>(Totals<WEIGHTS>{x, r, w, b, y, firsts, n}, n);
}
