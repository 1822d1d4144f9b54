// SPDX-License-Identifier: Apache-2.0
#include "tools/generate_command.h"

namespace ak::tools {

int run_generate(const Arguments& arguments) {
  const auto command_start = std::chrono::steady_clock::now();
  auto generate = generate_command(arguments, generate_line(arguments));
  if (!generate) return 0;
  return run_to_end(std::move(generate->setup), generate->flags, command_start);
}

}  // namespace ak::tools
