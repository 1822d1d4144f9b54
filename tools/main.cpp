// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "tools/choice_options.h"
#include "tools/command_line.h"
#include "tools/guarded_main.h"
#include "tools/manual/help_text.h"
#include "tools/shown_stdout.h"
#include "tools/verb.h"

namespace ak::tools {
namespace {

void print_help() {
  fmt::print("{}", program_help(help_columns()));
  fmt::print(
      "\nalphakernel --version prints the version, alphakernel completion bash a script for your shell.\n"
      "\nFirst steps:\n"
      "  alphakernel doctor\n"
      "  generate_kernel --algorithm softmax --dtype bf16 --arch native\n"
      "  alphakernel query \"SELECT * FROM leaderboard\"\n\n"
      "Exit codes: docs/exit_codes.md\n");
}

/// A process has a thread for each of its workers, and each would have a heap of its own, with what is free in it.
void share_heaps() {
#ifdef M_ARENA_MAX  // glibc's
  ::mallopt(M_ARENA_MAX, 2);
#endif
}

int run_verb(const std::string& name, const app::Arguments& arguments) {
  const auto known = verbs();
  const auto found = std::ranges::find(known, name, &Verb::name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const Verb* verb : verbs())
      if (!verb->summary.empty()) names.emplace_back(verb->name);
    refuse_word("verb", name, names);
  }
  if (name != "worker") {
    share_heaps();
    show_stdout();  // a worker's standard output has kernels' prints, which its parent cleans
  }
  return (*found)->run(arguments);
}

int dispatch(const std::string& program, app::Arguments arguments) {
  // generate_kernel is a link to the same program.
  if (std::filesystem::path(program).filename() == "generate_kernel") {
    // Candidates run in children of this same binary, whatever name it was started by.
    if (arguments.empty() || arguments[0] != "worker") return run_verb("generate", arguments);
  }
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help();
    return arguments.empty() ? static_cast<int>(ExitCode::usage) : 0;
  }
  if (arguments[0] == "--version") {
    print_version();
    return 0;
  }
  const std::string verb = arguments.front();
  arguments.erase(arguments.begin());
  return run_verb(verb, arguments);
}

}  // namespace
}  // namespace ak::tools

int main(int argc, char** argv) {
  return ak::tools::guarded_main(
      [&] { return ak::tools::dispatch(argv[0], ak::app::Arguments(argv + 1, argv + argc)); });
}
