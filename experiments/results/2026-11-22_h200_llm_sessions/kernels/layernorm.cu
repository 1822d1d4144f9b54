/* alphakernel
{
  "problem": "layernorm",
  "params": {
    "dtype": "bfloat16"
  },
  "frozen": {
    "ITEMS": 2,
    "LOAD_FIRST": 0,
    "RESIDENT": 1536,
    "ROWS": 1,
    "STORE_FIRST": 1
  },
  "tunables": {
    "ITEMS": {
      "values": [
        1,
        2,
        4,
        8
      ],
      "default": 2
    },
    "ROWS": {
      "values": [
        1,
        2,
        4
      ],
      "default": 1
    },
    "RESIDENT": {
      "values": [
        1024,
        1536,
        2048
      ],
      "default": 1024
    },
    "LOAD_FIRST": {
      "values": [
        0,
        1
      ],
      "default": 1
    },
    "STORE_FIRST": {
      "values": [
        0,
        1
      ],
      "default": 1
    }
  },
  "constraints": [
    "ITEMS * ROWS <= 8",
    "ITEMS * ROWS <= 4 or RESIDENT <= 1024",
    "ITEMS * ROWS <= 2 or RESIDENT <= 1536"
  ],
  "let": {
    "THREADS": "N // (8 * ITEMS)",
    "GROUPS": "ceil_div(M, ROWS)",
    "EXACT": "N % (8 * ITEMS) == 0"
  },
  "launches": [
    {
      "kernel": "layernorm_row<128>",
      "grid": [
        "GROUPS"
      ],
      "block": [
        "128"
      ],
      "when": "EXACT and THREADS == 128",
      "args": [
        "x",
        "weight",
        "bias",
        "y",
        {
          "i64": "M"
        }
      ]
    },
    {
      "kernel": "layernorm_row<256>",
      "grid": [
        "GROUPS"
      ],
      "block": [
        "256"
      ],
      "when": "EXACT and THREADS == 256",
      "args": [
        "x",
        "weight",
        "bias",
        "y",
        {
          "i64": "M"
        }
      ]
    },
    {
      "kernel": "layernorm_row<512>",
      "grid": [
        "GROUPS"
      ],
      "block": [
        "512"
      ],
      "when": "EXACT and THREADS == 512",
      "args": [
        "x",
        "weight",
        "bias",
        "y",
        {
          "i64": "M"
        }
      ]
    },
    {
      "kernel": "layernorm_row<1024>",
      "grid": [
        "GROUPS"
      ],
      "block": [
        "1024"
      ],
      "when": "EXACT and THREADS == 1024",
      "args": [
        "x",
        "weight",
        "bias",
        "y",
        {
          "i64": "M"
        }
      ]
    },
    {
      "kernel": "layernorm_any",
      "grid": [
        "M"
      ],
      "block": [
        "256"
      ],
      "when": "not (EXACT and (THREADS == 128 or THREADS == 256 or THREADS == 512 or THREADS == 1024))",
      "args": [
        "x",
        "weight",
        "bias",
        "y",
        {
          "i64": "N"
        }
      ]
    }
  ]
}
*/
// A block holds ROWS whole rows in registers, as bf16, with ITEMS vectors of 16 bytes a thread and as many threads as the
// row needs. Every thread takes the mean and the squared distances of its own elements; equal parts are then joined
// pairwise (mean of means, squares + distance^2 * count / 2), so that one barrier serves both sums without cancellation.
#include <cuda_bf16.h>

#ifndef ALPHAKERNEL
constexpr int ITEMS = 2;
constexpr int LOAD_FIRST = 0;
constexpr int RESIDENT = 1536;
constexpr int ROWS = 1;
constexpr int STORE_FIRST = 1;
using scalar_t = __nv_bfloat16;
#endif

constexpr float kEpsilon = 1e-5f;

__device__ __forceinline__ float low_of(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high_of(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

__device__ __forceinline__ unsigned pair_of(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ __forceinline__ uint4 load_vector(const uint4* address) { return LOAD_FIRST == 1 ? __ldcs(address) : *address; }

__device__ __forceinline__ void store_vector(uint4* address, uint4 v) {
  if (STORE_FIRST == 1) {
    __stcs(address, v);
  } else {
    *address = v;
  }
}

// Joins two parts of `count` elements each: the mean and the sum of squared distances from it.
__device__ __forceinline__ void join(float& mean, float& squares, float other_mean, float other_squares, float count) {
  const float distance = other_mean - mean;
  mean = 0.5f * (mean + other_mean);
  squares = (squares + other_squares) + distance * distance * (0.5f * count);
}

__device__ __forceinline__ void unpack(const uint4& pack, float (&value)[8]) {
  const unsigned word[4] = {pack.x, pack.y, pack.z, pack.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    value[2 * i] = low_of(word[i]);
    value[2 * i + 1] = high_of(word[i]);
  }
}

__device__ __forceinline__ uint4 finish(const uint4& pack, const uint4& weights, const uint4& biases, float mean, float scale) {
  float value[8], w[8], b[8];
  unpack(pack, value);
  unpack(weights, w);
  unpack(biases, b);
#pragma unroll
  for (int i = 0; i < 8; ++i) value[i] = fmaf((value[i] - mean) * scale, w[i], b[i]);
  return make_uint4(pair_of(value[0], value[1]), pair_of(value[2], value[3]), pair_of(value[4], value[5]), pair_of(value[6], value[7]));
}

// The mean and the squares of the 8 * COUNT elements of this thread.
template <int COUNT>
__device__ __forceinline__ void own_moments(const uint4 (&pack)[COUNT], float& mean, float& squares) {
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    float v[8];
    unpack(pack[k], v);
    sum += ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  }
  mean = sum * (1.0f / (8 * COUNT));
  float even = 0.0f, odd = 0.0f;
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    float v[8];
    unpack(pack[k], v);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      even += (v[i] - mean) * (v[i] - mean);
      odd += (v[i + 1] - mean) * (v[i + 1] - mean);
    }
  }
  squares = even + odd;
}

