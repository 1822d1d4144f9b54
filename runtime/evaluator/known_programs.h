// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"

namespace ak::runtime {

/// Results by program, so that tunables which change nothing in it are measured once: the last
/// kKept. One thread.
class KnownPrograms {
 public:
  /// Equal programs come from neighbouring tunables, close in time; at about 2 kB each this stays under 10 MB
  /// however long a search runs.
  static constexpr std::size_t kKept = 4'096;

  struct Known {
    std::string name;  ///< of the candidate that it was
    std::vector<Measurement> measurements;
    std::optional<double> score_ns;
    std::shared_ptr<const DeviceFacts> device = nullptr;  ///< as EvaluationResult::device
    std::string place = {};                               ///< as EvaluationResult::place
  };

  /// Under `result.program`, in place of what was known of it.
  void remember(const std::string& candidate, const EvaluationResult& result);
  /// Null where nothing is known. Valid until the next remember().
  [[nodiscard]] const Known* find(const std::string& program) const;

 private:
  std::map<std::string, Known> known_;
  std::deque<std::string> order_;  ///< of the first remember() of each
};

}  // namespace ak::runtime
