// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ak {

/// A text file compiled into the binary (tools/cmake/targets.cmake, ak_embed). Both views live as long
/// as the program.
struct EmbeddedFile {
  std::string_view name;  ///< path relative to the folder that embeds it
  std::string_view text;
};

}  // namespace ak
