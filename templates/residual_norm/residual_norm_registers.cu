/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [32, 64, 128, 256, 512, 1024], "default": 256},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4], "default": 0}
  },
  "starts": [
    {"CACHE": 0, "ROWS_PER_BLOCK": 2, "THREADS_PER_ROW": 64},
    {"CACHE": 0, "VEC_BYTES": 8},
    {"CACHE": 0, "ELEMENTS": 8, "THREADS_PER_ROW": 1024}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 128",
    "store != 'fp8_block' or VEC_BYTES >= 4 * sizeof_x",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) <= 2048",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) * (ELEMENTS * (4 + 3 * sizeof_x) // 4 + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "CAPACITY": "THREADS_PER_ROW * ELEMENTS",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK)",
    "BLOCKS": "min(GROUPS, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else GROUPS",
    "PART": "512 * 16",
    "CLUSTER": "2 if N <= 2 * PART else 4 if N <= 4 * PART else 8 if N <= 8 * PART else 16",
    "IN_PART": "N % VEC == 0 and CAPACITY < N <= PART",
    "IN_CLUSTERS": "ARCH >= 90 and N % VEC == 0 and max(CAPACITY, PART) < N <= PART * (16 if ARCH == 90 else 8)"
  },
  "launches": [
    {"kernel": "norm_rows<VEC>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i64": "M"}, {"i32": "N"}],
     "when": "N <= CAPACITY and N % VEC == 0"},
    {"kernel": "norm_rows<1>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i64": "M"}, {"i32": "N"}],
     "when": "N <= CAPACITY and N % VEC != 0"},
    {"kernel": "norm_in_clusters", "grid": ["M"], "block": [512],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i64": "M"}, {"i32": "N"}], "when": "IN_PART"},
    {"kernel": "norm_in_clusters", "grid": ["M * CLUSTER"], "block": [512], "cluster": ["CLUSTER"],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i64": "M"}, {"i32": "N"}],
     "when": "IN_CLUSTERS"},
    {"kernel": "norm_long_rows<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i32": "N"}],
     "when": "N > CAPACITY and N % VEC == 0 and not IN_PART and not IN_CLUSTERS"},
    {"kernel": "norm_long_rows<1>", "grid": ["M"], "block": [512],
     "args": ["x", "residual", "weight", {"optional": "bias"}, "epsilon", "y", "residual_out", {"optional": "scales"}, {"i32": "N"}],
     "when": "N > CAPACITY and N % VEC != 0"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// residual_out = x + residual; y = its norm, perhaps as codes with scales. Everything is read once and written once:
//
//   x, residual ─► registers ─► residual_out
//                      └─ mean, squares ─► norm ─ largest of the row, or of 128 neighbours ─► y, scales
//
// THREADS_PER_ROW threads hold a row; longer rows lie in the registers of a block of 512 threads or of a cluster of up
// to 16 of them, whose sums meet in shared memory. Without clusters, beyond 131072 columns (65536 with clusters of 8),
// or where no vector divides a long row, norm_long_rows reads a row again for each sum, from L2 while all
// rows under way fit it. With BLOCKS_PER_SM > 0 blocks stay and take rows in turn: weights are read once, and a row
// arrives while the one before is in work.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/narrow.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 256;
constexpr int ROWS_PER_BLOCK = 1;
constexpr int ELEMENTS = 16;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#define AK_KIND_RMSNORM 1
#define AK_STORE_SAME 1
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int LONG_THREADS = 512, LONG_ELEMENTS = 16;  // as the plan says: PART

// CACHE 1: evict-first hints for rows, as their elements are touched once. Weights are read by every row.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

#ifdef AK_KIND_LAYERNORM
constexpr bool CENTRED = true;
#else
constexpr bool CENTRED = false;
#endif
#ifdef AK_STORE_SAME
constexpr bool QUANTISED = false;
using result_t = scalar_t;
#else
constexpr bool QUANTISED = true;
using result_t = unsigned char;
#endif
#ifdef AK_STORE_FP8_BLOCK
constexpr bool BLOCK_SCALES = true;
#else
constexpr bool BLOCK_SCALES = false;
#endif
#ifdef AK_STORE_INT8_ROW
using Code = ak::s8;
#else
using Code = ak::e4m3;
#endif
constexpr int SCALED = 128;  // columns of a block that has a scale

// Threads that an SM should hold, so that its rows overlap: 42, 64 or 128 registers each.
constexpr int RESIDENT = ELEMENTS == 8 ? 1536 : ELEMENTS == 16 ? 1024 : 512;
constexpr int BLOCK = THREADS_PER_ROW * ROWS_PER_BLOCK;
constexpr int BLOCKS_AT_ONCE = BLOCKS_PER_SM > 0 ? BLOCKS_PER_SM : RESIDENT > BLOCK ? RESIDENT / BLOCK : 1;

struct Tensors {
  const scalar_t *x, *residual, *weight, *bias;
  float epsilon;
  result_t* y;
  scalar_t* residual_out;
  float* scales;
};

template <int WIDTH>
using Pack = ak::Pack<scalar_t, WIDTH>;

template <int WIDTH>
__device__ __forceinline__ void add(float (&sums)[WIDTH], const Pack<WIDTH>& x, const Pack<WIDTH>& residual) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) sums[i] = static_cast<float>(x.value[i]) + static_cast<float>(residual.value[i]);
}

