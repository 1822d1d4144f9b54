/* alphakernel
{"launches": [{"kernel": "huber_rows_reference", "grid": ["M"], "block": [128], "args": ["p", "q", "y", {"i64": "N"}]}]}
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

__global__ void huber_rows_reference(const scalar_t* p, const scalar_t* q, out_t* y, long long n) {
  const long long row = blockIdx.x * n;
  long long columns = n;
#ifdef AK_MUTATION_LAST_COLUMN
  columns = n - 1;
#endif
  const accum_t half = static_cast<accum_t>(0.5);
  accum_t sum = 0;
  for (long long i = threadIdx.x; i < columns; i += 128) {
    const accum_t error = fabs(wide(p[row + i]) - wide(q[row + i]));
#ifdef AK_MUTATION_SQUARE
    sum += half * error * error;
#elif defined(AK_MUTATION_NO_HALF)
    sum += error <= 1 ? half * error * error : error;
#else
    sum += error <= 1 ? half * error * error : error - half;
#endif
  }
  sum = block_sum(sum);
#ifdef AK_MUTATION_SUM
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<out_t>(sum);
#else
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<out_t>(sum / static_cast<accum_t>(n));
#endif
}
