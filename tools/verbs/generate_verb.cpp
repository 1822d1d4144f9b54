// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/live_view.h"
#include "tools/generate_command.h"
#include "tools/kernel_arguments.h"
#include "tools/next_steps.h"
#include "tools/precision_command.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_generate(const app::Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  if (!asks_for_help(arguments) && asks_precision(arguments))
    return generate_within_error(arguments, command_start, print_search_and_next);
  app::LiveView view;
  auto generate = generate_command(arguments, app::generate_line(arguments), &view);
  if (!generate) return 0;
  return app::run_to_end(std::move(generate->setup), generate->flags, command_start, print_search_and_next);
}

}  // namespace

const Verb kGenerateVerb{"generate", "find a fast, verified kernel for an algorithm (also: generate_kernel)",
                         run_generate, kFindVerbs};

}  // namespace ak::tools
