// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "emulator/machine/tensor_map_descriptor.h"

namespace ak::emulator {

/// A run of elements of one box row: adjacent in global memory and in the unswizzled box.
struct TensorRow {
  std::uint64_t global = 0;      ///< device address of the first element that is inside the tensor
  std::uint32_t box_offset = 0;  ///< of the row's first element, before swizzling
  std::uint32_t skipped = 0;     ///< elements of the row before the first one inside
  std::uint32_t inside = 0;      ///< elements inside the tensor; 0: none
  std::uint32_t elements = 0;    ///< of the whole row
};

/// Bytes that a box takes in shared memory, elements outside the tensor included.
[[nodiscard]] std::uint64_t box_bytes(const TensorMapDescriptor& map);
/// Calls `row` for every row of the box whose corner is at `coordinates` (innermost first). With an element
/// stride other than 1 in dimension 0 a row is one element.
void for_each_row(const TensorMapDescriptor& map, const std::array<std::int32_t, 5>& coordinates,
                  const std::function<void(const TensorRow&)>& row);
/// Where a byte of the box goes: `address` is the byte's unswizzled offset in the block's shared memory
/// (whose base is a multiple of 1024). 16-byte chunks are permuted by XOR with the 128-byte line's number
/// (CUDA C++ Programming Guide, "Tensor Memory Access").
[[nodiscard]] std::uint32_t swizzled(TensorSwizzle swizzle, std::uint32_t address);

}  // namespace ak::emulator