// What a vector of the row becomes: times scale, times the weights, plus the bias.
template <int WIDTH>
__device__ __forceinline__ void weigh(float (&values)[WIDTH], float scale, const Pack<WIDTH>& weight,
                                      const Pack<WIDTH>& bias) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    values[i] *= scale * static_cast<float>(weight.value[i]);
    if (CENTRED) values[i] += static_cast<float>(bias.value[i]);
  }
}

template <int WIDTH>
__device__ __forceinline__ float largest_of(const float (&values)[WIDTH]) {
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) largest = fmaxf(largest, fabsf(values[i]));
  return largest;
}

// Writes a vector at `column` of a row, where it is inside, in the element type or as codes; row_largest: the largest
// number of the row. Whole warps, as 128 neighbours of a block of columns find their largest number here.
template <int WIDTH>
__device__ __forceinline__ void write(const Tensors& t, long long row, int n, int column, const float (&values)[WIDTH],
                                      float row_largest) {
  const bool inside = column < n;
  if constexpr (!QUANTISED) {
    if (inside) ak::store<HINT>(t.y + row * n + column, ak::narrow<scalar_t>(values));
  } else {
    float largest = row_largest;
    if constexpr (BLOCK_SCALES) {
      largest = ak::reduce_lanes<SCALED / WIDTH>(inside ? largest_of(values) : 0.0f, ak::Maximum());
      if (inside && column % SCALED == 0) {
        t.scales[row * ((n + SCALED - 1) / SCALED) + column / SCALED] = ak::scale_of<Code>(largest);
      }
    }
    if (inside) ak::store<HINT>(t.y + row * n + column, ak::quantise<Code>(values, ak::factor_of<Code>(largest)));
  }
}

// m rows of n elements, a multiple of WIDTH that the row's registers hold. Weights are kept where blocks stay; else they
// are read when they are needed, from L1 but for an SM's first row, and need no registers before.
template <int THREADS, int ROWS, int WIDTH, int ITEMS, bool CLUSTER, bool STAYS>
__device__ __forceinline__ void norm(const Tensors& t, long long m, int n) {
  ak::Row<THREADS, ROWS, WIDTH, ITEMS, CLUSTER> line;
  const long long stride = static_cast<long long>(gridDim.x / line.blocks()) * ROWS;
  long long group = static_cast<long long>(blockIdx.x / line.blocks()) * ROWS;  // first row of this block

  Pack<WIDTH> x[ITEMS], residual[ITEMS], weight[ITEMS], bias[ITEMS];
  const auto read_row = [&](long long row) {
    line.template read<HINT>(x, t.x + row * n, row < m ? n : 0);
    line.template read<HINT>(residual, t.residual + row * n, row < m ? n : 0);
  };
  const auto read_weights = [&](int item) {
    const int column = line.column(item);
    if (column >= n) return;
    weight[item] = ak::load<WIDTH, ak::Cache::read_only>(t.weight + column);
    if constexpr (CENTRED) bias[item] = ak::load<WIDTH, ak::Cache::read_only>(t.bias + column);
  };
  read_row(group + threadIdx.y);
  if constexpr (STAYS) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) read_weights(item);
  }
  line.begin();
  for (; group < m; group += stride) {
    const long long row = group + threadIdx.y;
    const int columns = row < m ? n : 0;  // a row past the end has none, but its threads reach the barriers
    float values[ITEMS][WIDTH];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      add(values[item], x[item], residual[item]);
      if (line.column(item) >= columns) continue;
      ak::store<HINT>(t.residual_out + row * n + line.column(item), ak::narrow<scalar_t>(values[item]));
    }
    if constexpr (STAYS) read_row(row + stride);
    if constexpr (CENTRED) ak::subtract_mean(line, values, columns, n);
    const float scale = rsqrtf(ak::sum_of_squares(line, values, columns) / static_cast<float>(n) + t.epsilon);

    float largest = 0.0f;
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if constexpr (!STAYS) read_weights(item);
      weigh(values[item], scale, weight[item], bias[item]);
      if (line.column(item) < columns) largest = fmaxf(largest, largest_of(values[item]));
    }
    if constexpr (QUANTISED && !BLOCK_SCALES) {
      largest = line.reduce(largest, ak::Maximum());
      if (line.is_first() && columns > 0) t.scales[row] = ak::scale_of<Code>(largest);
    }
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (columns > 0) write(t, row, n, line.column(item), values[item], largest);
    }
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE)
    norm_rows(const scalar_t* x, const scalar_t* residual, const scalar_t* weight, const scalar_t* bias, float epsilon,
              result_t* y, scalar_t* residual_out, float* scales, long long m, int n) {
  norm<THREADS_PER_ROW, ROWS_PER_BLOCK, WIDTH, ELEMENTS / WIDTH, false, (BLOCKS_PER_SM > 0)>(
      {x, residual, weight, bias, epsilon, y, residual_out, scales}, m, n);
}

