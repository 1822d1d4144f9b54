template <typename T, int BLOCK, int ITEMS>
__global__ void __launch_bounds__(BLOCK, 2) copy(const T* __restrict__ in, T* __restrict__ out, size_t n) {
  size_t base = (size_t)blockIdx.x * BLOCK * ITEMS + threadIdx.x;
  T v[ITEMS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++) if (base + k * BLOCK < n) v[k] = in[base + k * BLOCK];
#pragma unroll
  for (int k = 0; k < ITEMS; k++) if (base + k * BLOCK < n) out[base + k * BLOCK] = v[k];
}
template __global__ void copy<double, 128, 4>(const double*, double*, size_t);
