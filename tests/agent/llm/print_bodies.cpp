// SPDX-License-Identifier: Apache-2.0
// Prints every form of request that providers are sent, a JSON object a line,
// for scripts/check/check_providers.sh: llm_bodies
#include <fmt/core.h>

#include "agent/llm/api/model_info_client.h"

using namespace ak;

namespace {

constexpr int kSwitches = 7;

/// A request and a model with what the bits of `switches` say.
void print(const agent::Dialect& dialect, unsigned switches) {
  const auto on = [&](int bit) { return (switches >> bit & 1) != 0; };
  LlmRequest request{.model = "m", .system = "", .messages = {{"user", "What is \"fast\"?\n\xc3\xa9"}}};
  agent::ModelEntry model{.provider = "p", .name = "m", .stream = on(0)};
  if (on(1)) request.system = "Be brief.";
  if (on(2)) request.temperature = 0.5;
  if (on(3)) request.effort = "high";
  if (on(4)) request.stop = {"END"};
  if (on(5)) request.max_output_tokens = 1;
  if (on(6)) {
    request.messages.push_back({"assistant", "This."});
    request.messages.push_back({"user", "And?"});
  }
  model.temperature = model.stop = true;
  model.efforts = {"low", "high"};
  for (const bool compatible : {false, true})
    fmt::print("{}\n", Json{{"dialect", dialect.name},
                            {"compatible", compatible},
                            {"body", dialect.body(request, model, compatible)}}
                           .dump());
  if (!dialect.count_path.empty())
    fmt::print("{}\n", Json{{"dialect", fmt::format("{} count", dialect.name)},
                            {"body", agent::body_to_count(dialect.body(request, model, false))}}
                           .dump());
}

}  // namespace

int main() {
  for (const agent::Dialect* dialect : agent::dialects()) {
    for (unsigned switches = 0; switches < 1u << kSwitches; ++switches) print(*dialect, switches);
  }
}
