// SPDX-License-Identifier: Apache-2.0
// Weights in the order of matrix fragments: plain, bytes and int4; 16 bytes of a lane are operands.
//
// A weight [lines][k] becomes the A operand of mma.sync and of wgmma (which have the same lanes: mma.cuh). A unit is 16
// lines by the k that gives each lane 16 bytes: 512 neighbouring bytes, which a warp loads as one uint4 a lane without
// a bank conflict. Units make blocks of 64 lines by kDepth of k, and blocks lie one after another along k:
//
//   [strip of 64 lines][block along k]  { [unit along k][16 lines of the strip][lane] 16 bytes,  scales of the block }
//
//   format                     bits  operand  k of a unit, block   what a fragment costs
//   PlainWeights<f16 | bf16>   16    as it is      16,  64         nothing
//   PlainWeights<s8 | e4m3>     8    as it is      32, 128         nothing
//   ByteWeights<f16 | bf16>     8    16 bits       32,  64         f16: 4 permutes, 4 subtractions; bf16: about 20
//   Int4Weights<f16 | bf16>     4    16 bits       64, 128         4 each of shifts, lop3, subtractions, products
//
// Lines and k past the end are packed as what multiplies to zero: tiles need not ask. k has an even number of blocks.
#pragma once

#include <ak/elements.cuh>
#include <ak/narrow.cuh>

namespace ak {

// How weights of BITS lie for operands X. DEPTH: k of a block; TAIL: bytes behind its units.
template <int BITS, class X_, int DEPTH, int TAIL>
struct PackedLayout {
  using X = X_;

  static constexpr int kBits = BITS;
  static constexpr int kElements = 4 / X::kBytes;              // of a register of an operand
  static constexpr int kStepDepth = 32 / X::kBytes;            // k of an instruction
  static constexpr int kSteps = 128 / (4 * kElements * BITS);  // instructions that 16 bytes of a lane are for
  static constexpr int kUnitDepth = kSteps * kStepDepth;
  static constexpr int kDepth = DEPTH;
  static constexpr int kUnits = DEPTH / kUnitDepth;  // of a block, along k
  static constexpr int kTailAt = kUnits * 2048;
  static constexpr int kBytes = kTailAt + TAIL;  // of a block
  struct Lines {};                               // what a lane needs of its two lines: nothing
  static __device__ __forceinline__ Lines lines(u32, int) { return {}; }
  // Blocks of a strip along k: an even number, so that slices of one or two blocks never run over.
  static __device__ __forceinline__ int blocks(int k) { return (k + 2 * DEPTH - 1) / (2 * DEPTH) * 2; }
};

// Elements that are operands as they are.
template <class X>
struct PlainWeights : PackedLayout<8 * X::kBytes, X, 128 / X::kBytes, 0> {
  // Bit of a lane's 16 bytes where element `e` of register `r` of instruction `step` is.
  static __device__ __forceinline__ constexpr int place(int step, int r, int e) {
    return ((step * 4 + r) * (4 / X::kBytes) + e) * 8 * X::kBytes;
  }
  static __device__ __forceinline__ void fragment(u32 (&a)[4], const uint4& words, int,
                                                  const typename PlainWeights::Lines&) {
    a[0] = words.x, a[1] = words.y, a[2] = words.z, a[3] = words.w;
  }
};

__device__ __forceinline__ u32 word_of(const uint4& words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// Bytes, packed as number + 128, that become numbers of X (f16 or bf16), exactly.
template <class X>
struct ByteWeights : PackedLayout<8, X, 64, 0> {
  static __device__ __forceinline__ constexpr int place(int step, int r, int e) { return (step * 8 + r * 2 + e) * 8; }
  static __device__ __forceinline__ void fragment(u32 (&a)[4], const uint4& words, int step,
                                                  const typename ByteWeights::Lines&) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const u32 word = word_of(words, step * 2 + r / 2);
      if constexpr (kSame<X, f16>) {  // 0x6400 is 1024, whose last bit of mantissa is 1
        const u32 bits = __byte_perm(word, 0x64646464u, r % 2 == 0 ? 0x4140 : 0x4342);
        const __half2 pair = __hsub2(*reinterpret_cast<const __half2*>(&bits), __half2half2(__int2half_rn(1024 + 128)));
        a[r] = *reinterpret_cast<const u32*>(&pair);
      } else {  // bf16 has no place for 8 bits: through float, where 0x4b000000 is 2^23
        const float low = __uint_as_float(__byte_perm(word, 0x4b000000u, r % 2 == 0 ? 0x7440 : 0x7442)) - 8388736.0f;
        const float high = __uint_as_float(__byte_perm(word, 0x4b000000u, r % 2 == 0 ? 0x7441 : 0x7443)) - 8388736.0f;
        a[r] = __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x7632);
      }
    }
  }
};

// Pairs of X as the toolkit's functions take them.
template <class X>
struct PairOf {
  using type = __half2;
  static constexpr u32 kMagic = 0x64006400u;  // 1024, whose last bit of mantissa is 1
};
template <>
struct PairOf<bf16> {
  using type = __nv_bfloat162;
  static constexpr u32 kMagic = 0x43004300u;  // 128, likewise
};

