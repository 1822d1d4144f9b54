// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/knowledge/knowledge_page.h"
#include "app/knowledge/learn.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/print_stderr.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_knowledge(const app::Arguments& arguments) {
  CLI::App app{"What earlier searches learned: patterns, guides for architectures, decision trees.",
               "alphakernel knowledge"};
  set_style(app,
            "Every search learns at its end; --learn does it for the whole database, after a merge for "
            "example.\n\n"
            "Examples:\n"
            "  alphakernel knowledge --output knowledge.md\n"
            "  alphakernel knowledge --algorithm gemm --arch sm_90a\n"
            "  alphakernel knowledge --search \"double buffering\"\n"
            "What is learned, and from what: docs/knowledge.md\n");
  std::string database, output, arch, words;
  db::InsightFilter filter;
  bool json = false, again = false;
  app.add_option("--algorithm", filter.algorithm, "only what was learned of this algorithm");
  app.add_option("--arch", arch, "only what was learned for this target: sm_90a, h200, ...");
  app.add_option("--search", words,
                 "list the insights that match these words, best first, instead of writing the page");
  app.add_option("--bottleneck", filter.bottleneck,
                 "list what was tried against this bottleneck, instead of writing the page");
  app.add_flag("--learn", again, "learn from all searches of the database first");
  add_integer(app, "--limit", {.min = 0, .max = 1'000'000}, into(filter.limit),
              "list at most this many; 0 = all (default 50)");
  app.add_option("--output,-o", output, "write to this file instead of standard output");
  app.add_option("--db", database,
                 "performance database (default: $ALPHAKERNEL_DB or the user's data folder)");
  app.add_flag("--json", json, "print the insights as JSON");
  if (!parse(app, arguments)) return 0;
  if (!arch.empty()) {
    const Result<Arch> known = parse_arch(arch);
    if (!known) fail(ExitCode::usage, "--arch {}: {}", arch, known.error().message);
    filter.arch = known->sm();
  }
  const std::filesystem::path file = app::database_file(database, app::load_config());
  if (!std::filesystem::exists(file))
    fail(ExitCode::bad_input, "{}: there is no such database", file.string());
  std::size_t learned = 0;
  if (again)
    for (const db::InsightScope& scope : app::scopes_of(file)) learned += app::learn(file, scope);
  if (again) print_stderr("{} insights\n", learned);
  filter.words = words;
  const bool list = !words.empty() || !filter.bottleneck.empty();
  const auto insights = list || json ? db::find_insights(file, filter) : std::vector<db::Insight>{};
  const std::string text = json   ? app::to_json(insights).dump(2) + "\n"
                           : list ? app::insight_list(insights)
                                  : app::knowledge_page(file, filter);
  if (output.empty())
    fmt::print("{}", text);
  else
    write_file_atomically(output, text);
  return 0;
}

}  // namespace

const Verb kKnowledgeVerb{"knowledge", "what earlier searches learned, as a page or by words", run_knowledge,
                          kRecordVerbs};

}  // namespace ak::tools
