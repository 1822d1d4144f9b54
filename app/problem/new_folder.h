// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak::app {

/// A folder next to the wanted one; gone at the end of a scope unless it was moved there. So a folder appears whole or
/// not at all, and nothing that is there is replaced.
class NewFolder {
 public:
  /// Throws Error(output) where `wanted` exists and is not empty, or nothing can be made beside it.
  explicit NewFolder(const std::filesystem::path& wanted);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// What is wanted is not there, or an empty folder.
  [[nodiscard]] bool is_free() const;
  /// Moves it to where it was wanted. Throws Error(output).
  void keep();
  /// Moves it elsewhere, next to that. Throws Error(output).
  void keep_as(const std::filesystem::path& other);
  /// Absolute, without a stroke at its end.
  [[nodiscard]] const std::filesystem::path& wanted() const { return wanted_; }

 private:
  std::filesystem::path wanted_, path_;
};

}  // namespace ak::app
