// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ak::app {

/// Throws Error(environment) where no C++ compiler runs: before work that would be lost without one.
/// @param command empty: $CXX, else c++
void require_compiler(const std::string& command);

/// Compiles and links with the system's C++ compiler.
class PackageCompiler {
 public:
  /// @param command empty: $CXX, else c++. Throws Error(environment) where there is none that takes C++20.
  explicit PackageCompiler(const std::string& command);

  /// Position-independent objects of all `files` below `folder`, several at once. Throws Error(environment) with what the
  /// compiler says.
  void compile(const std::filesystem::path& folder, const std::vector<std::string>& files) const;
  /// A shared object of compiled files. @param options  what else is linked
  void link(const std::filesystem::path& folder, const std::vector<std::string>& files,
            const std::filesystem::path& output, const std::vector<std::string>& options) const;

 private:
  std::string command_;
};

}  // namespace ak::app
