// SPDX-License-Identifier: Apache-2.0
// Packs of neighbouring elements, and aligned vector loads and stores with cache hints.
//
// A pack is COUNT elements in 1, 2, 4, 8 or 16 bytes of registers; loading or storing it is one instruction of that width.
// Addresses are multiples of the pack's size. 16 bytes a thread reach the bandwidth of device memory with the fewest
// instructions.
#pragma once

namespace ak {

// Built-in types that the cache-hint intrinsics know, by size.
template <int BYTES>
struct RawBytes;
template <>
struct RawBytes<1> {
  using type = unsigned char;
};
template <>
struct RawBytes<2> {
  using type = unsigned short;
};
template <>
struct RawBytes<4> {
  using type = unsigned int;
};
template <>
struct RawBytes<8> {
  using type = uint2;
};
template <>
struct RawBytes<16> {
  using type = uint4;
};

/// COUNT neighbouring elements: `value[i]` one by one, `raw` as what moves at once. Starts undefined.
template <class T, int COUNT>
union Pack {
  using Raw = typename RawBytes<COUNT * static_cast<int>(sizeof(T))>::type;
  Raw raw;
  T value[COUNT];
  __device__ Pack() {}
};

/// plain: all caches; read_only: for what no one writes during the launch; streaming: touched once, first to be driven
/// out; l2: past L1, which could hold older lines of what other blocks wrote.
enum class Cache { plain, read_only, streaming, l2 };

/// Reads the pack at `from`. For example load<4, Cache::streaming>(x + i).
template <int COUNT, Cache HINT = Cache::plain, class T>
__device__ __forceinline__ Pack<T, COUNT> load(const T* from) {
  const auto* raw = reinterpret_cast<const typename Pack<T, COUNT>::Raw*>(from);
  Pack<T, COUNT> pack;
  if constexpr (HINT == Cache::read_only) {
    pack.raw = __ldg(raw);
  } else if constexpr (HINT == Cache::streaming) {
    pack.raw = __ldcs(raw);
  } else if constexpr (HINT == Cache::l2) {
    pack.raw = __ldcg(raw);
  } else {
    pack.raw = *raw;
  }
  return pack;
}

/// Writes the pack to `to`. There is no read_only store.
template <Cache HINT = Cache::plain, class T, int COUNT>
__device__ __forceinline__ void store(T* to, const Pack<T, COUNT>& pack) {
  static_assert(HINT != Cache::read_only, "what is read only is not written");
  auto* raw = reinterpret_cast<typename Pack<T, COUNT>::Raw*>(to);
  if constexpr (HINT == Cache::streaming) {
    __stcs(raw, pack.raw);
  } else if constexpr (HINT == Cache::l2) {
    __stcg(raw, pack.raw);
  } else {
    *raw = pack.raw;
  }
}

/// The sum of a pack's elements in fp32, from the first to the last.
template <class T, int COUNT>
__device__ __forceinline__ float sum_of(const Pack<T, COUNT>& pack) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) sum += static_cast<float>(pack.value[i]);
  return sum;
}

}  // namespace ak
