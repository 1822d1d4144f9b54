// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ak {

/// What is between a candidate and a verdict it has not earned. Stored by name, never renamed.
enum class Gate : std::uint8_t {
  source_rules,
  includes,
  compile_limits,
  untrusted_text,
  precision,
  plan_bounds,
  argument_types,
  resources,
  context_limits,
  private_protocol,
  launch_errors,
  hang_watchdog,
  unmapped_reference,
  memory_checker,
  initialised_reads,
  race_detector,
  barrier_checker,
  poison,
  guard_bands,
  input_hash,
  tolerance,
  non_finite,
  distributions,
  shapes,
  repeat_bitwise,
  weights_only,
  prepared_memory,
  module_reload,
  fresh_contents,
  shuffled_batch,
  timed_outputs,
  persisting_l2,
  floor,
  held_out,
  problem_audit,
};

enum class GateDevices : std::uint8_t { both, gpu, cpu };

struct GateInfo {
  Gate gate;
  std::string_view name;
  GateDevices devices;
  std::string_view promise;  ///< one line, for people and prompts
};

[[nodiscard]] std::span<const GateInfo> gates();
[[nodiscard]] const GateInfo& info(Gate gate);
[[nodiscard]] std::string_view to_string(Gate gate);
[[nodiscard]] std::string_view to_string(GateDevices devices);  ///< "GPU and CPU device", ...
[[nodiscard]] std::optional<Gate> parse_gate(std::string_view name);

/// Whether a gate is closed to those it is there for. Always, in the product: gate_enabled.cpp holds nothing
/// else, so that a test program can be linked with another definition.
[[nodiscard]] bool gate_enabled(Gate gate);

}  // namespace ak
