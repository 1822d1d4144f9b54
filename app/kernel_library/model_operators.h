// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/kernel_library/geometry.h"
#include "core/plan/problem.h"

namespace ak::app {

/// One line of a step: what a model calls `count` times with one shape.
struct ModelOperator {
  std::string name, what;
  std::int64_t count = 1;
  std::string algorithm;  ///< that would do it; empty: the library has none
  Params params;
  AxisValues axes;
  std::shared_ptr<const ProblemInstance> problem;  ///< null: the library cannot do it
  std::string note;                                ///< why it cannot; empty: it can
  double flops = 0,
         bytes = 0;  ///< least of one call, by the kind's own formulas: for operators without a problem
};

/// A step of the model: one phase for one batch and one length.
struct ModelStep {
  std::string phase;
  std::int64_t batch = 1, length = 1;
  std::string length_name;  ///< "prompt" or "context"
  std::vector<ModelOperator> operators;
  std::set<std::string> left_out = {};  ///< operators that StepSizes::outside would add
};

/// What steps are asked for.
struct StepSizes {
  std::vector<std::int64_t> batches, prompts, contexts;
  std::vector<std::string> phases = {};  ///< of the kind; empty: all
  bool outside = false;                  ///< operators that no module of a model calls, too
  bool compiled = false;                 ///< what modules call while torch.compile traces them
};

/// Every phase of the model's kind for every combination of its sizes. An operator that no algorithm of the library can
/// do, or whose params or shape its problem refuses, stays, with a note that says why. Throws Error(bad_input) where an
/// expression of the kind has no value, naming it, and Error(usage) for a phase that the kind does not have.
[[nodiscard]] std::vector<ModelStep> model_steps(const Geometry& geometry, const StepSizes& sizes);

}  // namespace ak::app
