// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"

#include <array>

#include "core/error.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

// In the order of Status, which info() relies on and outcome_test checks.
constexpr std::array kStatuses{
    StatusInfo{Status::ok, "ok", "built, correct on every workload and timed", "PASSED", false},
    StatusInfo{Status::compiled_only, "compiled_only",
               "built for an architecture that no device here can run; not executed", "", false},
    StatusInfo{Status::pruned, "pruned",
               "left early: predicted or first measured to be much slower than the best", "", false},
    StatusInfo{Status::duplicate, "duplicate",
               "the same source or the same machine code was evaluated before", "", true},
    StatusInfo{Status::invalid_candidate, "invalid_candidate",
               "the launch plan or the source breaks the rules of a candidate", "COMPILE_ERROR", true},
    StatusInfo{Status::compile_error, "compile_error", "the compiler rejected the source", "COMPILE_ERROR",
               true},
    StatusInfo{Status::resource_exceeded, "resource_exceeded",
               "needs more registers, shared memory or threads than the architecture has", "RUNTIME_ERROR",
               true},
    StatusInfo{Status::launch_error, "launch_error", "the driver refused the launch or the kernel trapped",
               "RUNTIME_ERROR", true},
    StatusInfo{Status::memory_error, "memory_error",
               "read or wrote memory that it must not, or that nothing has written, or misaligned",
               "RUNTIME_ERROR", true},
    StatusInfo{Status::race, "race", "threads used the same memory without synchronisation", "RUNTIME_ERROR",
               true},
    StatusInfo{Status::hang, "hang", "made no progress: a barrier or a loop that never ends", "TIMEOUT",
               true},
    StatusInfo{Status::timeout, "timeout", "compiling or running took longer than its deadline", "TIMEOUT",
               true},
    StatusInfo{Status::out_of_memory, "out_of_memory",
               "compiling or running needed more memory than there is", "RUNTIME_ERROR", true},
    StatusInfo{Status::unsupported, "unsupported",
               "uses a feature that the device or the emulator does not have", "RUNTIME_ERROR", true},
    StatusInfo{Status::incorrect, "incorrect",
               "an output differs from the reference by more than the tolerance", "INCORRECT_NUMERICAL",
               true},
    StatusInfo{Status::nondeterministic, "nondeterministic", "the same inputs gave different outputs",
               "INCORRECT_NUMERICAL", true},
    StatusInfo{Status::integrity_violation, "integrity_violation",
               "changed an input, wrote past an output, or did other work when timed than when checked",
               "RUNTIME_ERROR", true},
    StatusInfo{Status::below_floor, "below_floor",
               "faster than the memory traffic and operations of the problem allow: work was skipped",
               "RUNTIME_ERROR", true},
    StatusInfo{Status::invalid_reference, "invalid_reference",
               "the reference itself failed; the problem is at fault", "", false},
    StatusInfo{Status::interrupted, "interrupted", "stopped before it ended", "", false},
    StatusInfo{Status::infrastructure_error, "infrastructure_error",
               "a worker, the device or the driver failed; not the candidate's fault", "", false},
};

}  // namespace

std::span<const StatusInfo> statuses() { return kStatuses; }

const StatusInfo& info(Status status) {
  const auto index = static_cast<std::size_t>(status);
  AK_ASSERT(index < kStatuses.size() && kStatuses[index].status == status,
            "every Status has its row in kStatuses");
  return kStatuses[index];
}

std::string_view to_string(Status status) { return info(status).name; }

std::optional<Status> parse_status(std::string_view name) {
  for (const StatusInfo& entry : kStatuses) {
    if (entry.name == name) return entry.status;
  }
  return std::nullopt;
}

std::string further_findings(const Outcome& outcome) {
  std::string text;
  for (const Diagnostic& d : outcome.diagnostics) {
    if (outcome.message.starts_with(d.message)) continue;
    // A finding of the CPU device begins with its place.
    const bool placed = d.line == 0 || !d.details.empty();
    text += "  " + d.severity + (placed ? "" : " (line " + std::to_string(d.line) + ")") + ": " + d.message +
            "\n";
  }
  return text;
}

std::string explain(const Outcome& outcome) {
  std::string text =
      std::string(to_string(outcome.status)) + ": " + std::string(info(outcome.status).meaning);
  if (!outcome.message.empty()) text += "\n" + outcome.message;
  if (outcome.gate)
    text += "\nStopped by the gate '" + std::string(to_string(*outcome.gate)) +
            "': " + std::string(info(*outcome.gate).promise) + ".";
  constexpr std::size_t kMaxBytes = 6'000;  // of a prompt that holds source code too (chosen)
  return sanitize(text + "\n" + further_findings(outcome), kMaxBytes);
}

}  // namespace ak
