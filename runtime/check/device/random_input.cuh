// SPDX-License-Identifier: Apache-2.0
//
// The device's twin of core/plan/random_input.cpp: element i of a tensor from key, kind and i alone, bit by bit the same as
// on the host. Compiles under NVRTC and nvcc, and as host C++ for the test that compares the two.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifdef __CUDACC__
#define AK_DEVICE __device__ inline
#else
#define AK_DEVICE inline
#endif

namespace ak_random {

using u32 = unsigned int;
using u64 = unsigned long long;

// Same order as InputKind of core/plan/problem.h.
enum Kind { kNormal, kUniform, kSmallInteger, kZeroOne, kOutliers, kRamp, kPeaked };

enum Stream : u32 { kValue, kSelection };

struct Words {
  u32 w[4];
};

// Each operation rounds on its own: the compiler may not contract these into a fused multiply-add.
#ifdef __CUDACC__
AK_DEVICE float multiply(float a, float b) { return __fmul_rn(a, b); }
AK_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
#else
AK_DEVICE float multiply(float a, float b) { return a * b; }
AK_DEVICE float add(float a, float b) { return a + b; }
#endif

// Philox4x32-10, counter {index, stream, 0}.
AK_DEVICE Words draw(uint2 key, u64 index, u32 stream) {
  u32 c0 = static_cast<u32>(index), c1 = static_cast<u32>(index >> 32), c2 = stream, c3 = 0;
  u32 k0 = key.x, k1 = key.y;
  for (int round = 0; round < 10; ++round) {
    const u64 product0 = static_cast<u64>(0xD2511F53u) * c0;
    const u64 product1 = static_cast<u64>(0xCD9E8D57u) * c2;
    c0 = static_cast<u32>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<u32>(product1);
    c2 = static_cast<u32>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<u32>(product0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Uniform in [0, bound).
AK_DEVICE int below(u32 word, u32 bound) { return static_cast<int>(static_cast<u64>(word) * bound >> 32); }

AK_DEVICE float standard_normal(const Words& words) {
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<int>((words.w[i] & 0xFFFFu) + (words.w[i] >> 16));
  return multiply(static_cast<float>(sum - 4 * 65535), 1.8688124e-05f);
}

AK_DEVICE float unscaled(uint2 key, u64 index, int kind) {
  const Words words = draw(key, index, kValue);
  switch (kind) {
    case kNormal: return standard_normal(words);
    case kUniform: return multiply(static_cast<float>(static_cast<int>(words.w[0] >> 8) - (1 << 23)), 0x1p-23f);
    case kSmallInteger: return static_cast<float>(below(words.w[0], 7) - 3);
    case kZeroOne: return static_cast<float>(words.w[0] >> 31);
    case kOutliers:
      return multiply(standard_normal(words), (draw(key, index, kSelection).w[0] & 1023u) == 0 ? 100.0f : 1.0f);
    case kRamp: return multiply(static_cast<float>(static_cast<int>(index & 1023u) - 512), 0x1p-10f);
    case kPeaked: return add(standard_normal(words), (draw(key, index, kSelection).w[0] & 255u) == 0 ? 20.0f : 0.0f);
  }
  return 0;
}

AK_DEVICE float real_element(uint2 key, u64 index, int kind, float scale, float shift) {
  const float value = unscaled(key, index, kind);
  return kind == kZeroOne ? value : add(multiply(value, scale), shift);
}

AK_DEVICE int integer_element(uint2 key, u64 index) { return below(draw(key, index, kValue).w[0], 17) - 8; }

template <class T>
struct Element {  // floating types; the narrow ones round to nearest even in their constructors, fp8 saturates
  static AK_DEVICE T make(uint2 key, u64 index, int kind, float scale, float shift) {
    return static_cast<T>(real_element(key, index, kind, scale, shift));
  }
};

template <class T>
struct IntegerElement {
  static AK_DEVICE T make(uint2 key, u64 index, int, float, float) {
    return static_cast<T>(integer_element(key, index));
  }
};
template <> struct Element<long long> : IntegerElement<long long> {};
template <> struct Element<int> : IntegerElement<int> {};
template <> struct Element<short> : IntegerElement<short> {};
template <> struct Element<signed char> : IntegerElement<signed char> {};

template <>
struct Element<bool> {
  static AK_DEVICE bool make(uint2 key, u64 index, int, float, float) {
    return draw(key, index, kValue).w[0] >> 31 != 0;
  }
};

}  // namespace ak_random

/// Element `index` of a tensor of T (the CUDA type of the dtype) whose stream has `key`; `kind` is InputKind as int.
template <class T>
AK_DEVICE T random_element(uint2 key, unsigned long long index, int kind, float scale, float shift) {
  return ak_random::Element<T>::make(key, index, kind, scale, shift);
}
