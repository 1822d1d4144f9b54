// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>

#include "app/operations/clients/client_texts.h"
#include "app/operations/operation_schema.h"
#include "app/setup/config.h"
#include "app/setup/interrupt.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/json_line.h"
#include "serve/stdio/stdio_server.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kOperationsExamples =
    "Examples:\n"
    "  alphakernel operations\n"
    "  alphakernel operations --json\n"
    "Every operation: docs/operations.md\n";
constexpr const char* kCallExamples =
    "Examples:\n"
    "  alphakernel operations call show_devices\n"
    "  alphakernel operations call query '{\"sql\": \"SELECT * FROM leaderboard\"}'\n"
    "  alphakernel operations call evaluate_kernel request.json      # - reads standard input\n"
    "Every operation: docs/operations.md\n";
constexpr const char* kServeExamples =
    "Examples:\n"
    "  alphakernel operations serve       # requests and answers, a JSON object a line: docs/library.md\n";

operations::Context operation_context(const std::string& database) {
  const app::Config config = app::load_config();
  return {
      .config = config, .database = app::database_file(database, config), .caller = "alphakernel operations"};
}

void list_operations() {
  for (const operations::Operation& operation : operations::all_operations())
    fmt::print("{}  {}\n    {}\n", operation.name, operations::effects_text(operation.effects),
               operation.summary);
}

/// @param given the request itself, which begins with a brace as no name of a file does; a file; "-"
Json request_of(const std::string& given) {
  if (given.empty()) return Json::object();
  const bool itself = given.starts_with('{');
  const Result<Json> json = parse_json_line(itself         ? given
                                            : given == "-" ? read_standard_input()
                                                           : read_file(given));
  if (!json)
    fail(ExitCode::bad_input, "{}: {}",
         itself         ? "the request"
         : given == "-" ? "standard input"
                        : given,
         json.error().message);
  return *json;
}

int call_named(const std::string& name, const std::string& request_text, const std::string& database) {
  const operations::Operation& operation = operations::operation_named(name);
  const Json request = request_of(request_text);
  const app::InterruptGuard interrupt;
  const operations::Answer answer =
      operations::call(operation, request, operation_context(database), {.stop = &interrupt.requested()});
  fmt::print("{}\n", one_line(answer.content));
  return static_cast<int>(answer.failed ? ExitCode::no_kernel : ExitCode::ok);
}

int serve_operations(const std::string& database) {
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is seen where its answer is written
  const app::InterruptGuard interrupt;
  stdio::Server(STDIN_FILENO, STDOUT_FILENO, operation_context(database), interrupt.requested()).run();
  return static_cast<int>(interrupt.requested() ? ExitCode::interrupted : ExitCode::ok);
}

int run_operations(const app::Arguments& arguments) {
  CLI::App app{
      "What other programs can ask AlphaKernel to do: list it, call one operation, or serve a program.",
      "alphakernel operations"};
  set_style(app, kOperationsExamples);
  std::string name, file, database;
  bool json = false, cpp = false, python = false, markdown = false;
  app.add_flag("--json", json, "print the table with a JSON Schema of every request and answer");
  app.add_flag("--cpp", cpp, "print include/alphakernel/operations.h");
  app.add_flag("--python", python, "print python/alphakernel/operations.py");
  app.add_flag("--markdown", markdown, "print docs/operations.md");
  CLI::App* called =
      add_subcommand(app, "call", "Run one operation and print its answer as JSON.", kCallExamples);
  called->add_option("name", name, "the operation")->required();
  called->add_option("request", file,
                     "the request, a JSON object, or a file with it; -: standard input; none: {}");
  called->add_option("--db", database, "performance database");
  CLI::App* served = add_subcommand(
      app, "serve", "Answer requests from standard input on standard output until it ends.", kServeExamples);
  served->add_option("--db", database, "performance database");
  if (!parse(app, arguments)) return 0;
  if (called->parsed()) return call_named(name, file, database);
  if (served->parsed()) return serve_operations(database);
  if (json) fmt::print("{}\n", operations::operations_json().dump(2));
  if (cpp) fmt::print("{}", operations::cpp_header());
  if (python) fmt::print("{}", operations::python_module());
  if (markdown) fmt::print("{}", operations::operations_page());
  if (!json && !cpp && !python && !markdown) list_operations();
  return 0;
}

}  // namespace

const Verb kOperationsVerb{"operations",
                           "what other programs can ask for: list it, call one, or serve a program",
                           run_operations, kServeVerbs};

}  // namespace ak::tools
