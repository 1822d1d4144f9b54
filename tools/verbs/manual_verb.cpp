// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/text/file.h"
#include "tools/command_line.h"
#include "tools/manual/completion.h"
#include "tools/manual/man_pages.h"
#include "tools/manual/reference_pages.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

void write_manual(const std::filesystem::path& root) {
  std::filesystem::create_directories(root / "man1");
  const CommandText program = describe_program();
  for (const auto& [name, text] : man_pages(program, AK_VERSION))
    write_file_atomically(root / "man1" / name, text);
  for (const Shell& shell : shells())
    write_file_atomically(root / fmt::format("alphakernel.{}", shell.name), shell.script(program));
}

void write_reference(const std::filesystem::path& root) {
  for (const auto& [name, text] : reference_pages()) {
    std::filesystem::create_directories((root / name).parent_path());
    write_file_atomically(root / name, text);
  }
}

/// Hidden: the build calls it (tools/CMakeLists.txt).
int run_manual(const app::Arguments& arguments) {
  CLI::App app{
      "Write the man pages and the shells' completion scripts, or the pages of docs/ that are generated.",
      "alphakernel manual"};
  set_style(app, "Examples:\n  alphakernel manual share/\n  alphakernel manual --docs docs/\n");
  std::string folder, docs;
  app.add_option("folder", folder, "folder to write man1/*.1 and alphakernel.{bash,zsh,fish} to");
  app.add_option("--docs", docs, "folder of the documentation, to write its generated pages to");
  if (!parse(app, arguments)) return 0;
  if (folder.empty() && docs.empty()) fail(ExitCode::usage, "expected a folder to write to, or --docs");
  if (!folder.empty()) write_manual(folder);
  if (!docs.empty()) write_reference(docs);
  return 0;
}

}  // namespace

const Verb kManualVerb{"manual", "", run_manual, kProgramVerbs};

}  // namespace ak::tools
