// SPDX-License-Identifier: Apache-2.0
#include "tools/generate_command.h"
#include "tools/search_report.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_generate(const app::Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  auto generate = generate_command(arguments, app::generate_line(arguments));
  if (!generate) return 0;
  return app::run_to_end(std::move(generate->setup), generate->flags, command_start, print_search);
}

}  // namespace

const Verb kGenerateVerb{"generate", "find a fast, verified kernel for an algorithm (also: generate_kernel)",
                         run_generate};

}  // namespace ak::tools
