// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/build.h"

namespace ak::runtime {

/// The costly toolkit headers that `source` includes unconditionally and before any macro of its own that
/// could change them (AK_ macros cannot), in order.
[[nodiscard]] std::vector<std::string> costly_includes(std::string_view source);

/// What a compilation adds to use a precompiled header.
struct PchPrefix {
  std::string text;  ///< to be put before the source; ends in a #line that restores the candidate's own lines
  std::vector<std::string> options;
};

/// One precompiled header per include set, in its own folder below `folder`. NVRTC reuses one only when
/// every preprocessing directive before it is equal, and AK_ macros differ from candidate to candidate: so
/// the includes are repeated in front of the source, end there with `#pragma nv_hdrstop`, and are empty by
/// their guards where the candidate names them. Used by one thread; NVRTC binds the files to the process
/// that made them.
class PrecompiledHeaders {
 public:
  PrecompiledHeaders(std::filesystem::path folder, std::vector<std::filesystem::path> include_dirs)
      : folder_(std::move(folder)), include_dirs_(std::move(include_dirs)) {}
  /// Nothing when the source includes nothing costly, or a folder cannot be made.
  [[nodiscard]] std::optional<PchPrefix> prefix_for(const TranslationUnit& unit);

 private:
  std::filesystem::path folder_of(const std::string& key);
  [[nodiscard]] std::string include_lines(const TranslationUnit& unit) const;

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> include_dirs_;
  std::deque<std::string> recent_;  ///< keys, least recently used first
};

}  // namespace ak::runtime