// Any n, one block of 256 threads a row: mean, then squared distances from it, then the result.
__device__ __forceinline__ float sum_of_block(float value, float* partial) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) value += partial[k];
  return value;
}

__global__ void __launch_bounds__(256)
    layernorm_any(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight, const scalar_t* __restrict__ bias,
                  scalar_t* __restrict__ y, long long n) {
  __shared__ float partial[2][8];
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  float sum = 0.0f;
  for (long long i = threadIdx.x; i < n; i += 256) sum += static_cast<float>(x[i]);
  const float mean = sum_of_block(sum, partial[0]) / static_cast<float>(n);
  float squares = 0.0f;
  for (long long i = threadIdx.x; i < n; i += 256) {
    const float distance = static_cast<float>(x[i]) - mean;
    squares += distance * distance;
  }
  const float scale = rsqrtf(sum_of_block(squares, partial[1]) / static_cast<float>(n) + kEpsilon);
  for (long long i = threadIdx.x; i < n; i += 256) {
    const float value = (static_cast<float>(x[i]) - mean) * scale;
    y[i] = static_cast<scalar_t>(fmaf(value, static_cast<float>(weight[i]), static_cast<float>(bias[i])));
  }
}

template <int THREADS_OF_ROW>
__global__ void __launch_bounds__(THREADS_OF_ROW, (RESIDENT / THREADS_OF_ROW > 0 ? RESIDENT / THREADS_OF_ROW : 1))
    layernorm_row(const scalar_t* __restrict__ x, const scalar_t* __restrict__ weight, const scalar_t* __restrict__ bias,
                  scalar_t* __restrict__ y, long long m) {
  constexpr int kWarps = THREADS_OF_ROW / 32;
  constexpr int kVectors = THREADS_OF_ROW * ITEMS;  // of a row
  __shared__ float2 partial[ROWS][kWarps];
  const long long first = static_cast<long long>(blockIdx.x) * ROWS;
  const uint4* from = reinterpret_cast<const uint4*>(x) + threadIdx.x;
  uint4* to = reinterpret_cast<uint4*>(y) + first * kVectors + threadIdx.x;

  uint4 pack[ROWS][ITEMS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const long long row = first + r < m ? first + r : m - 1;  // past the end: the last row, not stored
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) pack[r][k] = load_vector(from + row * kVectors + k * THREADS_OF_ROW);
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    float mean, squares;
    own_moments(pack[r], mean, squares);
    float count = 8.0f * ITEMS;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      join(mean, squares, __shfl_xor_sync(0xffffffffu, mean, offset), __shfl_xor_sync(0xffffffffu, squares, offset), count);
      count *= 2.0f;
    }
    if (threadIdx.x % 32 == 0) partial[r][threadIdx.x / 32] = make_float2(mean, squares);
  }
  __syncthreads();
  float means[ROWS], scales[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const float2 part = partial[r][threadIdx.x % kWarps];
    float mean = part.x, squares = part.y;
    float count = 8.0f * ITEMS * 32.0f;
#pragma unroll
    for (int offset = kWarps / 2; offset > 0; offset /= 2) {
      join(mean, squares, __shfl_xor_sync(0xffffffffu, mean, offset), __shfl_xor_sync(0xffffffffu, squares, offset), count);
      count *= 2.0f;
    }
    means[r] = mean;
    scales[r] = rsqrtf(squares * (1.0f / (8 * kVectors)) + kEpsilon);
  }

#pragma unroll
  for (int k = 0; k < ITEMS; ++k) {
    const uint4 weights = __ldg(reinterpret_cast<const uint4*>(weight) + threadIdx.x + k * THREADS_OF_ROW);
    const uint4 biases = __ldg(reinterpret_cast<const uint4*>(bias) + threadIdx.x + k * THREADS_OF_ROW);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (first + r < m) store_vector(to + r * kVectors + k * THREADS_OF_ROW, finish(pack[r][k], weights, biases, means[r], scales[r]));
    }
  }
}
