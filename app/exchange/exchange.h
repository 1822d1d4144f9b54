// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/exchange/exchange_folder.h"

namespace ak::app {

/// What went into a data set or a database, and what did not.
struct ExchangeReport {
  std::size_t definitions = 0, workloads = 0, solutions = 0, traces = 0;
  std::size_t variants = 0;        ///< import: solutions that became variants
  std::vector<std::string> notes;  ///< what was left out or is only kept, and why
  std::vector<FileFault> faults;   ///< import: what breaks the rules
};

/// Where what an import cannot put into tables is kept: DATABASE.exchange/, a data set itself.
[[nodiscard]] std::filesystem::path kept_folder(const std::filesystem::path& database);

/// Writes definitions, workloads, solutions and traces of the database, and what is kept alongside it.
/// @param all  failed variants, too
/// @param problems  a problem folder, or a folder of such, of definitions that are not shipped: solutions of these have
///                  a function to call only with it; empty: none
[[nodiscard]] ExchangeReport export_exchange(const std::filesystem::path& database,
                                             const std::filesystem::path& folder, bool all,
                                             const std::filesystem::path& problems = {});

/// Reads a data set into the database: definitions, workloads, and solutions in CUDA with a launch plan
/// become rows; all that follows the rules is kept alongside it, so that an export has it again.
[[nodiscard]] ExchangeReport import_exchange(const std::filesystem::path& folder,
                                             const std::filesystem::path& database);

}  // namespace ak::app
