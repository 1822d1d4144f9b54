// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

namespace ak::emulator {

/// Element types of a tensor map, in the order of CUtensorMapDataType up to float32_ftz. TF32 elements are
/// read as float32 bits.
enum class TensorElement : std::uint8_t {
  uint8,
  uint16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  float32,
  float64,
  bfloat16,
  float32_ftz,
  tfloat32,
  tfloat32_ftz,
};
[[nodiscard]] constexpr std::uint32_t bytes_of(TensorElement element) {
  constexpr std::array<std::uint32_t, 13> kBytes{1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return kBytes[static_cast<std::size_t>(element)];
}
[[nodiscard]] constexpr bool is_floating(TensorElement element) { return element >= TensorElement::float16; }

enum class TensorInterleave : std::uint8_t { none, b16, b32 };
/// How rows of the box are permuted in shared memory: 16-byte chunks within 32, 64 or 128 bytes.
enum class TensorSwizzle : std::uint8_t { none, b32, b64, b128 };
enum class TensorFill : std::uint8_t { zero, nan };

/// What the CPU device keeps in the 128 bytes of a CUtensorMap (NVIDIA's own layout is not public, so a
/// kernel cannot depend on it). Made by the emulated driver's cuTensorMapEncodeTiled, which has checked it;
/// read by cp.async.bulk.tensor. All extents are in elements, all strides in bytes; dimension 0 is the
/// innermost, whose stride is the element size.
struct alignas(64) TensorMapDescriptor {
  static constexpr std::uint64_t kMagic = 0x3150'414D'5450'4B41ull;  ///< "AKPTMAP1" in memory

  std::uint64_t magic = 0;
  std::uint64_t address = 0;                      ///< of element 0, in global memory
  std::array<std::uint32_t, 5> extent{};          ///< extent - 1, since 2^32 is allowed
  std::uint32_t rank = 0;                         ///< 1 to 5
  std::array<std::uint64_t, 4> stride{};          ///< of dimensions 1 to rank - 1
  std::array<std::uint16_t, 5> box{};             ///< 1 to 256
  std::array<std::uint8_t, 5> element_strides{};  ///< 1 to 8
  TensorElement element = TensorElement::uint8;
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorFill fill = TensorFill::zero;

  [[nodiscard]] std::uint64_t size(std::uint32_t dimension) const {
    return std::uint64_t{extent[dimension]} + 1;
  }
  [[nodiscard]] std::uint64_t stride_of(std::uint32_t dimension) const {
    return dimension == 0 ? bytes_of(element) : stride[dimension - 1];
  }
};
static_assert(sizeof(TensorMapDescriptor) == 128, "it takes the place of a CUtensorMap");

/// The descriptor in 128 bytes of device memory; nothing when they hold no tensor map.
[[nodiscard]] inline std::optional<TensorMapDescriptor> tensor_map_descriptor(const void* bytes) {
  TensorMapDescriptor map;
  std::memcpy(&map, bytes, sizeof map);
  if (map.magic != TensorMapDescriptor::kMagic || map.rank < 1 || map.rank > 5) return std::nullopt;
  return map;
}

}  // namespace ak::emulator
