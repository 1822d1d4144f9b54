// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/kernel_library/package_plan.h"
#include "app/kernel_library/package_reading.h"
#include "app/setup/config.h"

namespace ak::app {

struct LibraryCheck;

/// What is tuned again: as a TuningOrder has it. A kernel that can no longer be read is among them, one whose files in the
/// package are damaged is not.
/// @param names of operators
[[nodiscard]] std::vector<PackageEntry> entries_to_tune(const ReadPackage& package,
                                                        const std::vector<std::string>& names);

/// The number of the newest search; 0 where there is none.
[[nodiscard]] RowId newest_search(const std::filesystem::path& database);

/// How a package is made anew.
struct RepairOrder {
  std::filesystem::path package;
  std::vector<std::filesystem::path> problems;
  std::filesystem::path database;
  std::string device;        ///< a --device
  std::string compiler;      ///< of C++; empty: $CXX, else c++
  RowId searches_after = 0;  ///< whose champions may take a kernel's place
};

struct Repair {
  std::map<std::string, std::string> replaced;  ///< operator -> the kernel that it has now: "search:12"
  std::vector<std::string> notes;               ///< why others keep theirs
};

/// Gives the operators that regressed the champions of later searches where these are faster than what the package has, in
/// pairs, and builds the package anew beside the old one, which stays until the new one is complete. Without a faster kernel
/// nothing is built. Blocks. Throws Error as read_package() and build_package() do.
[[nodiscard]] Repair repair_package(const LibraryCheck& check, const RepairOrder& order, const Config& config,
                                    const std::function<void(const std::string&)>& progress);

/// "1.0" -> "1.0.post1" -> "1.0.post2": pip takes it for newer.
[[nodiscard]] std::string next_version(const std::string& version);

}  // namespace ak::app
