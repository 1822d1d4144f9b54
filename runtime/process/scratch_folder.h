// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak::runtime {

/// A folder below the system's for temporary files that only this user may enter, and that goes with the object, with
/// all that is in it.
class ScratchFolder {
 public:
  /// Throws Error(environment).
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ak::runtime
