// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/problem/problem_catalog.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/store.h"
#include "core/text/json.h"

namespace ak::app {

/// The folder among them that has the problem; empty: it is a shipped one.
[[nodiscard]] std::filesystem::path own_problem(const std::vector<std::filesystem::path>& folders,
                                                const std::string& name);

/// Of the folders that were named, else a shipped one.
[[nodiscard]] codegen::Problem problem_of_package(const std::vector<std::filesystem::path>& folders,
                                                  const std::string& name);

/// The params of library.json as the texts of their flags.
[[nodiscard]] std::map<std::string, std::string> param_texts(const Json& params);

/// By which a variant is known in any database; empty where this one has no such row.
[[nodiscard]] std::string key_of_variant(const std::filesystem::path& database, RowId variant);

/// An operator of a package that `alphakernel library build` wrote.
struct PackagedKernel {
  std::string name;
  Json description;  ///< what library.json says of it
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  RowId variant = 0;  ///< of the database; 0: it was packed from a file that was never evaluated
  std::map<std::string, double> stored_us = {};  ///< by shape, when it was packed
  bool estimated = false;                        ///< those are costs of the CPU device
  std::string fault = {};                        ///< why it can no longer be read, or is not what was built

  /// Only the package's files are not as they were: the database has the kernel.
  [[nodiscard]] bool is_damaged() const { return !fault.empty() && variant > 0 && problem != nullptr; }
};

struct ReadPackage {
  std::filesystem::path folder;  ///< that pip installs
  Json description;              ///< library.json
  std::string name;
  std::string device;  ///< that its kernels were measured on; empty: on none
  std::vector<PackagedKernel> kernels;
  std::vector<std::string> notes;  ///< files that changed since it was built, of no single operator
};

/// Reads a package with the kernels' text, and finds them in the database. A kernel that cannot be read has a fault.
/// @param folder    as `library build --output` was given
/// @param problems  folders of problems that are not shipped
/// Throws Error(bad_input) where it is no package, was built from another database, or by an older version.
[[nodiscard]] ReadPackage read_package(const std::filesystem::path& folder,
                                       const std::vector<std::filesystem::path>& problems,
                                       const std::filesystem::path& database);

}  // namespace ak::app
