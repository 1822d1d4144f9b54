/* alphakernel
{"launches": [{"kernel": "cosine_rows_reference", "grid": ["M"], "block": [128], "args": ["a", "b", "y", {"i64": "N"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__device__ accum_t block_sum(accum_t value) {
  __shared__ accum_t shared[128];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const accum_t sum = shared[0];
  __syncthreads();
  return sum;
}

__global__ void cosine_rows_reference(const scalar_t* a, const scalar_t* b, out_t* y, long long n) {
  const long long row = blockIdx.x * n;
  accum_t dot = 0, of_a = 0, of_b = 0;
  for (long long i = threadIdx.x; i < n; i += 128) {
    const accum_t u = wide(a[row + i]), v = wide(b[row + i]);
    dot += u * v;
    of_a += u * u;
    of_b += v * v;
  }
  dot = block_sum(dot);
  of_a = block_sum(of_a);
  of_b = block_sum(of_b);
#if defined(AK_MUTATION_DOT)
  accum_t divisor = 1;
#elif defined(AK_MUTATION_ONE_LENGTH)
  accum_t divisor = sqrt(of_a);
#elif defined(AK_MUTATION_SQUARES)
  accum_t divisor = of_a * of_b;
#else
  accum_t divisor = sqrt(of_a) * sqrt(of_b);
#endif
#ifndef AK_MUTATION_NO_FLOOR
  const accum_t least = static_cast<accum_t>(1e-8);
  if (divisor < least) divisor = least;
#endif
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<out_t>(dot / divisor);
}
