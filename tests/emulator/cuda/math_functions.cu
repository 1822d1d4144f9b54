// Every function of the lists for every pair of inputs: out[function * n + i].
extern "C" __global__ void float_functions(const float* in, const float* other, int n, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const float x = in[i], y = other[i];
#define FUNCTION(device, host, bound) \
  *out_here = device;                 \
  out_here += n;
  float* out_here = out + i;
#include "float_functions.inc"
}

extern "C" __global__ void double_functions(const double* in, const double* other, int n, double* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const double x = in[i], y = other[i];
  double* out_here = out + i;
#include "double_functions.inc"
}

// Fast approximations and directed rounding.
extern "C" __global__ void intrinsics(const float* in, const float* other, int n, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const float x = in[i], y = other[i];
  float* to = out + i * 16;
  to[0] = __expf(x);
  to[1] = __exp10f(x);
  to[2] = __logf(fabsf(x));
  to[3] = __log2f(fabsf(x));
  to[4] = __sinf(x);
  to[5] = __cosf(x);
  to[6] = __fdividef(x, y);
  to[7] = __powf(fabsf(x), y);
  to[8] = __saturatef(x);
  to[9] = __fadd_rz(x, y);
  to[10] = __fmul_ru(x, y);
  to[11] = __fdiv_rd(x, y);
  to[12] = __fmaf_rz(x, y, x);
  to[13] = __frsqrt_rn(fabsf(x));
  to[14] = __int_as_float(__float2int_rn(x) ^ __float2int_rz(y));
  to[15] = __uint2float_rz(__float_as_uint(x)) + __ll2float_rn(static_cast<long long>(__double2ll_rd(static_cast<double>(y) * 1e3)));
}
