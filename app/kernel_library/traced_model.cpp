// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/traced_model.h"

#include <utility>

#include "app/kernel_library/operator_problems.h"
#include "app/setup/assembler.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "operator_pattern_files.h"
#include "runtime/reference/reference_process.h"
#include "runtime/reference/reference_starter.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

Json asked(const fs::path& file, const runtime::PythonInstallation& python) {
  runtime::ReferenceLaunch launch{.program = python.program,
                                  .path = python.path,
                                  .readable = python.readable,
                                  .entry = "modelling.operators",
                                  .threads = 1,
                                  .starter = reference_starter()->offer(python)};
  launch.readable.push_back(file.parent_path().string());
  runtime::ReferenceProcess process(launch);
  const Json patterns = parse_json(operator_pattern_files().front().text);
  auto answer = process.ask(
      {{"do", "operators"}, {"file", file.string()}, {"patterns", patterns.at("patterns")}}, kTraceLimit);
  if (!answer) fail(ExitCode::bad_input, "{}: {}", file.string(), answer.error().message);
  return std::move(answer).value();
}

Value param_of(const JsonReader& at) {
  if (at.json().is_boolean()) return std::int64_t{at.boolean()};
  if (at.json().is_number_integer()) return at.integer();
  return at.text();
}

/// What the process says is no more trusted than what a user writes.
ModelOperator line_of(const JsonReader& at, OperatorProblems& problems) {
  ModelOperator line{.name = at.member("operator").text(),
                     .what = at.member("what").text(),
                     .count = at.member("count").integer(),
                     .algorithm = at.member("algorithm").text(),
                     .params = {},
                     .axes = {},
                     .problem = nullptr,
                     .note = {},
                     .flops = at.member("flops").number(),
                     .bytes = at.member("bytes").number()};
  for (const auto& [name, size] : at.member("axes").members()) line.axes[name] = size.integer();
  for (const auto& [name, param] : at.member("params").members()) line.params[name] = param_of(param);
  if (!line.algorithm.empty()) {
    problems.give(line);
    return line;
  }
  line.params["dtype"] = at.member("dtype").text();
  line.note = "no pattern of the library has this operator of PyTorch";
  return line;
}

}  // namespace

TracedModel trace_model(const fs::path& file, const runtime::PythonInstallation& python) {
  const fs::path path = fs::absolute(file).lexically_normal();
  const Json answer = asked(path, python);
  TracedModel traced{
      .step = {.phase = "forward", .batch = 0, .length = 0, .length_name = {}, .operators = {}}, .notes = {}};
  OperatorProblems problems;
  try {
    const JsonReader at(answer);
    for (const JsonReader& row : at.member("operators").items())
      traced.step.operators.push_back(line_of(row, problems));
    for (const JsonReader& note : at.member("notes").items()) traced.notes.push_back(note.text());
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  }
  return traced;
}

}  // namespace ak::app
