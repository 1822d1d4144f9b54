// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/llm/llm_samples.h"

namespace ak::agent::test {
namespace {

// The text is sent both as UTF-8 and as JSON escapes.
Sample anthropic() {
  const std::string usage =
      R"("usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":)";
  std::string stream =
      "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\"," + usage +
      "1}}}\n\n"
      "event: content_block_start\ndata: "
      "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":"
      "\"\"}}\n\n"
      "event: content_block_delta\ndata: "
      "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":"
      "\"hm\"}}\n\n"
      "event: ping\ndata: {\"type\":\"ping\"}\n\n"
      "event: content_block_start\ndata: "
      "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
      "event: content_block_delta\ndata: "
      "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":"
      "\"H\xc3\xa9llo \"}}\n\n"
      "event: content_block_delta\ndata: "
      "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":"
      "\"\\ud83d\\ude00\\n\\\"done\\\"\"}}\n\n"
      "event: something_new\ndata: {\"type\":\"something_new\"}\n\n"
      "event: message_delta\ndata: "
      "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":42}}"
      "\n\n"
      "event: message_stop\ndata: {\"type\":\"message_stop\"}";
  const std::size_t end = stream.size() - 1;
  return {
      find_dialect("anthropic-messages"),
      R"({"id":"msg_1","type":"message","content":[{"type":"thinking","thinking":"hm"},)"
      R"({"type":"text","text":"Héllo "},{"type":"text","text":"\ud83d\ude00\n\"done\""}],"stop_reason":"end_turn",)" +
          usage + "42}}",
      stream + "\n\n", end};
}

Sample chat() {
  const std::string usage =
      R"("usage":{"prompt_tokens":130,"completion_tokens":42,"total_tokens":172,"prompt_tokens_details":{"cached_tokens":100}})";
  const std::string text =
      "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"role\":\"assistant\"}}],\"usage\":null}\n\n"
      ": ping\n\n"
      "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
      "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"content\":\"H\xc3\xa9llo \"}}]}\r\n\r\n"
      "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"content\":\"\\ud83d\\ude00\\n\\\"done\\\"\"}}]}\n\n"
      "data: {\"id\":\"c1\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}";
  return {
      find_dialect("openai-chat"),
      R"({"id":"c1","choices":[{"message":{"role":"assistant","reasoning":"hm","content":"Héllo \ud83d\ude00\n\"done\""},"finish_reason":"stop"}],)" +
          usage + "}",
      text + "\n\ndata: {\"id\":\"c1\",\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n", text.size() - 1};
}

Sample responses() {
  const std::string whole =
      R"({"id":"resp_1","status":"completed","error":null,"output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"Héllo \ud83d\ude00\n\"done\""}]}],)"
      R"("usage":{"input_tokens":130,"input_tokens_details":{"cached_tokens":100},"output_tokens":42,"total_tokens":172}})";
  std::string stream =
      "event: response.created\ndata: "
      "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{}}\n\n"
      "event: response.output_text.delta\ndata: "
      "{\"type\":\"response.output_text.delta\",\"delta\":\"H\xc3\xa9llo \"}\n\n"
      "event: response.output_text.delta\ndata: "
      "{\"type\":\"response.output_text.delta\",\"delta\":\"\\ud83d\\ude00\\n\\\"done\\\"\"}\n\n"
      "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":" +
      whole + "}";
  const std::size_t end = stream.size() - 1;
  return {find_dialect("openai-responses"), whole, stream + "\n\n", end};
}

}  // namespace

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all{anthropic(), chat(), responses()};
  return all;
}

}  // namespace ak::agent::test
