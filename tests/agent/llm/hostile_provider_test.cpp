// SPDX-License-Identifier: Apache-2.0
// Providers that misbehave in every way that we know: a row a way (hostile_modes.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "agent/llm/api/http_client.h"
#include "agent/llm/api/recording.h"
#include "core/text/shown_text.h"
#include "hostile_modes.h"
#include "tests/agent/llm/secret_forms.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::agent {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr int kAttempts = 3, kMaxOutputTokens = 4000;

LlmRequest hostile_request() {
  return {.model = "m",
          .system = "be brief",
          .messages = {{"user", "hello"}},
          .max_output_tokens = kMaxOutputTokens};
}

/// A client of the mode's server, as a user of a local server has it.
HttpLlmClient client_of_mode(const HostileMode& mode, const FakeServer& server) {
  Provider provider{
      .name = "local", .dialect = find_dialect("openai-chat"), .url = server.url(), .compatible = true};
  if (mode.tls) provider.url.replace(0, 4, "https");
  ModelEntry model{.provider = "local", .name = "m"};
  model.price = ModelPrice{.input = 1, .output = 10, .cache_read = 0.1, .cache_write = 2};
  HttpLimits limits{.idle = mode.silent ? 100ms : testing::kPatience, .max_bytes = 300'000};
  const int attempts = mode.silent ? 1 : kAttempts;
  return {provider,
          kHostileKey,
          model,
          {.max_attempts = attempts, .first = 1ms, .longest = 2ms, .patience = 1000ms},
          limits};
}

/// Characters of the key, in any form, that are together in `text`.
std::size_t leaked(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string& form : secret_forms(kHostileKey)) {
    for (std::size_t at = 0; at < form.size(); ++at) {
      while (at + longest < form.size() && text.find(form.substr(at, longest + 1)) != std::string::npos)
        ++longest;
    }
  }
  return longest;
}

void check_shown(const std::string& text) {
  CHECK(leaked(text) < 12);
  CHECK(shown_text(text) == text);
}

TEST_CASE(
    "no way in which a provider misbehaves leaks a key, an escape or money, and each ends as documented") {
  FakeServer other({{.pieces = {{response(200, "{}")}}}});
  const testing::TemporaryFolder folder;
  const std::vector<HostileMode> modes = hostile_modes(other.url());
  CHECK(modes.size() >= 80);
  for (const HostileMode& mode : modes) {
    CAPTURE(mode.name);
    FakeServer server(mode.scripts);
    const std::filesystem::path record = folder / "record.jsonl";
    std::filesystem::remove(record);
    RecordingClient client(std::make_shared<HttpLlmClient>(client_of_mode(mode, server)), record);
    const LlmReply reply = client.ask(hostile_request(), nullptr);
    const std::string_view ended = reply.failure ? info(reply.failure->fault).name : "ok";
    INFO((reply.failure ? reply.failure->message : reply.text));
    // On a slow machine a silent server is given up before its answer begins.
    if (mode.silent)
      CHECK((ended == "cut_short" || ended == "timeout"));
    else
      CHECK(ended == mode.ends);
    check_shown(reply.failure ? reply.failure->message : "");
    check_shown(reply.request_id);
    check_shown(reply.note);
    CHECK(leaked(reply.text) < 12);
    CHECK(leaked(reply.raw) < 12);
    CHECK(leaked(read_file(record)) < 12);
    CHECK(server.requests().size() <= kAttempts);
    // What was reserved for the request: its prompt and the longest answer.
    if (reply.ok()) CHECK(reply.usage.total() < 2 * estimated_tokens(hostile_request()) + kMaxOutputTokens);
    CHECK(reply.cost_usd.value_or(0) < 1);
    CHECK(reply.usage.cached_tokens <= reply.usage.input_tokens);
  }
  CHECK(other.requests().empty());
}

}  // namespace
}  // namespace ak::agent
