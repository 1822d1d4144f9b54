__device__ inline void cp_async16(void* smem, const void* gmem) {
  unsigned s = (unsigned)__cvta_generic_to_shared(smem);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(s), "l"(gmem));
}
extern __shared__ __align__(16) unsigned char smem_raw[];
__global__ void copy(const float4* g, float4* o) {
  float4* s = reinterpret_cast<float4*>(smem_raw);
  cp_async16(&s[threadIdx.x], &g[threadIdx.x]);
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;\n" ::);
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}
