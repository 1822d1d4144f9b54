/* alphakernel
{
  "tunables": {"BLOCK": {"values": [64, 128, 256], "default": 128}},
  "launches": [{"kernel": "pixel_shuffle2", "grid": ["ceil_div(4 * C * H * W, BLOCK)"], "block": ["BLOCK"], "args": ["x", "y", {"i64": "4 * C * H * W"}, {"i64": "H"}, {"i64": "W"}]}]
}
*/
#include <cuda_bf16.h>

static __device__ float read(scalar_t x) { return static_cast<float>(x); }

__global__ void pixel_shuffle2(const scalar_t* x, scalar_t* y, long long count, long long h, long long w) {
  const long long i = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  if (i >= count) return;
  // From the input's side: channel 4 c + 2 down + right, row r, column s goes to row 2 r + down, column 2 s + right.
  const long long s = i % w, r = i / w % h, channel = i / (h * w);
  const long long down = channel % 4 / 2, right = channel % 2;
  y[(channel / 4 * 2 * h + 2 * r + down) * 2 * w + 2 * s + right] = x[i];
}
