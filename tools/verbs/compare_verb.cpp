// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "app/compare/compared_subject.h"
#include "app/evaluate/kernel_choice.h"
#include "core/error.h"
#include "tools/choice_options.h"
#include "tools/kernel_arguments.h"
#include "tools/operation_call.h"
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

/// Of searches, devices, models or prompts: all from the database.
operations::Answer compare_two_subjects(const std::string (&words)[2], const std::string& form,
                                        const app::Arguments& arguments) {
  for (const std::string& word : words) {
    if (!app::subject_kind(word))
      fail(ExitCode::usage, "'{}' is a kernel and the other is none: compare two of one kind", word);
  }
  const Json request{
      {"first", words[0]}, {"second", words[1]}, {"form", form == "markdown" ? "markdown" : "text"}};
  return call_operation("compare_subjects", request, "compare", arguments);
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

void print_kernels(const Json& answer, const std::string& form) {
  const std::string page = answer["page"];
  fmt::print("{}", form == "markdown" ? fmt::format("# Comparison\n\n````\n{}````\n", page) : page);
}

struct CompareFlags {
  std::string words[2], arch, device, database, format = "text";
  bool json = false, unaudited = false;
};

void add_compare_flags(CLI::App& app, CompareFlags& flags) {
  add_kernel(app, "first", flags.words[0])
      ->description(fmt::format("{}; or, with another of its kind, search:NUMBER, device:NAME, model:NAME or "
                                "prompt:VERSION, where part of a name will do",
                                app::kKernelForms));
  app.add_option("second", flags.words[1], "the other one")->required();
  app.add_option("--device", flags.device, "evaluate both now on: auto, cuda, cuda:N, emulator");
  app.add_option("--arch,--target", flags.arch,
                 "what to compile for, where something is evaluated (default: native)");
  app.add_option("--db", flags.database, "performance database");
  add_unaudited_flag(app, flags.unaudited);
  app.add_flag("--json", flags.json, "print JSON; the same as --format json");
  add_choice(app, "--format", flags.format, {"text", "markdown", "json"},
             "format of what is printed (default: text)");
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
  CompareFlags flags;
  add_compare_flags(app, flags);
  const auto& words = flags.words;
  const bool subjects_given = are_subjects(plain_words(app, arguments));
  std::optional<app::KernelChoice> first;
  if (!subjects_given) first = named_kernel(app, arguments, named_database(arguments));
  const ProblemFlags problem_flags(app, arguments, first ? first->problem : "");
  if (!parse(app, arguments)) return 0;
  const std::string format = flags.json ? "json" : flags.format;
  if (subjects_given) {
    if (!flags.device.empty()) fail(ExitCode::usage, "--device is for kernels: these come from the database");
    const operations::Answer answer = compare_two_subjects(words, format, arguments);
    format == "json" ? print_json(answer) : fmt::print("{}", answer.content["page"].get<std::string>());
    return 0;
  }
  if (!first) first = app::choose_kernel(words[0], named_database(arguments));
  Json request = problem_flags.request(first->params);
  request.update(
      {{"first", words[0]}, {"second", words[1]}, {"unaudited", flags.unaudited}, {"detail", "full"}});
  add_text(request, "device", flags.device);
  add_text(request, "arch", flags.arch);
  const operations::Answer answer = call_operation("compare", request, "compare", arguments);
  format == "json" ? print_json(answer) : print_kernels(answer.content, format);
  return 0;
}

}  // namespace

const Verb kCompareVerb{"compare", "say what two kernels differ in and why one is faster", run_compare,
                        kJudgeVerbs};

}  // namespace ak::tools
