// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ak::codegen {

/// A launch `kernel<int, 256><<<grid, block, shared>>>(arguments)` in host code, as C++ text.
struct HostLaunch {
  std::vector<std::string> template_arguments;
  std::vector<std::string> grid, block;  ///< one to three dimensions
  std::string shared_bytes;              ///< empty: none
  std::vector<std::string> arguments;
  int line = 0;  ///< 1-based
};

/// The first launch of `kernel` in a source file; grids and blocks that are variables of type dim3, and their members,
/// are as the statements before it leave them.
[[nodiscard]] std::optional<HostLaunch> find_launch(std::string_view source, std::string_view kernel);

/// The values that a file gives names: `const int threads = 256;`, `#define TILE 16`, by name, as C++ text. A name with
/// several values has none.
[[nodiscard]] std::map<std::string, std::string, std::less<>> host_definitions(std::string_view source);

/// An integer of host code as an expression of launch plans. `axes` are names of host code that are axes. Nothing where
/// it is none, such as a call of an unknown function.
[[nodiscard]] std::optional<std::string> plan_expression(
    std::string_view text, const std::map<std::string, std::string, std::less<>>& axes,
    const std::map<std::string, std::string, std::less<>>& definitions);

/// Headers of a file that are neither the toolkit's nor known ones of the host: a kernel may need what they hold.
[[nodiscard]] std::vector<std::string> unknown_includes(std::string_view source);

/// The file without host code: kernels and what they use, types, constants and headers for the device.
[[nodiscard]] std::string device_code(std::string_view source);

}  // namespace ak::codegen
