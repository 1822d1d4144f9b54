// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 x 8 elements of 16 bits between shared memory and registers (ldmatrix, stmatrix).
//
// A lane holds two neighbouring elements of row lane / 4 of each matrix, in one register. Lane i gives the address of
// row i % 8 of matrix i / 8: 16 bytes, aligned to 16. Four matrices make the A operand of m16n8k16 when they are rows
// 0-7 and 8-15 of the first 8 columns, then of the next 8: address row lane % 16, chunk lane / 16.
#pragma once

#include <ak/threads.cuh>

namespace ak {

/// Loads four matrices; with `transposed` each lane gets two neighbouring elements of a column.
__device__ __forceinline__ void load_matrices(u32 (&m)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(u32 (&m)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(address) : "memory");
}
/// Loads two matrices, whose addresses lanes 0 to 15 give.
__device__ __forceinline__ void load_matrices(u32 (&m)[2], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(m[0]), "=r"(m[1]) : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(u32 (&m)[2], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(m[0]), "=r"(m[1]) : "r"(address)
               : "memory");
}

/// Stores four matrices (sm_90 and later).
__device__ __forceinline__ void store_matrices(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0), "r"(m1),
               "r"(m2), "r"(m3) : "memory");
}
__device__ __forceinline__ void store_matrices_transposed(u32 address, u32 m0, u32 m1, u32 m2, u32 m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0),
               "r"(m1), "r"(m2), "r"(m3) : "memory");
}

}  // namespace ak
