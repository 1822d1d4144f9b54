// SPDX-License-Identifier: Apache-2.0
#include "app/llm/agent_calls.h"

#include <array>
#include <utility>

#include "agent/llm/coding_agent/trial_files.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxQuestionBytes = 64u << 20;  // as of any file

/// As an answer would have it.
std::string trial_text(const fs::path& folder, const Json& request) {
  const auto given = [&](const char* name) { return request.contains(name) ? 1 : 0; };
  if (given("source") + given("path") + given("tunables") != 1)
    fail(ExitCode::usage, "say what to evaluate: exactly one of source, path and tunables");
  if (given("source")) return request["source"].get<std::string>();
  if (given("tunables")) return "```json\n" + Json{{"tunables", request["tunables"]}}.dump() + "\n```\n";
  return read_file(file_inside(folder, request["path"].get<std::string>()), kMaxCandidateBytes);
}

/// Throws Error(bad_input) where the search does not let it.
Json ask(const fs::path& folder, const Json& request) {
  Json answer = agent::ask_search(folder, request);
  if (const auto refused = answer.find("refused"); refused != answer.end() && refused->is_string())
    fail(ExitCode::bad_input, "{}", refused->get<std::string>());
  return answer;
}

/// Where the search runs its kernels, and on what. Whether the problem's audit is needed was decided for the search.
void add_target(const fs::path& folder, Json& request) {
  const Json question = try_parse_json(read_file(folder / "question.json", kMaxQuestionBytes));
  if (!question.is_object()) fail(ExitCode::bad_input, "question.json is no question");
  constexpr std::array kNames{std::pair{"device", "device_option"}, std::pair{"arch", "arch"}};
  for (const auto& [name, from] : kNames)
    if (question.contains(from) && question[from] != "") request[name] = question[from];
  // Of several they are the problem's own, which the profile chooses from.
  const Json shapes = question.value("shapes", Json());
  if (shapes.is_array() && shapes.size() == 1) request["shape"] = shapes.front();
  request["unaudited"] = true;
}

}  // namespace

operations::Answer evaluate_for_agent(const fs::path& folder, const Json& request) {
  Json answer = ask(folder, {{"tool", "evaluate"}, {"text", trial_text(folder, request)}});
  const bool passed = answer.value("passed", false);
  return {.content = std::move(answer), .failed = !passed};
}

operations::Answer run_for_agent(const fs::path& folder, const operations::Operation& operation, Json request,
                                 const operations::Context& context, const operations::Callbacks& callbacks) {
  // What is stored is explained from what is stored: with a device it would be evaluated again.
  if (operation.name == "profile") {
    static_cast<void>(ask(folder, {{"tool", operation.name}}));
    add_target(folder, request);
  }
  return operations::call(operation, request, context, callbacks);
}

}  // namespace ak::app
