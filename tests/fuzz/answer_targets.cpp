// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/answer.h"
#include "agent/llm/api/batch_protocol.h"
#include "agent/llm/api/dialect.h"
#include "agent/llm/api/http_client.h"
#include "agent/llm/coding_agent/agent_usage.h"
#include "agent/llm/mailbox/mailbox.h"
#include "agent/llm/problem_answer.h"
#include "app/problem/draft_examples.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input_files.h"

namespace ak::fuzz {
namespace {

LlmReply read_in_two(const agent::Dialect& dialect, bool is_stream, std::string_view input, std::size_t cut) {
  agent::AnswerReader reader(dialect, is_stream);
  if (reader.feed(input.substr(0, cut))) (void)reader.feed(input.substr(cut));
  return reader.finish();
}

constexpr std::string_view kParent = R"(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["M"], "block": ["B"], "args": ["x", "y", "M"]}],
 "tunables": {"B": {"values": [64, 128], "default": 64}}}
*/
extern "C" __global__ void k(const float* x, float* y, int m) {
  const int i = blockIdx.x * B + threadIdx.x;
  if (i < m) y[i] = 2 * x[i];
}
)";

/// The steps of a batch, each answered by the next line.
void read_batch(const agent::Provider& provider, std::string_view input) {
  std::vector<std::string_view> lines = lines_of(input);
  std::size_t next = 0;
  const agent::BatchProtocol protocol(provider, [&](const agent::HttpRequest&) {
    return agent::PlainAnswer{.body = std::string(next < lines.size() ? lines[next++] : input)};
  });
  const agent::BatchStep created = protocol.create({Json::object()});
  if (created.failure) return;
  agent::BatchStep ended = protocol.look(created.id);
  if (!ended.failure) (void)protocol.results(ended);
}

}  // namespace

/// Where the bytes of an answer are cut must not matter.
void read_answers(std::string_view input) {
  for (const agent::Dialect* dialect : agent::dialects()) {
    for (const bool is_stream : {false, true}) {
      const LlmReply whole = read_in_two(*dialect, is_stream, input, input.size());
      const LlmReply cut = read_in_two(*dialect, is_stream, input, input.size() / 2);
      AK_ASSERT(whole.text == cut.text, "an answer in two pieces has the same text");
      AK_ASSERT(whole.usage.total() == cut.usage.total(), "and the same count of tokens");
      AK_ASSERT(whole.usage.total() >= 0, "no one answers with fewer tokens than none");
    }
  }
}

/// The other answers of a provider: errors, descriptions of models, batches, and when to ask again.
void read_provider_answers(std::string_view input) {
  const Json json = try_parse_json(input);
  for (const long status : {200L, 307L, 400L, 429L, 500L}) (void)agent::read_failure(status, json, input);
  (void)agent::parse_retry_after(input, std::chrono::system_clock::time_point{});
  for (const agent::Provider& provider : agent::builtin_providers()) {
    read_batch(provider, input);
    agent::ModelEntry entry{.provider = provider.name, .name = "m"};
    if (json.is_object()) provider.dialect->read_model(json, entry);
  }
}

/// What a language model wrote, or a coding agent printed.
void read_model_answer(std::string_view input) {
  static const Result<Candidate> parent = parse_candidate("parent.cu", kParent);
  AK_ASSERT(parent.ok(), "the parent is a candidate");
  for (const std::size_t most : {1u, 3u}) {
    const auto candidates = agent::read_answer(input, *parent, "answer", most);
    AK_ASSERT(!candidates || (!candidates->empty() && candidates->size() <= most),
              "an answer has as many candidates as are taken");
  }
  const auto draft = agent::read_problem_answer(input, {});
  AK_ASSERT(!draft || draft->size() == agent::kDraftFileNames.size(), "a draft has its files and no others");
  try {
    AK_ASSERT(!app::read_examples(draft ? draft->at(app::kExamplesFile) : input).empty(),
              "there are examples");
  } catch (const JsonInputError&) {
    // Refused with a reason.
  }
  const agent::AgentUsage usage = agent::printed_usage(input);
  AK_ASSERT(!usage.cost_usd || *usage.cost_usd >= 0, "nobody is paid for answering");
}

/// What lies in a mailbox: an answer, or a question as others may have written it.
void read_mail(std::string_view input) {
  const agent::AnswerLook look = agent::read_answer_file(input, "0001-call1");
  const bool ready = look.state == agent::AnswerLook::State::ready;
  AK_ASSERT(ready ? !look.text.empty() : !look.problem.empty(), "there is an answer, or a reason");
  for (const std::string_view shown : {look.by, look.problem})
    AK_ASSERT(shown == sanitize(shown), "what is shown of an answer obeys no one");
  try {
    const agent::MailQuestion question = agent::read_mail_question(input, "0001.json", 1);
    AK_ASSERT(question.name().size() <= std::string_view("0001-12345678").size(), "a name is a short word");
    AK_ASSERT(question.reason == sanitize(question.reason), "a reason can be shown");
  } catch (const Error& error) {
    AK_ASSERT(error.code() == ExitCode::bad_input, "what is wrong in a file is bad input");
  }
}

}  // namespace ak::fuzz
