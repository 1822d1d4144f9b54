// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/kernel_library/package_folder.h"
#include "app/kernel_library/package_plan.h"
#include "app/setup/config.h"
#include "core/device/arch.h"

namespace ak::app {

/// What `alphakernel library build` was asked for.
struct PackageOrder {
  std::string name = "alphakernel_ops";  ///< of the package, its namespace of operators, and its CMake target
  std::string version = "1.0";           ///< of the package
  std::vector<PackageEntry> entries;
  std::vector<std::filesystem::path> problems;  ///< folders of problems that are not shipped
  std::vector<Arch> archs;                      ///< empty: of each kernel what it was evaluated for
  std::string device;                           ///< the product whose measurements decide; part of its name
  std::filesystem::path database;
  std::string compiler;  ///< of C++; empty: $CXX, else c++
};

/// What was made.
struct BuiltPackage {
  Json description;                   ///< library.json
  std::vector<PackageEntry> missing;  ///< the database has no kernel of these
  std::vector<std::string> notes;
};

/// The entries for which the database has no verified kernel: they have no `kernel`; all others get one. Throws Error as
/// the catalogue does for a problem or param that there is not.
[[nodiscard]] std::vector<PackageEntry> without_kernel(PackageOrder& order);

/// Builds machine code for every target, the launcher, and the Python package around them, and publishes them in `folder`.
/// Compiles with the system's C++ compiler and runs nothing on a GPU. Blocks.
/// @param progress called with a line for every step
/// Throws Error: no_kernel for a kernel that is known to be wrong or can be no operator, environment without a compiler.
[[nodiscard]] BuiltPackage build_package(const PackageOrder& order, PackageFolder& folder,
                                         const Config& config,
                                         const std::function<void(const std::string&)>& progress);

}  // namespace ak::app
