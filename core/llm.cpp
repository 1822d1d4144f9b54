// SPDX-License-Identifier: Apache-2.0
#include "core/llm.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace ak {
namespace {

// Spellings stored in the database: never renamed.
constexpr std::array<std::string_view, 4> kStopNames{"end", "length", "stop_sequence", "other"};

constexpr std::array kFaults{
    LlmFaultInfo{LlmFault::rate_limited, "rate_limited", "too many requests for now", true, false},
    LlmFaultInfo{LlmFault::overloaded, "overloaded", "the provider is at capacity", true, false},
    LlmFaultInfo{LlmFault::unreachable, "unreachable", "no connection", true, false},
    LlmFaultInfo{LlmFault::timeout, "timeout", "silent for too long", true, false},
    LlmFaultInfo{LlmFault::cut_short, "cut_short", "the answer broke off", false, false},
    LlmFaultInfo{LlmFault::malformed, "malformed", "the response is not an answer", false, false},
    LlmFaultInfo{LlmFault::auth, "auth", "the key is missing, wrong or not allowed this", false, true},
    LlmFaultInfo{LlmFault::quota, "quota", "no money or quota is left", false, true},
    LlmFaultInfo{LlmFault::no_model, "no_model", "the provider does not know this model or address", false,
                 true},
    LlmFaultInfo{LlmFault::too_long, "too_long", "the request is longer than the model takes", false, false},
    LlmFaultInfo{LlmFault::rejected, "rejected", "the provider does not accept the request", false, false},
    LlmFaultInfo{LlmFault::refused, "refused", "the model declined to answer", false, false},
    LlmFaultInfo{LlmFault::cancelled, "cancelled", "the run was stopped", false, true},
    LlmFaultInfo{LlmFault::exhausted, "exhausted", "no recorded answer is left", false, true},
    LlmFaultInfo{LlmFault::withdrawn, "withdrawn", "the question became stale before it was answered", false,
                 false},
};

}  // namespace

std::string_view to_string(LlmStop stop) { return kStopNames.at(static_cast<std::size_t>(stop)); }

LlmStop parse_llm_stop(std::string_view name) {
  const auto found = std::ranges::find(kStopNames, name);
  return found == kStopNames.end() ? LlmStop::other : static_cast<LlmStop>(found - kStopNames.begin());
}

const LlmFaultInfo& info(LlmFault fault) {
  const LlmFaultInfo& row = kFaults.at(static_cast<std::size_t>(fault));
  AK_ASSERT(row.fault == fault, "the table of faults is in the order of the enumeration");
  return row;
}

std::optional<LlmFault> parse_llm_fault(std::string_view name) {
  const auto found = std::ranges::find(kFaults, name, &LlmFaultInfo::name);
  return found == kFaults.end() ? std::nullopt : std::optional(found->fault);
}

std::int64_t estimated_tokens(const LlmRequest& request) {
  std::int64_t tokens = estimated_tokens(request.system);
  for (const LlmMessage& message : request.messages) tokens += estimated_tokens(message.text);
  return tokens;
}

}  // namespace ak
