// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::testing {

/// `arguments`, with the patience of tests where the verb would give up after seconds of its own choice.
inline std::vector<std::string> with_patience(std::vector<std::string> arguments) {
  constexpr std::array<std::string_view, 3> kImpatient{"dashboard", "query", "report"};
  if (arguments.empty() || std::ranges::find(kImpatient, arguments[0]) == kImpatient.end() ||
      std::ranges::find(arguments, "--timeout") != arguments.end())
    return arguments;
  const std::string seconds = std::to_string(std::chrono::seconds(kPatience).count());
  arguments.insert(arguments.begin() + 1, {"--timeout", seconds});
  return arguments;
}

/// Runs alphakernel with database and configuration in a folder of the test's own, and with the shared build cache.
struct Sandbox {
  TemporaryFolder folder;
  std::map<std::string, std::string> environment{{"ALPHAKERNEL_DB", (folder / "ak.db").string()},
                                                 {"ALPHAKERNEL_CACHE", shared_build_cache()},
                                                 {"ALPHAKERNEL_CONFIG", (folder / "config.json").string()},
                                                 {"HOME", folder.path().string()}};

  /// For tests of what is built, when, and of what becomes of it.
  void use_own_build_cache() { environment["ALPHAKERNEL_CACHE"] = (folder / "cache").string(); }
  ProgramResult run(std::vector<std::string> arguments, const Signal& signal = {}) {
    arguments = with_patience(std::move(arguments));
    arguments.insert(arguments.begin(), AK_PROGRAM);
    return run_program(arguments, environment, signal);
  }
  /// Three variants of vector_add, built and not executed.
  ProgramResult generate(const std::vector<std::string>& extra) {
    std::vector<std::string> arguments{"generate",
                                       "--algorithm",
                                       "vector_add",
                                       "--arch",
                                       "sm_90a",
                                       "--device",
                                       "none",
                                       "--max-evaluations",
                                       "3",
                                       "--output",
                                       (folder / "k.cu").string()};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return run(arguments);
  }
  /// What a query prints as CSV without its header.
  std::string query(const std::string& sql) {
    const std::string csv = run({"query", "--format", "csv", sql}).out;
    return csv.substr(std::min(csv.size(), csv.find('\n') + 1));
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder / name); }
};

inline int code(ExitCode value) { return static_cast<int>(value); }

inline bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

}  // namespace ak::testing
