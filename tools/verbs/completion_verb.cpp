// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tools/command_line.h"
#include "tools/manual/completion.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_completion(const app::Arguments& arguments) {
  CLI::App app{"Print a script that completes subcommands and options in your shell.",
               "alphakernel completion"};
  set_style(app,
            "Examples:\n"
            "  source <(alphakernel completion bash)\n"
            "  alphakernel completion fish > ~/.config/fish/completions/alphakernel.fish\n"
            "An installed tree has the scripts where the shells look for them (docs/install.md).\n");
  std::vector<std::string> names;
  for (const Shell& shell : shells()) names.emplace_back(shell.name);
  std::string name;
  app.add_option("shell", name, "whose script")->required()->check(CLI::IsMember(names));
  if (!parse(app, arguments)) return 0;
  const auto all = shells();
  const auto shell = std::ranges::find(all, name, &Shell::name);
  fmt::print("{}", shell->script(describe_program()));
  return 0;
}

}  // namespace

const Verb kCompletionVerb{"completion", "print a script that completes words in your shell", run_completion,
                           kProgramVerbs};

}  // namespace ak::tools
