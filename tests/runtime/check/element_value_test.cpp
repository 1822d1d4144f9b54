// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/element_value.h"

#include <array>
#include <catch2/catch.hpp>

using namespace ak;
using namespace ak::runtime;

TEST_CASE("an element of every dtype gives back what was written, and bytes beyond it stay") {
  for (const DTypeInfo& dtype : dtypes()) {
    INFO(dtype.name);
    for (const double value : {0.0, 1.0, -3.0, 0.5}) {
      const bool holds = dtype.floating || value == 0 || value == 1 ||
                         (value == -3 && dtype.dtype != DType::boolean && !dtype.is_unsigned);
      if (!holds) continue;
      std::array<std::byte, 9> bytes;
      bytes.fill(std::byte{0xA5});
      set_element(bytes.data(), dtype.dtype, value);
      CHECK(element_value(bytes.data(), dtype.dtype) == value);
      CHECK(bytes[static_cast<std::size_t>(dtype.bytes)] == std::byte{0xA5});
    }
  }
}
