// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/setup/config.h"
#include "app/setup/target.h"
#include "core/evaluation.h"
#include "core/store.h"

namespace ak::app {

/// Kernels that a user names, evaluated one after another and committed to one search. Calls block. Throws
/// Error as the evaluator and the store do.
class UserSearch {
 public:
  struct Order {
    std::shared_ptr<const ProblemInstance> problem;
    std::string command;  ///< stored with the search
    bool audited = false;
  };
  /// `store` must outlive this.
  UserSearch(Order order, const Target& target, const Config& config, VariantStore& store);

  /// Of the candidate, to be timed where the target executes, on inputs that change; else to be built.
  [[nodiscard]] EvaluationRequest request(Candidate candidate) const;
  [[nodiscard]] Completed complete(EvaluationRequest request);
  StoredEvaluation commit(const Completed& done, std::string arm, std::vector<RowId> parents = {});
  void end(std::string_view reason, std::optional<RowId> best);

  [[nodiscard]] RowId id() const { return search_; }
  [[nodiscard]] DeviceFacts device() const { return evaluator_->capabilities().device; }
  [[nodiscard]] const Target& target() const { return target_; }

 private:
  const Order order_;
  const Target target_;
  VariantStore& store_;
  std::unique_ptr<Evaluator> evaluator_;
  std::uint64_t seed_;
  RowId search_ = 0;
  int iteration_ = 0;
};

}  // namespace ak::app
