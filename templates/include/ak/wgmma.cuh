// SPDX-License-Identifier: Apache-2.0
// Matrix products of a warp group (wgmma, sm_90a), by element type and width: 64 x N results, 32 bytes of k each.
//
// This header has f16 and bf16; wgmma_tf32.cuh, wgmma_fp8.cuh and wgmma_int8.cuh add theirs, as each type takes the
// compiler about 30 ms to read.
//
// N is a multiple of 8 from 8 to 256 (of 16 from 32 on for s8 and u8); k is 16 for f16 and bf16, 8 for tf32, 32 for
// e4m3, e5m2, s8 and u8. B comes from shared memory, A from there or from registers. Sums: d[i] of a thread is row
// warp * 16 + lane / 4 + i / 2 % 2 * 8 and column i / 4 * 8 + lane % 4 * 2 + i % 2. A in registers is laid out as for
// mma.cuh, 16 rows a warp. Instructions run on while the threads go on:
//
//   wgmma_fence()  Wgmma<bf16, 128>::multiply(...) for every step of k  wgmma_commit()  ...  wgmma_wait<0>()
//
// fp8 sums keep about 14 bits: add them up in float registers of their own every 128 of k where that is not enough.
#pragma once

#include <ak/elements.cuh>

namespace ak {

/// Before the first product, and after sums or A registers were written: orders registers.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes a group of products.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most LEFT groups are under way; only then are sums read, and operands overwritten.
template <int LEFT>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
/// After a wait: whatever reads these sums stays behind it. Where a copy of one gets before the wait, the compiler takes
/// products one by one (C7514).
template <class Sum, int COUNT>
__device__ __forceinline__ void keep_behind(Sum (&d)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if constexpr (kSame<Sum, float>) {
      asm volatile("" : "+f"(d[i])::"memory");
    } else {
      asm volatile("" : "+r"(d[i])::"memory");
    }
  }
}

/// Swizzles of operands, as in tensor maps and swizzle.cuh; the value is the descriptor's code.
enum class Swizzle : u64 { none = 0, bytes_128 = 1, bytes_64 = 2, bytes_32 = 3 };

/// Describes an operand in shared memory. Along k (lines hold 128 bytes of k): `stride` is the distance from 8 lines to
/// the next 8, `leading` is not looked at. Across k (lines hold 64 elements of rows or columns): `stride` from 8 lines
/// of k to the next 8, `leading` from 64 elements across to the next 64. A step of 32 bytes in k is 32 bytes further
/// along k, and 16 lines further across it.
template <Swizzle SWIZZLE = Swizzle::bytes_128>
__device__ __forceinline__ u64 wgmma_operand(u32 address, u32 leading = 0, u32 stride = 1024) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | static_cast<u64>(leading >> 4) << 16 |
         static_cast<u64>(stride >> 4) << 32 | static_cast<u64>(SWIZZLE) << 62;
}

// The instruction on COUNT sums of a thread; the rows at the end of this file define it.
template <class A, class B, int COUNT>
struct WgmmaSums;

/// Products of 64 x N. ACROSS: the operand's lines run across k (16-bit elements in shared memory only).
template <class A, int N, bool ACROSS_A = false, bool ACROSS_B = false, class B = A>
struct Wgmma {
  static_assert(N % 8 == 0 && N >= 8 && N <= 256, "wgmma takes 8 to 256 columns, a multiple of 8");
  static_assert(A::kBytes == 2 || !(ACROSS_A || ACROSS_B), "only 16-bit operands may lie across k");
  static_assert(!kSame<typename A::Sum, int> || N <= 32 || N % 16 == 0, "of bytes, widths beyond 32 are multiples of 16");
  using Sum = typename A::Sum;
  static constexpr int kDepth = 32 / A::kBytes;  // elements of k

  /// d = a b where keep is 0, else d += a b; both operands as wgmma_operand() describes them.
  static __device__ __forceinline__ void multiply(Sum (&d)[N / 2], u64 a, u64 b, int keep) {
    WgmmaSums<A, B, N / 2>::template from_shared<ACROSS_A, ACROSS_B>(d, a, b, keep);
  }
  /// The same with a in registers: a[0] to a[3].
  static __device__ __forceinline__ void multiply(Sum (&d)[N / 2], const u32* a, u64 b, int keep = 1) {
    WgmmaSums<A, B, N / 2>::template from_registers<ACROSS_B>(d, a, b, keep);
  }
};

