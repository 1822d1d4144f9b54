// SPDX-License-Identifier: Apache-2.0
// Kernels as a library of operators.
#include <array>

#include "tools/command_line.h"
#include "tools/library_build_command.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kLibraryHelp =
    "Kernels as a library of PyTorch operators.\n\n"
    "Usage: alphakernel library build --kernel search:12 --output dist/   # a package that pip installs\n\n"
    "docs/kernel_library.md says more.\n"
    "Exit codes: docs/exit_codes.md\n";

int run_library(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"build", "write kernels as a package of PyTorch operators", build_library}};
  return run_subcommand(kSubcommands, kLibraryHelp, arguments);
}

}  // namespace

const Verb kLibraryVerb{"library", "make a library of PyTorch operators from kernels", run_library,
                        kJudgeVerbs};

}  // namespace ak::tools
