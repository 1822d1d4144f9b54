// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace ak::testing {

struct ProgramResult {
  int exit_code = -1;  ///< 128 + signal when killed
  std::string out, err;
};

/// A signal to send to a program.
struct Signal {
  int number = 0;                         ///< 0: none
  std::filesystem::path after_file = {};  ///< sent when this file is there; empty: at once
};

/// Runs a program to its end with these arguments and the parent's environment changed by `environment`
/// (an empty value removes the variable).
ProgramResult run_program(const std::vector<std::string>& argv,
                          const std::map<std::string, std::string>& environment = {},
                          const Signal& signal = {});

/// Starts it and returns at once; standard output and error go to the files "out" and "err" of `folder`. The
/// caller waits for it.
pid_t start_program(const std::vector<std::string>& argv,
                    const std::map<std::string, std::string>& environment,
                    const std::filesystem::path& folder);

/// A child of this process has ended and waits to be reaped.
[[nodiscard]] bool has_ended(pid_t child);

}  // namespace ak::testing
