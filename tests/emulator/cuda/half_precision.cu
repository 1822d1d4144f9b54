// The functions of cuda_fp16.h, cuda_bf16.h and cuda_fp8.h over lists of numbers. Results as raw bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

constexpr int kFunctions = 24;

template <class T>
__device__ unsigned short bits(T value) {
  return __builtin_bit_cast(unsigned short, value);
}

template <class T, class T2>
__device__ void arithmetic(T a, T b, T c, unsigned short* to) {
  to[0] = bits(__hadd(a, b));
  to[1] = bits(__hsub(a, b));
  to[2] = bits(__hmul(a, b));
  to[3] = bits(__hfma(a, b, c));
  to[4] = bits(__hneg(a));
  to[5] = bits(__habs(a));
  to[6] = bits(__hmax(a, b));
  to[7] = bits(__hmin(a, b));
  to[8] = static_cast<unsigned short>(__heq(a, b) + 2 * __hlt(a, b) + 4 * __hge(a, b) + 8 * __hne(a, b) +
                                      16 * __hisnan(a) + 32 * __hltu(a, b) + 64 * __hgeu(a, b));
  to[9] = bits(__hdiv(a, b));
  to[10] = bits(hsqrt(__habs(a)));
  to[11] = bits(hrint(a));
  to[12] = bits(hfloor(a));
  to[13] = bits(htrunc(a));
  to[14] = bits(hceil(a));
  const T2 pair = __hfma2(T2{a, b}, T2{b, a}, T2{c, c});
  to[15] = bits(pair.x);
  to[16] = bits(pair.y);
  const T2 most = __hmax2(T2{a, b}, T2{b, c});
  to[17] = bits(most.x);
  to[18] = bits(most.y);
  const T2 sum = __hadd2(T2{a, b}, T2{c, a});
  to[19] = bits(sum.x);
  to[20] = bits(sum.y);
  to[21] = bits(__hfma_relu(a, b, c));
  to[22] = bits(__hmax_nan(a, b));
  to[23] = bits(__hmin_nan(a, b));
}

extern "C" __global__ void f16_arithmetic(const __half* in, int n, unsigned short* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) arithmetic<__half, __half2>(in[i], in[(i * 7 + 3) % n], in[(i * 5 + 1) % n], out + i * kFunctions);
}
extern "C" __global__ void bf16_arithmetic(const __nv_bfloat16* in, int n, unsigned short* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n)
    arithmetic<__nv_bfloat16, __nv_bfloat162>(in[i], in[(i * 7 + 3) % n], in[(i * 5 + 1) % n],
                                              out + i * kFunctions);
}

// Approximations, as floats: exp, exp2, log, log2, sin, cos, rcp, rsqrt, tanh.
extern "C" __global__ void f16_functions(const __half* in, int n, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const __half x = in[i], positive = __habs(x);
  float* to = out + i * 9;
  to[0] = __half2float(hexp(x));
  to[1] = __half2float(hexp2(x));
  to[2] = __half2float(hlog(positive));
  to[3] = __half2float(hlog2(positive));
  to[4] = __half2float(hsin(x));
  to[5] = __half2float(hcos(x));
  to[6] = __half2float(hrcp(x));
  to[7] = __half2float(hrsqrt(positive));
  to[8] = __half2float(htanh(x));
}

extern "C" __global__ void float_to_half(const float* in, int n, unsigned short* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned short* to = out + i * 8;
  to[0] = bits(__float2half_rn(in[i]));
  to[1] = bits(__float2half_rz(in[i]));
  to[2] = bits(__float2half_ru(in[i]));
  to[3] = bits(__float2half_rd(in[i]));
  to[4] = bits(__float2bfloat16_rn(in[i]));
  to[5] = bits(__float2bfloat16_rz(in[i]));
  to[6] = bits(__floats2half2_rn(1.0f, in[i]).y);
  to[7] = bits(__floats2bfloat162_rn(in[i], 1.0f).x);
}

extern "C" __global__ void half_to_integers(const __half* in, int n, long long* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  long long* to = out + i * 6;
  to[0] = __half2int_rn(in[i]);
  to[1] = __half2int_rz(in[i]);
  to[2] = __half2short_rd(in[i]);
  to[3] = __half2uint_ru(in[i]);
  to[4] = __half2ll_rn(in[i]);
  to[5] = bits(__int2half_rn(i * 37 - 5000)) + (static_cast<long long>(bits(__short2half_rn(static_cast<short>(i)))) << 16) +
          (static_cast<long long>(bits(__ushort2half_rz(static_cast<unsigned short>(i * 5)))) << 32);
}

// Saturating fp8: from float, from half, and back.
extern "C" __global__ void fp8(const float* in, int n, unsigned char* e4m3, unsigned char* e5m2, float* back) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const __nv_fp8_e4m3 a(in[i]);
  const __nv_fp8_e5m2 b(in[i]);
  e4m3[i] = a.__x;
  e5m2[i] = b.__x;
  back[2 * i] = static_cast<float>(a);
  back[2 * i + 1] = static_cast<float>(b);
  const __nv_fp8x4_e4m3 four(make_float4(in[i], 1.0f, -2.0f, 0.5f));
  const float4 wide = static_cast<float4>(four);
  if (wide.y != 1.0f || wide.z != -2.0f || wide.w != 0.5f) back[2 * i] = -12345.0f;
}

extern "C" __global__ void half_atomics(__half* sum, __half2* pair, __nv_bfloat16* other) {
  atomicAdd(sum, __float2half(0.25f));
  atomicAdd(pair, __floats2half2_rn(0.5f, 1.0f));
  atomicAdd(other, __float2bfloat16(1.0f));
}
