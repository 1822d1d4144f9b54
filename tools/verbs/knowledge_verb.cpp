// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/knowledge/knowledge_page.h"
#include "app/knowledge/learn.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json_line.h"
#include "core/text/print_stderr.h"
#include "db/upgrade.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "tools/operation_call.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

std::string sm_of(const std::string& arch) {
  const Result<Arch> known = parse_arch(arch);
  if (!known) fail(ExitCode::usage, "--arch {}: {}", arch, known.error().message);
  return known->sm();
}

/// What list_insights answers.
std::string insights_json(const db::InsightFilter& filter, const app::Arguments& arguments) {
  Json request{{"limit", filter.limit}};
  add_text(request, "algorithm", filter.algorithm);
  add_text(request, "arch", filter.arch);
  add_text(request, "words", filter.words);
  add_text(request, "bottleneck", filter.bottleneck);
  return one_line(call_operation("list_insights", request, "knowledge", arguments).content) + "\n";
}

void learn_again(const std::filesystem::path& database) {
  std::size_t learned = 0;
  for (const db::InsightScope& scope : app::scopes_of(database)) learned += app::learn(database, scope);
  print_stderr("{} insights\n", learned);
}

void print_to(const std::string& output, const std::string& text) {
  if (output.empty())
    fmt::print("{}", text);
  else
    write_file_atomically(output, text);
}

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
  if (!arch.empty()) filter.arch = sm_of(arch);
  const std::filesystem::path file = app::database_file(database, app::load_config());
  db::require_database(file);
  if (again) learn_again(file);
  const bool list = !words.empty() || !filter.bottleneck.empty();
  filter.words = words;
  const std::string text = json   ? insights_json(filter, arguments)
                           : list ? app::insight_list(db::find_insights(file, filter))
                                  : app::knowledge_page(file, filter);
  print_to(output, text);
  return 0;
}

}  // namespace

const Verb kKnowledgeVerb{"knowledge", "what earlier searches learned, as a page or by words", run_knowledge,
                          kRecordVerbs};

}  // namespace ak::tools
