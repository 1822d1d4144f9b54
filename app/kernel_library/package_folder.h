// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "db/process_locks.h"

namespace ak::app {

/// What library.json says it is.
inline constexpr std::string_view kPackageFormat = "alphakernel.kernel_library";

/// With those above it. Throws Error(output).
void make_package_folder(const std::filesystem::path& folder);

/// The folder of a package while one is made for it, in a hidden folder there, which one process at a time has. What is not
/// published is gone when this ends. One thread.
class PackageFolder {
 public:
  /// @param folder  as `library build --output` has it
  /// @param force   also where it is not empty
  /// Throws Error(usage) without a name, Error(output) where it is no folder, is not empty, cannot be made, or another process
  /// makes a package for it.
  PackageFolder(const std::filesystem::path& folder, bool force);
  PackageFolder(const PackageFolder&) = delete;
  PackageFolder& operator=(const PackageFolder&) = delete;
  ~PackageFolder();

  /// Where the package is made.
  [[nodiscard]] const std::filesystem::path& made() const { return made_; }
  /// Puts the package into the folder. Of packages that were there nothing is left; files that are no package's stay, and where
  /// one is in the way nothing is changed. What pip reads first comes last, so that there is no half a package. Throws
  /// Error(output); the new package is then kept where it was made.
  void publish();

 private:
  void require_empty() const;

  std::filesystem::path folder_, hidden_, made_;
  bool force_, is_new_, keep_ = false;
  std::unique_ptr<db::ProcessLocks> lock_;
};

}  // namespace ak::app
