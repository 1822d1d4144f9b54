// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/tensor_copy.h"

#include <algorithm>

namespace ak::emulator {
namespace {

/// Elements of the box along a dimension: strides other than 1 leave some out.
std::uint32_t box_extent(const TensorMapDescriptor& map, std::uint32_t dimension) {
  const std::uint32_t stride = std::max<std::uint32_t>(map.element_strides[dimension], 1);
  return (map.box[dimension] + stride - 1) / stride;
}

/// The part of a row of adjacent elements that is inside the tensor.
void clip(const TensorMapDescriptor& map, std::int64_t first, TensorRow& row) {
  const auto size = static_cast<std::int64_t>(map.size(0));
  const std::int64_t begin = std::max<std::int64_t>(first, 0);
  const std::int64_t end = std::min<std::int64_t>(first + row.elements, size);
  if (end <= begin) return;
  row.skipped = static_cast<std::uint32_t>(begin - first);
  row.inside = static_cast<std::uint32_t>(end - begin);
  row.global += static_cast<std::uint64_t>(begin) * bytes_of(map.element);
}

}  // namespace

std::uint64_t box_bytes(const TensorMapDescriptor& map) {
  std::uint64_t bytes = bytes_of(map.element);
  for (std::uint32_t d = 0; d < map.rank; ++d) bytes *= box_extent(map, d);
  return bytes;
}

void for_each_row(const TensorMapDescriptor& map, const std::array<std::int32_t, 5>& coordinates,
                  const std::function<void(const TensorRow&)>& row) {
  const bool dense = map.element_strides[0] <= 1;
  std::uint32_t rows = dense ? 1 : box_extent(map, 0);
  for (std::uint32_t d = 1; d < map.rank; ++d) rows *= box_extent(map, d);
  const std::uint32_t element_bytes = bytes_of(map.element);
  for (std::uint32_t r = 0; r < rows; ++r) {
    TensorRow one{.global = map.address,
                  .box_offset = 0,
                  .skipped = 0,
                  .inside = 0,
                  .elements = dense ? map.box[0] : 1u};
    one.box_offset = r * one.elements * element_bytes;
    std::uint32_t rest = r;
    std::int64_t first = coordinates[0];
    if (!dense) {
      first += std::int64_t{rest % box_extent(map, 0)} * map.element_strides[0];
      rest /= box_extent(map, 0);
    }
    bool inside = true;
    for (std::uint32_t d = 1; d < map.rank; ++d) {
      const std::int64_t at = coordinates[d] + std::int64_t{rest % box_extent(map, d)} *
                                                   std::max<std::uint8_t>(map.element_strides[d], 1);
      rest /= box_extent(map, d);
      inside &= at >= 0 && at < static_cast<std::int64_t>(map.size(d));
      one.global += static_cast<std::uint64_t>(at) * map.stride_of(d);
    }
    if (inside) clip(map, first, one);
    row(one);
  }
}

std::uint32_t swizzled(TensorSwizzle swizzle, std::uint32_t address) {
  switch (swizzle) {
    case TensorSwizzle::none:
      return address;
    case TensorSwizzle::b32:
      return address ^ (address >> 7 & 1u) << 4;
    case TensorSwizzle::b64:
      return address ^ (address >> 7 & 3u) << 4;
    case TensorSwizzle::b128:
      return address ^ (address >> 7 & 7u) << 4;
  }
  return address;
}

}  // namespace ak::emulator
