template <class F> __device__ void for_each_index(int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) f(i);
}
__global__ void saxpy(float a, const float* x, float* y, int n) {
  auto fma_op = [=](auto u, auto v) { return a * u + v; };
  for_each_index(n, [&](int i) { y[i] = fma_op(x[i], y[i]); });
}
