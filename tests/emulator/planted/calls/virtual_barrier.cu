// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
struct Stage {
  __device__ virtual float run(float* tile, float value) const = 0;
};
struct Local : Stage {
  __device__ float run(float*, float value) const override { return value; }
};
struct Exchange : Stage {
  __device__ float run(float* tile, float value) const override {
    tile[threadIdx.x] = value;
    __syncthreads();  // FAULT barrier_divergence deadlock
    return tile[63 - threadIdx.x];
  }
};

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  Local local;
  Exchange exchange;
#ifdef FIXED
  const Stage* stage = x[0] > 0.0f ? static_cast<const Stage*>(&exchange) : &local;
#else
  const Stage* stage = i < 16 ? static_cast<const Stage*>(&exchange) : &local;
#endif
  y[i] = stage->run(tile, x[i]);  // ALSO uninitialized_read
}
