// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak::app {

/// A database to read that may be packed (gzip, xz): unpacked into a folder that is removed with this, else the
/// file itself. Throws Error(bad_input) when it is damaged or cut short, Error(output) when there is no room.
class UnpackedDatabase {
 public:
  explicit UnpackedDatabase(const std::filesystem::path& file);
  ~UnpackedDatabase();
  UnpackedDatabase(const UnpackedDatabase&) = delete;
  UnpackedDatabase& operator=(const UnpackedDatabase&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void remove_folder() const;
  std::filesystem::path path_, folder_;  ///< folder_ is empty where nothing was unpacked
};

}  // namespace ak::app
