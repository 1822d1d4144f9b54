// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace ak::runtime {

/// What is done while a program runs.
struct ProgramWatch {
  std::string input = {};                              ///< it reads this; empty: nothing
  std::function<void(std::string_view)> on_line = {};  ///< of each whole line, as it comes
  const std::atomic<bool>* stop = nullptr;             ///< ends it when set; null: nobody does. Not owned
  bool last_words = false;  ///< an error ends with what it wrote last to standard error
};

/// Runs a program of the user's own to its end and returns what it wrote to standard output. `argv[0]` is looked for on
/// PATH. It and all of its process group end with this call. The error says why there is nothing: it cannot be started,
/// fails, takes longer than `limit`, or writes more than 1 MiB.
[[nodiscard]] Result<std::string> output_of(const std::vector<std::string>& argv,
                                            const std::vector<std::string>& environment,
                                            std::chrono::milliseconds limit, const ProgramWatch& watch = {});

}  // namespace ak::runtime
