// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "core/text/file.h"
#include "tools/command_line.h"
#include "tools/manual/completion.h"
#include "tools/manual/man_pages.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

/// Hidden: the build calls it (tools/CMakeLists.txt).
int run_manual(const app::Arguments& arguments) {
  CLI::App app{"Write the man pages and the shells' completion scripts.", "alphakernel manual"};
  set_style(app, "Example:\n  alphakernel manual share/\n");
  std::string folder;
  app.add_option("folder", folder, "folder to write man1/*.1 and alphakernel.{bash,zsh,fish} to")->required();
  if (!parse(app, arguments)) return 0;
  const std::filesystem::path root = folder;
  std::filesystem::create_directories(root / "man1");
  const CommandText program = describe_program();
  for (const auto& [name, text] : man_pages(program, AK_VERSION))
    write_file_atomically(root / "man1" / name, text);
  for (const Shell& shell : shells())
    write_file_atomically(root / fmt::format("alphakernel.{}", shell.name), shell.script(program));
  return 0;
}

}  // namespace

const Verb kManualVerb{"manual", "", run_manual};

}  // namespace ak::tools
