// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "agent/search/gain_chances.h"
#include "agent/search/process_model.h"

namespace ak::agent {

/// How much faster than the best the points of a space may be that have no answer, by a Gaussian process of the answers.
/// Draws random numbers of its own: it changes no search. Used by one thread.
class GainEstimate {
 public:
  /// Nothing while too little is known. @param best_ns what is to be gained on
  [[nodiscard]] std::optional<GainChances> chances(const History& history, double best_ns);

 private:
  ProcessModel model_{{.believes = false}};
  Engine engine_;
};

}  // namespace ak::agent
