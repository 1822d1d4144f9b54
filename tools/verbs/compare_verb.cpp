// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/compare/subject_comparison.h"
#include "app/explain/compared_kernels.h"
#include "app/explain/variant_comparison.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "tools/choice_options.h"
#include "tools/command_line.h"
#include "tools/kernel_arguments.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  alphakernel compare 1234 1200                    # from the database\n"
    "  alphakernel compare old.cu new.cu --device cuda  # both evaluated now, and timed alternately\n"
    "  alphakernel compare search:12 mine.cu            # what a search ended with, and a file\n"
    "  alphakernel compare a.result.json 3f9c2a --json\n"
    "  alphakernel compare search:12 search:15        # what two searches found, and how soon\n"
    "  alphakernel compare device:h200 device:a100      # the same kernels on the same shapes\n"
    "  alphakernel compare model:opus model:gpt --format markdown\n"
    "  alphakernel compare prompt:3 prompt:4            # versions of the prompts "
    "(llm_calls.prompt_version)\n";

enum class Form : std::uint8_t { text, markdown, json };

Form form_of(const std::string& word) {
  if (word == "json") return Form::json;
  return word == "markdown" ? Form::markdown : Form::text;
}

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

/// Neither word is a kernel. search:12 is one next to a kernel: the one that this search ended with.
bool are_subjects(const std::vector<std::string>& words) {
  if (words.size() < 2) return false;
  const auto is_only_subject = [](const std::string& word) {
    return app::subject_kind(word) && !app::names_kernel(word);
  };
  const bool both = app::subject_kind(words[0]) && app::subject_kind(words[1]);
  return both || is_only_subject(words[0]) || is_only_subject(words[1]);
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
  std::string words[2], arch, device, database, format = "text";
  bool json = false, unaudited = false;
  add_kernel(app, "first", words[0])
      ->description(fmt::format("{}; or, with another of its kind, search:NUMBER, device:NAME, model:NAME or "
                                "prompt:VERSION, where part of a name will do",
                                app::kKernelForms));
  app.add_option("second", words[1], "the other one")->required();
  app.add_option("--device", device, "evaluate both now on: auto, cuda, cuda:N, emulator");
  app.add_option("--arch,--target", arch,
                 "what to compile for, where something is evaluated (default: native)");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON; the same as --format json");
  add_choice(app, "--format", format, {"text", "markdown", "json"},
             "format of what is printed (default: text)");

  const app::Config config = app::load_config();
  const std::filesystem::path db_file = named_database(arguments);
  const bool subjects_given = are_subjects(plain_words(app, arguments));
  std::optional<app::KernelChoice> first;
  if (!subjects_given) first = named_kernel(app, arguments, db_file);
  const ProblemFlags problem_flags(app, arguments, first ? first->problem : "");
  if (!parse(app, arguments)) return 0;
  const Form form = json ? Form::json : form_of(format);
  if (subjects_given) {
    if (!device.empty()) fail(ExitCode::usage, "--device is for kernels: these come from the database");
    return run_subjects(words, form, db_file);
  }
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

const Verb kCompareVerb{"compare", "say what two kernels differ in and why one is faster", run_compare,
                        kJudgeVerbs};

}  // namespace ak::tools
