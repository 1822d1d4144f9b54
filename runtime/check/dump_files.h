// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ak::runtime {

/// How inputs that the caller put into the folder of a dump are called where a distribution would be named.
inline constexpr std::string_view kGivenInputs = "given";

/// The file of a tensor in the folder of a dump (docs/checking.md).
[[nodiscard]] inline std::string dump_file(std::string_view workload, std::string_view distribution,
                                           std::string_view tensor) {
  return fmt::format("{}.{}.{}.bin", workload, distribution, tensor);
}
/// Where the caller puts an input of their own.
[[nodiscard]] inline std::string given_input_file(std::string_view workload, std::string_view tensor) {
  return dump_file(workload, kGivenInputs, tensor);
}

}  // namespace ak::runtime
