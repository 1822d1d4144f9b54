// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/exchange/exchange_schema.h"

namespace ak::app {

/// A fault in a file of a data set.
struct FileFault {
  std::string path;     ///< below the data set's folder, with the line of a .jsonl file
  std::string message;  ///< faults_text()
};

/// A data set in FlashInfer-Bench's layout. Keys are paths below its folder; the JSON is as it was read.
struct ExchangeSet {
  std::map<std::string, Json> definitions;             ///< definitions/OP/DEFINITION.json
  std::map<std::string, std::vector<Json>> workloads;  ///< workloads/OP/DEFINITION.jsonl: a trace a line
  std::map<std::string, Json> solutions;               ///< solutions/AUTHOR/OP/DEFINITION/SOLUTION.json
  std::map<std::string, std::vector<Json>> traces;     ///< traces/AUTHOR/OP/DEFINITION.jsonl
  std::map<std::string, std::string> others;           ///< blob/... and what else lies there, as bytes
  Json notes = Json::object();                         ///< alphakernel.json: what the format has no field for
};

inline constexpr const char* kExchangeNotes = "alphakernel.json";

/// Reads a folder. What breaks the rules is left out and named in `faults`. Links are not followed. Throws
/// Error(bad_input) where there is no such folder.
[[nodiscard]] ExchangeSet read_exchange(const std::filesystem::path& folder, std::vector<FileFault>& faults);

/// Writes it, each file atomically. The same set always gives the same bytes. Throws Error(output).
void write_exchange(const std::filesystem::path& folder, const ExchangeSet& set);

/// Puts `added` into `set`. What is in `set` stays: a definition, a solution or another file of the same
/// path, a workload of the same identity, the same line of a trace.
void merge_exchange(ExchangeSet& set, const ExchangeSet& added);

/// Path of a file, or a message where a name in it cannot be a file's name.
[[nodiscard]] std::string definition_path(const Json& definition);
[[nodiscard]] std::string workloads_path(const Json& definition);
[[nodiscard]] std::string solution_path(const Json& solution, const Json& definition);
[[nodiscard]] std::string traces_path(const std::string& author, const Json& definition);
/// Letters, digits and ". _ - + = @", not beginning with a dot, at most 200 bytes.
[[nodiscard]] bool is_file_name(const std::string& name);

}  // namespace ak::app
