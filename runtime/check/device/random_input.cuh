// SPDX-License-Identifier: Apache-2.0
//
// Elements of a dtype from what core/plan/random_values.cuh draws, bit by bit the same as core/plan/random_input.cpp gives.
// Compiles under NVRTC and nvcc, and as host C++ for the test that compares the two.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "core/plan/random_values.cuh"

namespace ak_random {

template <class T>
struct Element {  // floating types; the narrow ones round to nearest even in their constructors, fp8 saturates
  AK_DRAW T make(Key key, u64 index, const Draw& draw) { return static_cast<T>(real_element(key, index, draw)); }
};

template <class T>
struct IntegerElement {
  AK_DRAW T make(Key key, u64 index, const Draw& draw) {
    return static_cast<T>(integer_element(key, index, draw));
  }
};
template <> struct Element<long long> : IntegerElement<long long> {};
template <> struct Element<int> : IntegerElement<int> {};
template <> struct Element<unsigned int> : IntegerElement<unsigned int> {};
template <> struct Element<short> : IntegerElement<short> {};
template <> struct Element<signed char> : IntegerElement<signed char> {};
template <> struct Element<unsigned char> : IntegerElement<unsigned char> {};

template <>
struct Element<bool> {
  AK_DRAW bool make(Key key, u64 index, const Draw& draw) { return integer_element(key, index, draw) != 0; }
};

// Stands for the bytes of packed types, which have no type of their own in CUDA.
struct PackedByte {
  unsigned char byte;
};
template <>
struct Element<PackedByte> {
  AK_DRAW PackedByte make(Key key, u64 index, const Draw& draw) { return {packed_element(key, index, draw)}; }
};

}  // namespace ak_random

/// Element `index` of a tensor of T (the CUDA type of the dtype) whose stream has `key`.
template <class T>
AK_DRAW T random_element(ak_random::Key key, unsigned long long index, const ak_random::Draw& draw) {
  return ak_random::Element<T>::make(key, index, draw);
}
