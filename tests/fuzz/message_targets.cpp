// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/message/message_reader.h"
#include "core/text/json_line.h"
#include "runtime/process/device_messages.h"
#include "runtime/process/worker_protocol.h"
#include "serve/mcp/json_rpc.h"
#include "serve/stdio/stdio_message.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

// Small, so that lines beyond the limit occur.
constexpr std::size_t kLineBytes = 512;

/// Half of it, then the rest: where a stream is cut must not matter.
std::pair<std::string_view, std::string_view> halves(std::string_view input) {
  const std::size_t half = input.size() / 2;
  return {input.substr(0, half), input.substr(half)};
}

void read_line(const std::string& line) {
  const auto json = parse_json_line(line);
  if (!json) return;
  (void)mcp::read_message(*json);
  AK_ASSERT(parse_json_line(one_line(*json)).ok(), "a line that was written can be read");
}

/// What was read is written and read again.
template <class T>
void read_body(const Json& json, T (*read)(const Json&)) {
  try {
    const Json written = to_json(read(json));
    AK_ASSERT(to_json(read(written)) == written, "a body that was written is the same");
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
}

}  // namespace

/// Bodies of messages between parent and device worker.
void read_device_message(std::string_view input) {
  const Json json = try_parse_json(input);
  if (json.is_discarded()) return;
  read_body(json, runtime::open_problem_from_json);
  read_body(json, runtime::device_task_from_json);
  read_body(json, runtime::device_answer_from_json);
}

void read_stdio_request(std::string_view input) { (void)stdio::read_request(input); }

void read_worker_message(std::string_view input) {
  runtime::LineReader reader(kLineBytes);
  const auto [first, second] = halves(input);
  if (!reader.feed(first) || !reader.feed(second)) return;
  while (const auto line = reader.next()) {
    const Result<runtime::WorkerMessage> message = runtime::decode(*line, "");
    if (!message) continue;
    AK_ASSERT(runtime::decode(runtime::encode(*message, "nonce"), "nonce").ok(),
              "a message that was written can be read");
  }
}

void read_json_rpc(std::string_view input) {
  MessageReader reader(kLineBytes);
  const auto [first, second] = halves(input);
  reader.feed(first);
  reader.feed(second);
  while (const auto line = reader.next()) {
    if (const auto* text = std::get_if<std::string>(&*line)) read_line(*text);
  }
}

}  // namespace ak::fuzz
