// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/compare/subject_comparison.h"
#include "app/explain/compared_kernels.h"
#include "app/explain/variant_comparison.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  alphakernel compare 1234 1200                    # from the database\n"
    "  alphakernel compare old.cu new.cu --device cuda  # both evaluated now, and timed alternately\n"
    "  alphakernel compare a.result.json 3f9c2a --json\n"
    "  alphakernel compare search:12 search:15        # what two searches found, and how soon\n"
    "  alphakernel compare device:h200 device:a100      # the same kernels on the same shapes\n"
    "  alphakernel compare model:opus model:gpt --format markdown\n"
    "  alphakernel compare prompt:3 prompt:4            # versions of the prompts "
    "(llm_calls.prompt_version)\n";

enum class Form : std::uint8_t { text, markdown, json };
const std::map<std::string, Form> kForms{
    {"text", Form::text}, {"markdown", Form::markdown}, {"json", Form::json}};

/// Searches, devices, models or prompts: all from the database.
int run_subjects(const std::string (&words)[2], Form form, const std::filesystem::path& database) {
  for (const std::string& word : words) {
    if (!app::subject_kind(word))
      fail(ExitCode::usage, "'{}' is a kernel and the other is none: compare two of one kind", word);
  }
  const app::SubjectComparison comparison = app::compare_subjects(
      database, app::find_subject(database, words[0]), app::find_subject(database, words[1]));
  if (form == Form::json) fmt::print("{}\n", app::subject_comparison_json(comparison).dump());
  if (form == Form::markdown) fmt::print("{}", app::subject_comparison_markdown(comparison));
  if (form == Form::text) fmt::print("{}", app::subject_comparison_text(comparison));
  return 0;
}

/// "variant:12" is the kernel 12.
std::string kernel_word(const std::string& word) {
  constexpr std::string_view kPrefix = "variant:";
  return word.starts_with(kPrefix) ? word.substr(kPrefix.size()) : word;
}

std::string kernels_text(Form form, const app::VariantComparison& comparison, const app::StoredKernel& a,
                         const app::StoredKernel& b) {
  if (form == Form::json) return app::comparison_json(comparison, a, b).dump() + "\n";
  const std::string text = app::comparison_text(comparison, a, b);
  return form == Form::markdown ? fmt::format("# Comparison\n\n````\n{}````\n", text) : text;
}

int run_compare(const app::Arguments& arguments) {
  CLI::App app{
      "Say what two kernels for one problem differ in - times, source, tunables, launches, resources, "
      "counters - and "
      "why one is faster, as far as evidence goes. From the database, or measured now where a device is "
      "named. Or compare two searches, devices, models or prompts by pairs of what is the same except for "
      "them, and say whether the difference is more than chance.",
      "alphakernel compare"};
  set_style(app, kCompareExamples);
  std::string words[2], arch, device, database;
  bool json = false, unaudited = false;
  Form form = Form::text;
  app.add_option(
         "first", words[0],
         "a .cu file, a k.result.json, or a variant in the database: its number (also variant:NUMBER), "
         "or the first digits of its key; else search:NUMBER, device:NAME, model:NAME or "
         "prompt:VERSION, where part of a name will do")
      ->required();
  app.add_option("second", words[1], "the other one")->required();
  app.add_option("--device", device, "evaluate both now on: auto, cuda, cuda:N, emulator");
  app.add_option("--arch,--target", arch,
                 "what to compile for, where something is evaluated (default: native)");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON; the same as --format json");
  app.add_option("--format", form, "text, markdown or json")
      ->transform(CLI::CheckedTransformer(kForms).description("{text,markdown,json}"));

  const app::Config config = app::load_config();
  const std::filesystem::path db_file = app::database_file(peek(arguments, "--db"), config);
  std::optional<app::KernelChoice> first;
  if (!arguments.empty() && !app::subject_kind(arguments[0]) && app::names_kernel(arguments[0]))
    first = app::choose_kernel(arguments[0], db_file);
  const ProblemFlags problem_flags(app, arguments, first ? first->problem : "");
  if (!parse(app, arguments)) return 0;
  if (json) form = Form::json;
  if (app::subject_kind(words[0]) || app::subject_kind(words[1])) {
    if (!device.empty()) fail(ExitCode::usage, "--device is for kernels: these come from the database");
    return run_subjects(words, form, db_file);
  }
  for (std::string& word : words) word = kernel_word(word);
  if (!first) first = app::choose_kernel(words[0], db_file);
  const app::KernelChoice second = app::choose_kernel(words[1], db_file);
  if (!first->problem.empty() && !second.problem.empty() && first->problem != second.problem)
    fail(ExitCode::usage, "{} computes {}, {} computes {}: there is nothing to compare", words[0],
         first->problem, words[1], second.problem);
  const auto problem = problem_flags.instance(first->params);
  const auto other =
      device.empty() && !second.problem.empty() ? problem_flags.instance(second.params) : problem;
  const app::KernelSubject subjects[] = {{.problem = problem, .choice = *first, .file = words[0]},
                                         {.problem = other, .choice = second, .file = words[1]}};
  const app::EvaluationOptions evaluation_options{
      .device = device,
      .arch = arch,
      .command = fmt::format("alphakernel compare {}", fmt::join(arguments, " ")),
      .unaudited = unaudited};
  const auto [a, b] = app::compared_kernels(subjects[0], subjects[1], evaluation_options, config, db_file);
  const app::VariantComparison comparison = app::compare_variants(db_file, a, b);
  fmt::print("{}", kernels_text(form, comparison, a, b));
  return 0;
}

}  // namespace

const Verb kCompareVerb{"compare", "say what two kernels differ in and why one is faster", run_compare};

}  // namespace ak::tools
