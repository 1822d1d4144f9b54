// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/gate.h"
#include "core/stage.h"

namespace ak {

/// How an evaluation ended. Stored by name (to_string), never renamed.
enum class Status : std::uint8_t {
  ok,
  compiled_only,
  pruned,
  duplicate,
  invalid_candidate,
  compile_error,
  resource_exceeded,
  launch_error,
  memory_error,
  race,
  hang,
  timeout,
  out_of_memory,
  unsupported,
  incorrect,
  nondeterministic,
  integrity_violation,
  below_floor,
  invalid_reference,
  interrupted,
  infrastructure_error,
};

struct StatusInfo {
  Status status;
  std::string_view name;
  std::string_view meaning;           ///< one line, for people and prompts
  std::string_view flashinfer_bench;  ///< nearest FlashInfer-Bench status, or empty where there is none
  bool candidate_fault;               ///< true: retrying the same candidate gives the same end
};

[[nodiscard]] std::span<const StatusInfo> statuses();
[[nodiscard]] std::string_view to_string(Status status);
[[nodiscard]] std::optional<Status> parse_status(std::string_view name);
[[nodiscard]] const StatusInfo& info(Status status);
/// It passed all gates, or is a duplicate of one that did: of equal programs only the first is run.
[[nodiscard]] constexpr bool is_verified(Status status) {
  return status == Status::ok || status == Status::duplicate;
}

/// One finding about a candidate, in words suitable for a person and a prompt.
struct Diagnostic {
  std::string severity;  ///< "error", "warning", "note"
  std::string message;   ///< control characters already stripped
  int line = 0;          ///< 1-based line in the candidate; 0 when not known
  int column = 0;
  std::string details = {};  ///< the finding as data, a JSON object; empty when there is no more to say
  std::optional<Gate> gate = std::nullopt;  ///< of a finding before anything runs
};

struct Outcome {
  Status status = Status::infrastructure_error;
  StageId stage = StageId::pre_check;
  std::string message;  ///< one line: what happened and what to do; empty for ok
  std::vector<Diagnostic> diagnostics;
  std::optional<Gate> gate = std::nullopt;  ///< what stopped it; nothing for ok and for what is not a verdict
};

/// The diagnostics that the message does not already say, one line each, indented by two spaces.
[[nodiscard]] std::string further_findings(const Outcome& outcome);
/// Everything that is known, for a person or a prompt: the status and what it means, the message, and the
/// further findings, and which gate stopped it. At most 6 kB; control characters are stripped.
[[nodiscard]] std::string explain(const Outcome& outcome);

}  // namespace ak
