/* alphakernel
{"launches": [{"kernel": "focal_loss_reference", "grid": ["ceil_div(M * N, 128)"], "block": [128], "args": ["x", "label", "y", {"i64": "M * N"}]}]}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ accum_t wide(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

__global__ void focal_loss_reference(const scalar_t* x, const unsigned char* label, out_t* y, long long count) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= count) return;
#ifdef AK_MUTATION_LABEL
  const accum_t z = wide(x[i]);
#else
  const accum_t z = label[i] ? wide(x[i]) : -wide(x[i]);
#endif
  // log(1 + exp(-z)) and 1 - sigmoid(z) without an overflow.
  const accum_t small = exp(-fabs(z));
  const accum_t entropy = log1p(small) + (z < 0 ? -z : static_cast<accum_t>(0));
#ifdef AK_MUTATION_FACTOR
  const accum_t wrong = (z < 0 ? small : static_cast<accum_t>(1)) / (1 + small);
#else
  const accum_t wrong = (z < 0 ? static_cast<accum_t>(1) : small) / (1 + small);
#endif
#if defined(AK_MUTATION_CROSS_ENTROPY)
  y[i] = static_cast<out_t>(entropy);
#elif defined(AK_MUTATION_GAMMA_ONE)
  y[i] = static_cast<out_t>(wrong * entropy);
#else
  y[i] = static_cast<out_t>(wrong * wrong * entropy);
#endif
}