// Operands of inline assembly cannot be made by templates: a row for each count of sums, with the numbers of the
// operands that follow them.
#define AKW_TEXT_4 "%0, %1, %2, %3"
#define AKW_TEXT_8 AKW_TEXT_4 ", %4, %5, %6, %7"
#define AKW_TEXT_12 AKW_TEXT_8 ", %8, %9, %10, %11"
#define AKW_TEXT_16 AKW_TEXT_12 ", %12, %13, %14, %15"
#define AKW_TEXT_20 AKW_TEXT_16 ", %16, %17, %18, %19"
#define AKW_TEXT_24 AKW_TEXT_20 ", %20, %21, %22, %23"
#define AKW_TEXT_28 AKW_TEXT_24 ", %24, %25, %26, %27"
#define AKW_TEXT_32 AKW_TEXT_28 ", %28, %29, %30, %31"
#define AKW_TEXT_36 AKW_TEXT_32 ", %32, %33, %34, %35"
#define AKW_TEXT_40 AKW_TEXT_36 ", %36, %37, %38, %39"
#define AKW_TEXT_44 AKW_TEXT_40 ", %40, %41, %42, %43"
#define AKW_TEXT_48 AKW_TEXT_44 ", %44, %45, %46, %47"
#define AKW_TEXT_52 AKW_TEXT_48 ", %48, %49, %50, %51"
#define AKW_TEXT_56 AKW_TEXT_52 ", %52, %53, %54, %55"
#define AKW_TEXT_60 AKW_TEXT_56 ", %56, %57, %58, %59"
#define AKW_TEXT_64 AKW_TEXT_60 ", %60, %61, %62, %63"
#define AKW_TEXT_68 AKW_TEXT_64 ", %64, %65, %66, %67"
#define AKW_TEXT_72 AKW_TEXT_68 ", %68, %69, %70, %71"
#define AKW_TEXT_76 AKW_TEXT_72 ", %72, %73, %74, %75"
#define AKW_TEXT_80 AKW_TEXT_76 ", %76, %77, %78, %79"
#define AKW_TEXT_84 AKW_TEXT_80 ", %80, %81, %82, %83"
#define AKW_TEXT_88 AKW_TEXT_84 ", %84, %85, %86, %87"
#define AKW_TEXT_92 AKW_TEXT_88 ", %88, %89, %90, %91"
#define AKW_TEXT_96 AKW_TEXT_92 ", %92, %93, %94, %95"
#define AKW_TEXT_100 AKW_TEXT_96 ", %96, %97, %98, %99"
#define AKW_TEXT_104 AKW_TEXT_100 ", %100, %101, %102, %103"
#define AKW_TEXT_108 AKW_TEXT_104 ", %104, %105, %106, %107"
#define AKW_TEXT_112 AKW_TEXT_108 ", %108, %109, %110, %111"
#define AKW_TEXT_116 AKW_TEXT_112 ", %112, %113, %114, %115"
#define AKW_TEXT_120 AKW_TEXT_116 ", %116, %117, %118, %119"
#define AKW_TEXT_124 AKW_TEXT_120 ", %120, %121, %122, %123"
#define AKW_TEXT_128 AKW_TEXT_124 ", %124, %125, %126, %127"
#define AKW_FOUR(c, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define AKW_LIST_4(c) AKW_FOUR(c, 0)
#define AKW_LIST_8(c) AKW_LIST_4(c), AKW_FOUR(c, 4)
#define AKW_LIST_12(c) AKW_LIST_8(c), AKW_FOUR(c, 8)
#define AKW_LIST_16(c) AKW_LIST_12(c), AKW_FOUR(c, 12)
#define AKW_LIST_20(c) AKW_LIST_16(c), AKW_FOUR(c, 16)
#define AKW_LIST_24(c) AKW_LIST_20(c), AKW_FOUR(c, 20)
#define AKW_LIST_28(c) AKW_LIST_24(c), AKW_FOUR(c, 24)
#define AKW_LIST_32(c) AKW_LIST_28(c), AKW_FOUR(c, 28)
#define AKW_LIST_36(c) AKW_LIST_32(c), AKW_FOUR(c, 32)
#define AKW_LIST_40(c) AKW_LIST_36(c), AKW_FOUR(c, 36)
#define AKW_LIST_44(c) AKW_LIST_40(c), AKW_FOUR(c, 40)
#define AKW_LIST_48(c) AKW_LIST_44(c), AKW_FOUR(c, 44)
#define AKW_LIST_52(c) AKW_LIST_48(c), AKW_FOUR(c, 48)
#define AKW_LIST_56(c) AKW_LIST_52(c), AKW_FOUR(c, 52)
#define AKW_LIST_60(c) AKW_LIST_56(c), AKW_FOUR(c, 56)
#define AKW_LIST_64(c) AKW_LIST_60(c), AKW_FOUR(c, 60)
#define AKW_LIST_68(c) AKW_LIST_64(c), AKW_FOUR(c, 64)
#define AKW_LIST_72(c) AKW_LIST_68(c), AKW_FOUR(c, 68)
#define AKW_LIST_76(c) AKW_LIST_72(c), AKW_FOUR(c, 72)
#define AKW_LIST_80(c) AKW_LIST_76(c), AKW_FOUR(c, 76)
#define AKW_LIST_84(c) AKW_LIST_80(c), AKW_FOUR(c, 80)
#define AKW_LIST_88(c) AKW_LIST_84(c), AKW_FOUR(c, 84)
#define AKW_LIST_92(c) AKW_LIST_88(c), AKW_FOUR(c, 88)
#define AKW_LIST_96(c) AKW_LIST_92(c), AKW_FOUR(c, 92)
#define AKW_LIST_100(c) AKW_LIST_96(c), AKW_FOUR(c, 96)
#define AKW_LIST_104(c) AKW_LIST_100(c), AKW_FOUR(c, 100)
#define AKW_LIST_108(c) AKW_LIST_104(c), AKW_FOUR(c, 104)
#define AKW_LIST_112(c) AKW_LIST_108(c), AKW_FOUR(c, 108)
#define AKW_LIST_116(c) AKW_LIST_112(c), AKW_FOUR(c, 112)
#define AKW_LIST_120(c) AKW_LIST_116(c), AKW_FOUR(c, 116)
#define AKW_LIST_124(c) AKW_LIST_120(c), AKW_FOUR(c, 120)
#define AKW_LIST_128(c) AKW_LIST_124(c), AKW_FOUR(c, 124)
// LETTER: constraint of the sums. TAIL_...: what follows the operands, signs and for 16 bits what lies across k.
#define AKW_SUMS(A, B, LETTER, TYPES, TAIL_SHARED, TAIL_REGISTERS, COUNT, N, I0, I1, I2, I3, I4, I5, I6)        \
  template <>                                                                                                  \
  struct WgmmaSums<A, B, COUNT> {                                                                              \
    template <bool ACROSS_A, bool ACROSS_B>                                                                    \
    static __device__ __forceinline__ void from_shared(A::Sum (&d)[COUNT], u64 a, u64 b, int keep) {           \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I2 ", 0;\n"                                           \
                   "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {" AKW_TEXT_##COUNT "}, %" #I0 ", %" #I1     \
                   ", p" TAIL_SHARED(I3, I4) ";\n}\n"                                                          \
                   : AKW_LIST_##COUNT(LETTER)                                                                  \
                   : "l"(a), "l"(b), "r"(keep), "n"(ACROSS_A), "n"(ACROSS_B));                                 \
    }                                                                                                          \
    template <bool ACROSS_B>                                                                                   \
    static __device__ __forceinline__ void from_registers(A::Sum (&d)[COUNT], const u32* a, u64 b, int keep) { \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #I5 ", 0;\n"                                           \
                   "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {" AKW_TEXT_##COUNT "}, {%" #I0 ", %" #I1    \
                   ", %" #I2 ", %" #I3 "}, %" #I4 ", p" TAIL_REGISTERS(I6) ";\n}\n"                            \
                   : AKW_LIST_##COUNT(LETTER)                                                                  \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep), "n"(ACROSS_B));            \
    }                                                                                                          \
  };
