#include <type_traits>
#include <cuda_fp16.h>
template <typename T> __device__ float to_float(T v) {
  if constexpr (std::is_same_v<T, __half>) return __half2float(v);
  else { static_assert(std::is_arithmetic<T>::value, "number expected"); return static_cast<float>(v); }
}
template <typename T> __global__ void convert(const T* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = to_float(x[i]);
}
template __global__ void convert<__half>(const __half*, float*, int);
template __global__ void convert<int>(const int*, float*, int);