// Unsigned 4-bit numbers in groups of 128 along k: (number - zero) * scale, rounded once to X (f16 or bf16). The tail
// has a pair for every line and group of 128: its scale, and where ZEROS the zero point plus the magic number; lines i
// and i + 8 are neighbours, as a lane needs both. Without ZEROS the zero point is 8.
template <class X, bool ZEROS>
struct Int4Weights : PackedLayout<4, X, 128, 64 * (ZEROS ? 4 : 2)> {
  using Base = PackedLayout<4, X, 128, 64 * (ZEROS ? 4 : 2)>;
  using Pair = typename PairOf<X>::type;
  static constexpr u32 kMagic = PairOf<X>::kMagic;
  struct Lines {
    u32 scale[2], zero[2];  // of lines lane / 4 and lane / 4 + 8, twice each
  };
  static __device__ __forceinline__ constexpr int place(int step, int r, int e) { return step * 32 + (r + 4 * e) * 4; }
  // What the tail has for a lane's two lines, and where in a block that is, in 16 of its lines.
  static constexpr int kTailWords = ZEROS ? 2 : 1;
  static __device__ __forceinline__ int tail_at(int sixteen) {
    return Base::kTailAt + (sixteen * 8 + static_cast<int>(threadIdx.x) % 32 / 4) * kTailWords * 4;
  }
  static __device__ __forceinline__ Lines expand(const u32 (&tail)[kTailWords]) {
    Lines result;
    if constexpr (ZEROS) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        result.scale[i] = __byte_perm(tail[i], tail[i], 0x1010);
        result.zero[i] = __byte_perm(tail[i], tail[i], 0x3232);
      }
    } else {
      result.scale[0] = __byte_perm(tail[0], tail[0], 0x1010), result.scale[1] = __byte_perm(tail[0], tail[0], 0x3232);
      result.zero[0] = result.zero[1] = kMagic + 0x00080008u;
    }
    return result;
  }
  // The lane's lines in 16 lines of the block at this shared address.
  static __device__ __forceinline__ Lines lines(u32 block, int sixteen) {
    u32 tail[kTailWords];
    if constexpr (ZEROS) {
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                   : "=r"(tail[0]), "=r"(tail[1])
                   : "r"(block + tail_at(sixteen))
                   : "memory");
    } else {
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(tail[0]) : "r"(block + tail_at(sixteen)) : "memory");
    }
    return expand(tail);
  }
  // Numbers of an instruction less their zero points, exactly; zero: of lines lane / 4 and lane / 4 + 8, twice each.
  static __device__ __forceinline__ void numbers(u32 (&a)[4], const uint4& words, int step, const u32 (&zero)[2]) {
    const u32 word = word_of(words, step);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const u32 bits = put_bits<0x000f000fu, kMagic>(word >> (4 * r));
      const Pair number = __hsub2(reinterpret_cast<const Pair&>(bits), reinterpret_cast<const Pair&>(zero[r % 2]));
      a[r] = reinterpret_cast<const u32&>(number);
    }
  }
  static __device__ __forceinline__ void fragment(u32 (&a)[4], const uint4& words, int step, const Lines& lines) {
    numbers(a, words, step, lines.zero);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const Pair weight = __hmul2(reinterpret_cast<const Pair&>(a[r]), reinterpret_cast<const Pair&>(lines.scale[r % 2]));
      a[r] = reinterpret_cast<const u32&>(weight);
    }
  }
  // Entry `i` (0 to 63) of the tail: place of line i / 16 * 16 + i % 2 * 8 + i % 16 / 2. scale: bits of X.
  static __device__ __forceinline__ void put_line(unsigned char* block, int i, u32 scale, u32 zero) {
    if constexpr (ZEROS) {
      reinterpret_cast<u32*>(block + Base::kTailAt)[i] = scale | ((kMagic & 0xffffu) + zero) << 16;
    } else {
      reinterpret_cast<u16*>(block + Base::kTailAt)[i] = static_cast<u16>(scale);
    }
  }
  // Line of a block that entry `i` of the tail is for.
  static __device__ __forceinline__ int line_of_entry(int i) { return i / 16 * 16 + i % 2 * 8 + i % 16 / 2; }
};

// Packs one block by 128 threads: read(line, k) is the bits of an element, 0 <= line < 64, 0 <= k < kDepth. Not its
// tail.
template <class W, class Read>
__device__ __forceinline__ void pack_block(unsigned char* block, Read read) {
  const int lane = threadIdx.x % 32, sixteen = threadIdx.x / 32;
  for (int unit = 0; unit < W::kUnits; ++unit) {
    u32 words[4] = {};
#pragma unroll
    for (int step = 0; step < W::kSteps; ++step) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int e = 0; e < W::kElements; ++e) {
          const int line = sixteen * 16 + lane / 4 + r % 2 * 8;
          const int k =
              unit * W::kUnitDepth + step * W::kStepDepth + r / 2 * (W::kStepDepth / 2) + lane % 4 * W::kElements + e;
          const int at = W::place(step, r, e);
          words[at / 32] |= (read(line, k) & static_cast<u32>((1ull << W::kBits) - 1)) << at % 32;
        }
      }
    }
    reinterpret_cast<uint4*>(block)[(unit * 4 + sixteen) * 32 + lane] =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// Loads 16 bytes of shared memory.
__device__ __forceinline__ uint4 load_words(u32 address) {
  uint4 words;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(address)
               : "memory");
  return words;
}

}  // namespace ak
