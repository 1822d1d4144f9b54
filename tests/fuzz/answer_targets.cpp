// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/dialect.h"
#include "core/error.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

LlmReply read_in_two(const agent::Dialect& dialect, bool is_stream, std::string_view input, std::size_t cut) {
  agent::AnswerReader reader(dialect, is_stream);
  if (reader.feed(input.substr(0, cut))) (void)reader.feed(input.substr(cut));
  return reader.finish();
}

}  // namespace

/// Where the bytes of an answer are cut must not matter.
void read_answers(std::string_view input) {
  for (const agent::Dialect* dialect : agent::dialects()) {
    for (const bool is_stream : {false, true}) {
      const LlmReply whole = read_in_two(*dialect, is_stream, input, input.size());
      const LlmReply cut = read_in_two(*dialect, is_stream, input, input.size() / 2);
      AK_ASSERT(whole.text == cut.text, "an answer in two pieces has the same text");
      AK_ASSERT(whole.usage.input_tokens == cut.usage.input_tokens, "and the same count of tokens");
    }
  }
}

}  // namespace ak::fuzz
