#include <math.h>
#include <float.h>
__global__ void row_max(const float* x, float* y, int n) {
  float m = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, x[i]);
  if (m == -FLT_MAX || isnan(m)) m = NAN;
  y[threadIdx.x] = m * (float)M_PI + FLT_EPSILON;
}
