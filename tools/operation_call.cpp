// SPDX-License-Identifier: Apache-2.0
#include "tools/operation_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/text/json_line.h"
#include "core/text/print_stderr.h"
#include "tools/kernel_arguments.h"

namespace ak::tools {
namespace {

/// Why the target of an evaluation is not the one that was asked for; empty where it is.
std::string target_note(const Json& answer) {
  const Json& evaluation = answer.contains("evaluation") ? answer["evaluation"] : answer;
  return evaluation.contains("target") ? evaluation["target"].value("note", "") : "";
}

}  // namespace

operations::Answer call_operation(std::string_view operation, const Json& request, std::string_view verb,
                                  const app::Arguments& arguments, const operations::Callbacks& callbacks) {
  const operations::Context context{
      .config = app::load_config(),
      .database = named_database(arguments),
      .caller = "alphakernel",
      .command = fmt::format("alphakernel {} {}", verb, fmt::join(arguments, " ")),
      .writes_anywhere = true};
  operations::Answer answer =
      operations::call(operations::operation_named(operation), request, context, callbacks);
  if (const std::string note = target_note(answer.content); !note.empty()) print_stderr("note: {}\n", note);
  return answer;
}

void print_json(const operations::Answer& answer) { fmt::print("{}\n", one_line(answer.content)); }

int exit_code_of(const operations::Answer& answer) {
  return static_cast<int>(answer.failed ? ExitCode::no_kernel : ExitCode::ok);
}

std::optional<Json> parse_kernel_request(CLI::App& app, const app::Arguments& arguments,
                                         const std::string& word) {
  const std::filesystem::path database = named_database(arguments);
  std::optional<app::KernelChoice> kernel = named_kernel(app, arguments, database);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return std::nullopt;
  if (word.empty()) return Json::object();
  if (!kernel) kernel = app::choose_kernel(word, database);
  Json request = problem_flags.request(kernel->params);
  if (kernel->variant)
    request["variant"] = *kernel->variant;
  else
    request["path"] = word;
  return request;
}

void add_text(Json& request, const char* name, const std::string& text) {
  if (!text.empty()) request[name] = text;
}

}  // namespace ak::tools