#define AKW_TAIL_16(I, J) ", 1, 1, %" #I ", %" #J
#define AKW_TAIL_16_R(I) ", 1, 1, %" #I
// A type's widths: 8, 16, ... 256.
#define AKW_ROWS(...) \
  AKW_SUMS(__VA_ARGS__, 4, 8, 4, 5, 6, 7, 8, 9, 10) \
  AKW_SUMS(__VA_ARGS__, 8, 16, 8, 9, 10, 11, 12, 13, 14) \
  AKW_SUMS(__VA_ARGS__, 12, 24, 12, 13, 14, 15, 16, 17, 18) \
  AKW_SUMS(__VA_ARGS__, 16, 32, 16, 17, 18, 19, 20, 21, 22) \
  AKW_SUMS(__VA_ARGS__, 20, 40, 20, 21, 22, 23, 24, 25, 26) \
  AKW_SUMS(__VA_ARGS__, 24, 48, 24, 25, 26, 27, 28, 29, 30) \
  AKW_SUMS(__VA_ARGS__, 28, 56, 28, 29, 30, 31, 32, 33, 34) \
  AKW_SUMS(__VA_ARGS__, 32, 64, 32, 33, 34, 35, 36, 37, 38) \
  AKW_SUMS(__VA_ARGS__, 36, 72, 36, 37, 38, 39, 40, 41, 42) \
  AKW_SUMS(__VA_ARGS__, 40, 80, 40, 41, 42, 43, 44, 45, 46) \
  AKW_SUMS(__VA_ARGS__, 44, 88, 44, 45, 46, 47, 48, 49, 50) \
  AKW_SUMS(__VA_ARGS__, 48, 96, 48, 49, 50, 51, 52, 53, 54) \
  AKW_SUMS(__VA_ARGS__, 52, 104, 52, 53, 54, 55, 56, 57, 58) \
  AKW_SUMS(__VA_ARGS__, 56, 112, 56, 57, 58, 59, 60, 61, 62) \
  AKW_SUMS(__VA_ARGS__, 60, 120, 60, 61, 62, 63, 64, 65, 66) \
  AKW_SUMS(__VA_ARGS__, 64, 128, 64, 65, 66, 67, 68, 69, 70) \
  AKW_SUMS(__VA_ARGS__, 68, 136, 68, 69, 70, 71, 72, 73, 74) \
  AKW_SUMS(__VA_ARGS__, 72, 144, 72, 73, 74, 75, 76, 77, 78) \
  AKW_SUMS(__VA_ARGS__, 76, 152, 76, 77, 78, 79, 80, 81, 82) \
  AKW_SUMS(__VA_ARGS__, 80, 160, 80, 81, 82, 83, 84, 85, 86) \
  AKW_SUMS(__VA_ARGS__, 84, 168, 84, 85, 86, 87, 88, 89, 90) \
  AKW_SUMS(__VA_ARGS__, 88, 176, 88, 89, 90, 91, 92, 93, 94) \
  AKW_SUMS(__VA_ARGS__, 92, 184, 92, 93, 94, 95, 96, 97, 98) \
  AKW_SUMS(__VA_ARGS__, 96, 192, 96, 97, 98, 99, 100, 101, 102) \
  AKW_SUMS(__VA_ARGS__, 100, 200, 100, 101, 102, 103, 104, 105, 106) \
  AKW_SUMS(__VA_ARGS__, 104, 208, 104, 105, 106, 107, 108, 109, 110) \
  AKW_SUMS(__VA_ARGS__, 108, 216, 108, 109, 110, 111, 112, 113, 114) \
  AKW_SUMS(__VA_ARGS__, 112, 224, 112, 113, 114, 115, 116, 117, 118) \
  AKW_SUMS(__VA_ARGS__, 116, 232, 116, 117, 118, 119, 120, 121, 122) \
  AKW_SUMS(__VA_ARGS__, 120, 240, 120, 121, 122, 123, 124, 125, 126) \
  AKW_SUMS(__VA_ARGS__, 124, 248, 124, 125, 126, 127, 128, 129, 130) \
  AKW_SUMS(__VA_ARGS__, 128, 256, 128, 129, 130, 131, 132, 133, 134)

AKW_ROWS(f16, f16, "+f", "k16.f32.f16.f16", AKW_TAIL_16, AKW_TAIL_16_R)
AKW_ROWS(bf16, bf16, "+f", "k16.f32.bf16.bf16", AKW_TAIL_16, AKW_TAIL_16_R)

}  // namespace ak
