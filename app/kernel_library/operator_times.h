// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/kernel_library/model_operators.h"
#include "app/setup/config.h"
#include "core/device/device_facts.h"

namespace ak::app {

inline constexpr double kNsPerUs = 1e3;

/// Where a time comes from.
enum class TimeSource : std::uint8_t { none, measured, predicted, estimated };
[[nodiscard]] std::string_view source_name(TimeSource source);

/// A time of one call, and who says so.
struct SourcedTime {
  double us = 0;  ///< 0: not known
  TimeSource source = TimeSource::none;
  std::string basis = {};  ///< in words
  Json variant =
      nullptr;  ///< of the library: template, tunables, and the database's number where it was measured
  [[nodiscard]] bool known() const { return source != TimeSource::none; }
};

/// What one call of an operator takes: today, with the library, at least.
struct OperatorTimes {
  double floor_us = 0;  ///< 0: not known
  std::string floor;    ///< the limit in words
  SourcedTime now, library;
};

/// What a baseline took for one shape.
struct MeasuredBaseline {
  std::string problem, label;
  Json params;
  AxisValues axes;
  double ns = 0;
};

/// Where times are looked up.
struct TimeBasis {
  std::string product = "h200";         ///< of the device catalogue, or an architecture
  std::filesystem::path database = {};  ///< of measured kernels and baselines; need not exist
  std::filesystem::path best = {};      ///< a file of best points, besides the database; empty: none
};

/// Times of operators on one device. Of the library: measured there for this shape, else predicted of its templates. Of
/// today: baselines that were measured there for this shape, else estimated from the floor by factors of
/// pytorch_estimates.json. Used by one thread.
class OperatorTimer {
 public:
  /// Throws Error(usage) for an unknown device; Error(bad_input) and Error(database) for the files.
  OperatorTimer(const TimeBasis& basis, const Config& config);
  ~OperatorTimer();
  OperatorTimer(const OperatorTimer&) = delete;
  OperatorTimer& operator=(const OperatorTimer&) = delete;

  [[nodiscard]] const DeviceFacts& device() const;
  [[nodiscard]] const std::string& note()
      const;  ///< which product stands for the one that was named; else empty
  [[nodiscard]] const std::string& model() const;  ///< of predicted times; empty: rates alone
  /// The same for operators of the same algorithm, params and shape: kept.
  [[nodiscard]] OperatorTimes times(const ModelOperator& line);

 private:
  struct Knowledge;
  std::unique_ptr<Knowledge> knowledge_;
  std::map<std::string, OperatorTimes> known_;
};

}  // namespace ak::app
