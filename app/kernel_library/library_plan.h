// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/kernel_library/operator_times.h"
#include "app/kernel_library/traced_model.h"

namespace ak::app {

struct PlanRow {
  ModelOperator line;
  OperatorTimes times;

  [[nodiscard]] double calls() const { return static_cast<double>(line.count); }
  /// What one call takes where the faster one is used: today's, or the library's where it has one that is faster.
  [[nodiscard]] double best_us() const;
  /// "other" where the library has nothing for it.
  [[nodiscard]] std::string algorithm() const;
};

/// A step with its Amdahl table.
struct PlanStep {
  ModelStep step;  ///< without its operators, which are in `rows`
  std::vector<PlanRow> rows;
  double now_us = 0, library_us = 0, floor_us = 0;  ///< of the whole step; rows without a time are left out
  std::size_t untimed = 0;                          ///< rows of which nothing is known

  /// "decode, batch 16, context 4096"
  [[nodiscard]] std::string heading() const;
  [[nodiscard]] double speedup() const { return library_us > 0 ? now_us / library_us : 1; }
  [[nodiscard]] double speedup_at_floor() const { return floor_us > 0 ? now_us / floor_us : 1; }
  /// Part of the step that an operator takes today.
  [[nodiscard]] double share(const PlanRow& row) const;
  /// Part of the step that is saved by the library's kernel for this operator alone.
  [[nodiscard]] double saved(const PlanRow& row) const;
};

/// From a model to the kernels that are worth having.
struct LibraryPlan {
  Geometry geometry;
  DeviceFacts device;
  std::string time_model;  ///< that predicts times; empty: rates of the device
  std::vector<PlanStep> steps;
};

struct LibraryPlanOrder {
  GeometryRequest model;
  StepSizes sizes;
  TimeBasis times;
};

/// Throws as read_geometry(), model_steps() and OperatorTimer do.
[[nodiscard]] LibraryPlan plan_library(const LibraryPlanOrder& order, const Config& config);

/// The plan of a PyTorch file: one step, on the file's own inputs. Throws as trace_model() and OperatorTimer do.
[[nodiscard]] LibraryPlan plan_traced_library(const std::filesystem::path& file, const TimeBasis& times,
                                              const runtime::PythonInstallation& python,
                                              const Config& config);

/// docs/kernel_library.md describes it.
[[nodiscard]] Json to_json(const LibraryPlan& plan);
/// Tables for a terminal: one a step, then one of all steps.
[[nodiscard]] std::string plan_text(const LibraryPlan& plan);
/// An SVG picture: of every step a bar of what it takes now, with the library, and at the floor, by operator.
[[nodiscard]] std::string plan_picture(const LibraryPlan& plan);

}  // namespace ak::app
