// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ak {

/// The stages of an evaluation, in the order in which they run. Stored by name.
enum class StageId : std::uint8_t {
  predict,
  pre_check,
  build,
  resources,
  check,
  time,
  recheck,
  profile,
  verdict
};

/// The part of the program that runs a stage.
enum class StageRunner : std::uint8_t { search, evaluator, compile_worker, device_worker };

struct StageInfo {
  StageId id;
  std::string_view name;
  StageRunner runner;
  std::string_view what;  ///< one line: what a candidate goes through
};

/// All stages in their order. Nothing else fixes it: the evaluator takes every evaluation through this table,
/// and the device worker runs its part of it. A failure ends an evaluation at its stage; what a request does
/// not ask for is passed over.
[[nodiscard]] std::span<const StageInfo> stages();
[[nodiscard]] std::string_view to_string(StageId stage);
[[nodiscard]] std::optional<StageId> parse_stage(std::string_view name);

}  // namespace ak
