// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/launch_plan.h"

namespace ak::codegen {

/// Where host code that launches finds what it needs: the texts of codegen/emit/host_launch.cuh and, for
/// tensor maps, codegen/emit/host_tensor_map.cuh in a namespace, and a macro AK_CHECK.
struct LaunchStyle {
  std::string_view space;   ///< that namespace, e.g. "ak_test"
  std::string_view stream;  ///< C++ text; empty: the default stream
};

/// One launch, every number as C++ text.
struct LaunchText {
  std::string kernel;                              ///< as the source calls it
  std::string grid, block;                         ///< of type dim3
  std::string shared_bytes;                        ///< an integer
  std::optional<std::int64_t> known_shared_bytes;  ///< where the text is a number
  std::string cluster;                             ///< "x, y, z"; empty: none
  std::string cluster_blocks;                      ///< of all dimensions
  std::optional<std::int64_t> known_cluster_blocks;
  bool cooperative = false;
  std::string
      early;  ///< condition under which it may begin before the launch ahead of it has ended; empty: never
  std::vector<std::string> arguments;
};

/// Statements that do the launch, each line indented by two spaces.
[[nodiscard]] std::string launch_statements(const LaunchText& launch, const LaunchStyle& style);

/// A tensor map, every number as C++ text: of type cuuint64_t for dims and strides, cuuint32_t
/// for the others.
struct TensorMapText {
  std::string pointer;
  DType dtype = DType::float32;
  std::vector<std::string> dims, strides_bytes, box, element_strides;
  std::string interleave, swizzle, l2_promotion, oob_fill;  ///< as the plan has them
};

/// An expression that makes it.
[[nodiscard]] std::string tensor_map_text(const TensorMapText& map, const LaunchStyle& style);

/// "float": the C++ type of a scalar argument.
[[nodiscard]] std::string_view cpp_type(ScalarType type);

/// codegen/`name`.
[[nodiscard]] std::string_view host_source(std::string_view name);
/// The same wrapped in `namespace space { }`.
[[nodiscard]] std::string host_text(std::string_view name, std::string_view space);

}  // namespace ak::codegen
