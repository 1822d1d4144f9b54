// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/api/model_catalog.h"
#include "agent/llm/api/redact.h"
#include "agent/llm/api/sse.h"
#include "core/llm.h"
#include "core/text/json.h"

namespace ak::agent {

/// An answer while it arrives.
struct AnswerReading {
  LlmReply reply;  ///< as it was sent; `failure` is not used
  std::optional<ForeignFailure> failure = {};
  std::string refusal = {};  ///< the model declines in these words; more may come
  bool complete = false;     ///< the provider has said that this is all
  bool may_end = false;      ///< the text is complete, but more may come (usage)
};

/// How a provider wants to be asked, and how it answers. All functions are pure, and readers take whatever
/// JSON comes: what they do not know they pass over.
struct Dialect {
  std::string_view name;  ///< in the configuration file
  std::string_view path;  ///< after the base address
  std::vector<std::pair<std::string, std::string>> headers;
  /// @param compatible the server imitates this dialect: only what they all take is sent
  Json (*body)(const LlmRequest& request, const ModelEntry& model, bool compatible);
  void (*read_event)(std::string_view event, const Json& data, AnswerReading& reading);
  void (*read_whole)(const Json& body, AnswerReading& reading);
  std::string_view models_path;  ///< before a model's name: what the provider says of it
  void (*read_model)(const Json& body, ModelEntry& entry);
  std::string_view count_path = {};  ///< counts the tokens of a request; empty: nothing does
};
/// All of them, in the order of the table in agent/CMakeLists.txt; each row is a file in agent/llm/api/dialects/.
[[nodiscard]] std::span<const Dialect* const> dialects();
/// nullptr: there is none of this name.
[[nodiscard]] const Dialect* find_dialect(std::string_view name);

/// OpenAI itself says nothing of a model's limits; vLLM and gateways do.
void read_openai_model(const Json& body, ModelEntry& entry);

/// Fields of a request that may be left out when a server rejects them.
[[nodiscard]] std::span<const std::string_view> optional_fields();

/// What an error body means. `body` is discarded or null JSON where it was none; `raw` is shown then.
/// @param status of HTTP; 200: the error came inside of an answer
[[nodiscard]] ForeignFailure read_failure(long status, const Json& body, std::string_view raw);

/// Collects one answer of either form; what comes out is redacted. Used by one thread.
class AnswerReader {
 public:
  AnswerReader(const Dialect& dialect, bool is_stream, Redactor redactor = {});
  /// False when nothing more is wanted.
  [[nodiscard]] bool feed(std::string_view bytes);
  /// The bytes have ended: the answer, or `cut_short` or `malformed`.
  [[nodiscard]] LlmReply finish();

 private:
  void read(const SseEvent& event);
  void note_pieces(const std::string& place, const Json& json);
  void read_whole();
  [[nodiscard]] std::string kept_bytes() const;

  const Dialect& dialect_;
  Redactor redactor_;
  bool is_stream_, ending_ = false;
  AnswerReading reading_;
  SseParser events_;
  std::string raw_;
  std::map<std::string, std::string> pieces_;  ///< by place in an event: what all events have there, joined
};

// Access to JSON that no one promised anything about.
/// The member, or null JSON.
[[nodiscard]] const Json& member(const Json& json, std::string_view key);
[[nodiscard]] std::string text_of(const Json& json, std::string_view key);  ///< empty when it is not text
/// 0 when it is no integer; -1 for one below 0, and one more than kMaxTokens (core/token_counts.h) for one above it.
[[nodiscard]] std::int64_t count_of(const Json& json, std::string_view key);

}  // namespace ak::agent
