/* alphakernel
{
  "tunables": {"DEPTH": {"values": [2, 3], "default": 2}},
  "constraints": ["dtype == 'bfloat16'", "M % 64 == 0 and N % 64 == 0 and K % 32 == 0", "ARCH >= 80"],
  "launches": [{"kernel": "gemm_double_buffer_ptx", "grid": ["N // 64", "M // 64"], "block": [128],
                "args": ["a", "b", "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A 64 x 64 tile for four warps, each 32 x 32 of it. Slices of 32 of k come by asynchronous copies into DEPTH places
// in turn; the sixteen bytes of a line are exchanged so that ldmatrix meets eight different groups of banks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int DEPTH = 2;
using scalar_t = __nv_bfloat16;
#endif

using u32 = unsigned int;
constexpr int A_BYTES = 64 * 64, B_BYTES = 32 * 128, PLACE = A_BYTES + B_BYTES;

__device__ __forceinline__ u32 smem(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
// Lines of a have four chunks, lines of b have eight.
__device__ __forceinline__ u32 at_a(int line, int chunk) { return line * 64 + ((chunk ^ (line >> 1 & 3)) << 4); }
__device__ __forceinline__ u32 at_b(int line, int chunk) { return line * 128 + ((chunk ^ (line & 7)) << 4); }

__device__ __forceinline__ void copy16(u32 to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ void fetch(u32 place, const scalar_t* a, const scalar_t* b, int n, int k, int slice) {
  const int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int piece = t + i * 128;
    copy16(place + at_a(piece / 4, piece % 4), a + (long long)(piece / 4) * k + slice * 32 + piece % 4 * 8);
    copy16(place + A_BYTES + at_b(piece / 8, piece % 8), b + (long long)(slice * 32 + piece / 8) * n + piece % 8 * 8);
  }
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_double_buffer_ptx(const scalar_t* a, const scalar_t* b, scalar_t* c, int m, int n, int k) {
  __shared__ __align__(128) unsigned char memory[DEPTH * PLACE];
  const u32 base = smem(memory);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, down = warp / 2 * 32, right = warp % 2 * 32;
  a += (long long)blockIdx.y * 64 * k;
  b += blockIdx.x * 64;
  float sums[2][4][4] = {};
  const int slices = k / 32;
#pragma unroll
  for (int s = 0; s < DEPTH - 1; ++s) {
    if (s < slices) fetch(base + s * PLACE, a, b, n, k, s);
    asm volatile("cp.async.commit_group;\n" ::: "memory");
  }
  for (int slice = 0; slice < slices; ++slice) {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(DEPTH - 2) : "memory");
    __syncthreads();
    if (slice + DEPTH - 1 < slices) fetch(base + (slice + DEPTH - 1) % DEPTH * PLACE, a, b, n, k, slice + DEPTH - 1);
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    const u32 place = base + slice % DEPTH * PLACE;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      u32 fa[2][4], fb[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int line = down + i * 16 + lane % 16;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
                     : "r"(place + at_a(line, step * 2 + lane / 16)) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(fb[i][0]), "=r"(fb[i][1]), "=r"(fb[i][2]), "=r"(fb[i][3])
                     : "r"(place + A_BYTES + at_b(step * 16 + lane % 16, right / 8 + i * 2 + lane / 16)) : "memory");
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float* d = sums[i][j];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                       : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                       : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j / 2][j % 2 * 2]), "r"(fb[j / 2][j % 2 * 2 + 1]));
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 64 + down + i * 16 + lane / 4 + h * 8, column = blockIdx.x * 64 + right + j * 8 + lane % 4 * 2;
        *reinterpret_cast<__nv_bfloat162*>(c + (long long)row * n + column) = __floats2bfloat162_rn(sums[i][j][h * 2], sums[i][j][h * 2 + 1]);
      }
    }
  }
}