// A row a cluster, which may be one block. Two blocks an SM, so that one reads while the other writes.
__global__ void __launch_bounds__(LONG_THREADS, 2)
    norm_in_clusters(const scalar_t* x, const scalar_t* residual, const scalar_t* weight, const scalar_t* bias,
                     float epsilon, result_t* y, scalar_t* residual_out, float* scales, long long m, int n) {
  norm<LONG_THREADS, 1, VEC, LONG_ELEMENTS / VEC, true, false>(
      {x, residual, weight, bias, epsilon, y, residual_out, scales}, m, n);
}

// Calls use(sums, column) for this thread's vectors of a row, and for those past its end (as zeros) up to a whole round.
template <int WIDTH, class Use>
__device__ __forceinline__ void for_row(const Tensors& t, long long row, int n, Use use) {
  constexpr int kAtOnce = 16 / WIDTH < 4 ? 16 / WIDTH : 4, kStep = LONG_THREADS * WIDTH;
  for (int start = 0; start < n; start += kAtOnce * kStep) {
    Pack<WIDTH> x[kAtOnce], residual[kAtOnce];
    const int first = start + static_cast<int>(threadIdx.x) * WIDTH;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (first + k * kStep >= n) continue;
      x[k] = ak::load<WIDTH>(t.x + row * n + first + k * kStep);
      residual[k] = ak::load<WIDTH>(t.residual + row * n + first + k * kStep);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      float sums[WIDTH] = {};
      if (first + k * kStep < n) add(sums, x[k], residual[k]);
      use(sums, first + k * kStep);
    }
  }
}

// One row a block, of any length; n % WIDTH == 0.
template <int WIDTH>
__global__ void __launch_bounds__(LONG_THREADS)
    norm_long_rows(const scalar_t* x, const scalar_t* residual, const scalar_t* weight, const scalar_t* bias,
                   float epsilon, result_t* y, scalar_t* residual_out, float* scales, int n) {
  const Tensors t = {x, residual, weight, bias, epsilon, y, residual_out, scales};
  const long long row = blockIdx.x;
  ak::Row<LONG_THREADS, 1, WIDTH, 1> line;
  float mean = 0.0f;
  if constexpr (CENTRED) {
    float sum = 0.0f;
    for_row<WIDTH>(t, row, n, [&](const float(&sums)[WIDTH], int) {
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) sum += sums[i];
    });
    mean = line.reduce(sum, ak::Sum()) / static_cast<float>(n);
  }
  float squares = 0.0f;
  for_row<WIDTH>(t, row, n, [&](const float(&sums)[WIDTH], int column) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) squares += column < n ? (sums[i] - mean) * (sums[i] - mean) : 0.0f;
  });
  const float scale = rsqrtf(line.reduce(squares, ak::Sum()) / static_cast<float>(n) + epsilon);

  const auto normalise = [&](float(&values)[WIDTH], int column) {
    if (column >= n) return;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) values[i] -= mean;
    Pack<WIDTH> biases;
    if constexpr (CENTRED) biases = ak::load<WIDTH, ak::Cache::read_only>(bias + column);
    weigh(values, scale, ak::load<WIDTH, ak::Cache::read_only>(weight + column), biases);
  };
  float largest = 0.0f;
  if constexpr (QUANTISED && !BLOCK_SCALES) {
    for_row<WIDTH>(t, row, n, [&](float(&values)[WIDTH], int column) {
      normalise(values, column);
      if (column < n) largest = fmaxf(largest, largest_of(values));
    });
    largest = line.reduce(largest, ak::Maximum());
    if (line.is_first()) scales[row] = ak::scale_of<Code>(largest);
  }
  for_row<WIDTH>(t, row, n, [&](float(&values)[WIDTH], int column) {
    if (column < n) ak::store<HINT>(residual_out + row * n + column, ak::narrow<scalar_t>(values));
    normalise(values, column);
    write(t, row, n, column, values, largest);
  });
}
