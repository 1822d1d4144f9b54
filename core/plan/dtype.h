// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ak {

/// Element types, spelled as FlashInfer-Bench spells them. The order is stored nowhere; the names are.
enum class DType : std::uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2,
  int64,
  int32,
  int16,
  int8,
  uint32,
  uint8,
  boolean,
  int4x2,
  uint4x2
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;         ///< stored in the database and in definitions; never renamed
  std::string_view alias;        ///< short form accepted on the command line
  std::string_view cuda_type;    ///< C++ type in candidate source
  std::string_view cuda_header;  ///< header that declares it; empty for a built-in type
  int bytes;
  bool floating;
  double unit_roundoff;  ///< half the distance from 1 to the next value (IEEE 754, OCP FP8); 0 for integers
  bool is_unsigned = false;
  int values = 1;  ///< in one element: 2 of a packed type, the first in the low bits
};

[[nodiscard]] std::span<const DTypeInfo> dtypes();
[[nodiscard]] const DTypeInfo& info(DType dtype);
/// Accepts names and aliases ("bf16", "bfloat16").
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view text);

}  // namespace ak
