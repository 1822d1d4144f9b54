// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/launch_plan.h"
#include "core/text/json.h"

namespace ak {

struct LlmMessage {
  std::string role;  ///< "user" or "assistant"
  std::string text;
};

/// One question to a language model. What a model does not take (temperature, say) is left out when
/// it is sent.
struct LlmRequest {
  std::string model;   ///< as the provider spells it
  std::string system;  ///< the part that stays the same from request to request: providers keep it in a cache
  std::vector<LlmMessage> messages;
  int max_output_tokens = 0;
  std::optional<double> temperature = {};
  std::vector<std::string> stop = {};
  std::string effort = {};  ///< how long a reasoning model thinks: "low", "high"; empty: its default
  /// What the question is about, for who answers outside of an API (docs/mailbox.md); not part of what is asked.
  Json about = {};
};

/// What names a question of a search in every copy of its database.
struct QuestionName {
  std::string search;
  std::string id;  ///< empty: every question of the search
};

/// How an answer ended. Stored by name.
enum class LlmStop : std::uint8_t { end, length, stop_sequence, other };
[[nodiscard]] std::string_view to_string(LlmStop stop);
[[nodiscard]] LlmStop parse_llm_stop(std::string_view name);  ///< `other` for what is not name

/// Why there is no answer. Stored by name.
enum class LlmFault : std::uint8_t {
  rate_limited,
  overloaded,
  unreachable,
  timeout,
  cut_short,
  malformed,
  auth,
  quota,
  no_model,
  too_long,
  rejected,
  refused,
  cancelled,
  exhausted,
  withdrawn,
};
struct LlmFaultInfo {
  LlmFault fault;
  std::string_view name, meaning;
  bool retry;      ///< the same request may be answered when it is sent again
  bool permanent;  ///< no other request of the run will be answered either
};
[[nodiscard]] const LlmFaultInfo& info(LlmFault fault);
[[nodiscard]] std::optional<LlmFault> parse_llm_fault(std::string_view name);

struct LlmFailure {
  LlmFault fault = LlmFault::malformed;
  std::string message;  ///< one line, keys redacted
};

/// What was billed. Providers count differently; here `input_tokens` are all tokens of the request.
struct LlmUsage {
  std::int64_t input_tokens = 0;
  std::int64_t cached_tokens = 0;         ///< of these, read from the provider's cache
  std::int64_t cache_written_tokens = 0;  ///< of these, written to it
  std::int64_t output_tokens = 0;         ///< thinking included
  bool reported = false;                  ///< false: estimated from the texts

  [[nodiscard]] std::int64_t total() const { return input_tokens + output_tokens; }
};

struct LlmReply {
  std::string text;  ///< thinking left out
  LlmStop stop = LlmStop::other;
  LlmUsage usage = {};
  std::optional<double> cost_usd = {};  ///< nothing when the model has no price
  std::string request_id = {};          ///< the provider's
  std::string raw = {};                 ///< bytes of the answer as received, keys redacted
  std::string note = {};                ///< what the user should know though there is an answer
  int attempts = 1;
  std::optional<LlmFailure> failure = {};  ///< when set, `text` is what had come until then

  [[nodiscard]] bool ok() const { return !failure; }
};

/// About how many tokens a text is: four bytes each, the usual rule of thumb; not measured.
[[nodiscard]] constexpr std::int64_t estimated_tokens(std::string_view text) {
  return static_cast<std::int64_t>((text.size() + 3) / 4);
}
[[nodiscard]] std::int64_t estimated_tokens(const LlmRequest& request);

/// A kernel that a coding agent wants evaluated before it answers (docs/coding_agents.md).
struct LlmTrial {
  std::uint64_t ticket = 0;
  std::string text;  ///< in one of the forms of an answer
  /// Of an earlier process of the search: `text` is the kernel's file, with these values.
  std::optional<TunableValues> tunables = {};
};

/// One question, one answer. Failures are values. May be called from any thread, by one at a time.
class LlmClient {
 public:
  virtual ~LlmClient() = default;
  /// Blocks until there is an answer or a failure, retrying what may pass.
  /// @param cancelled may be null; ends the call as `cancelled` within a second of becoming true
  [[nodiscard]] virtual LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) = 0;
  /// The next answer is known from an earlier process: what answers from a list continues behind it.
  virtual void pass_over(const LlmReply& /*known*/) {}
  /// Questions outlive the process that asks them: what was not answered is asked again by the next one, under the same
  /// name, and may have an answer by then.
  [[nodiscard]] virtual bool keeps_questions() const { return false; }
  /// The question that is asked now is one of those, and no answer to it is there yet.
  [[nodiscard]] virtual bool is_waiting() const { return false; }
  /// An answer of an earlier process to this request is due at this point of its search: it is here in a moment.
  [[nodiscard]] virtual bool owes_answer(const LlmRequest& /*request*/) const { return false; }
  /// Who answers is told what a question is about, beside its text.
  [[nodiscard]] virtual bool takes_facts() const { return keeps_questions(); }
  /// A kernel that who works on the question wants evaluated now. May be called while another thread asks.
  [[nodiscard]] virtual std::optional<LlmTrial> take_trial() { return std::nullopt; }
  /// What came of it, an object for the one who asked; where it "passed" it has "time_ns". From the same thread as
  /// take_trial(); of a question that is over it does nothing.
  virtual void answer_trial(std::uint64_t /*ticket*/, Json /*result*/) {}
  /// Nobody waits for these answers any more. Who may still be at work on them is told why. A question that has its
  /// answer by now is left alone where it alone is named. May be called while another thread asks.
  virtual void withdraw(const QuestionName& /*name*/, std::string_view /*why*/) {}
};

}  // namespace ak
