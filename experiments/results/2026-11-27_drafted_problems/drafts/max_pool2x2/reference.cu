/* alphakernel
{"launches": [{"kernel": "max_pool2x2_reference", "grid": ["ceil_div(C * P * Q, 128)"], "block": [128], "args": ["x", "y", {"i64": "C * P * Q"}, {"i64": "P"}, {"i64": "Q"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void max_pool2x2_reference(const scalar_t* x, out_t* y, long long count, long long p, long long q) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
  const long long image = i / (p * q), row = i / q % p, column = i % q;
  const scalar_t* window = x + image * 4 * p * q + 2 * row * 2 * q + 2 * column;
  accum_t best = wide(window[0]);
#ifdef AK_MUTATION_FROM_ZERO
  best = best < 0 ? 0 : best;
#endif
  for (int down = 0; down < 2; ++down) {
    for (int right = 0; right < 2; ++right) {
#ifdef AK_MUTATION_ONE_ROW
      if (down == 1) continue;
#endif
#ifdef AK_MUTATION_ONE_COLUMN
      if (right == 1) continue;
#endif
      const accum_t value = wide(window[down * 2 * q + right]);
#ifdef AK_MUTATION_MINIMUM
      if (value < best) best = value;
#else
      if (value > best) best = value;
#endif
    }
  }
  y[i] = static_cast<out_t>(best);
}
