// SPDX-License-Identifier: Apache-2.0
#include "agent/pruning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ak::agent {
namespace {

constexpr double kLowQuantile = 0.05;  // of the run's errors, as in the model's own interval

// Starting and first points and second attempts go first, then what cannot be predicted: both as
// they were proposed.
std::pair<int, double> urgency(const PredictedProposal& item) {
  const Proposal& proposal = item.proposal;
  if (proposal.is_start || proposal.is_retry || !proposal.origin.empty() || !item.predicted) return {0, 0};
  return {1, item.predicted->score.value()};
}

}  // namespace

void Pruning::look_ahead() {
  while (waiting_.size() < (options_.predictor ? kWindow : 1)) {
    auto proposal = proposals_.next();
    if (!proposal) return;
    PredictedProposal item{.proposal = std::move(*proposal), .predicted = {}};
    if (options_.predictor) {
      Candidate candidate = proposals_.candidate(item.proposal.template_index);
      candidate.tunables = item.proposal.point;
      item.predicted = options_.predictor->predict(*options_.problem, candidate);
    }
    waiting_.push_back(std::move(item));
  }
}

std::optional<Pruning::Next> Pruning::next(std::optional<double> best_ns) {
  look_ahead();
  if (waiting_.empty()) return std::nullopt;
  const bool measure_anyway = ++taken_ % kMeasureAnywayEvery == 0;
  const auto chosen = measure_anyway ? waiting_.begin() : std::ranges::min_element(waiting_, {}, urgency);
  Next next{.item = std::move(*chosen), .why_pruned = {}};
  waiting_.erase(chosen);
  const bool exempt = measure_anyway || urgency(next.item).first == 0;
  if (!exempt) next.why_pruned = why_pruned(*next.item.predicted, best_ns);
  return next;
}

void Pruning::learn(const PredictedScore& predicted, double measured_ns) {
  const double error = std::log(measured_ns / predicted.score.value());
  errors_.insert(std::ranges::upper_bound(errors_, error), error);
}

/// Hopeless is what would be slower than the champion even at the lower end of both intervals: the
/// model's, and that of the errors in this run, which also holds what the model gets wrong about this
/// problem as a whole.
std::string Pruning::why_pruned(const PredictedScore& predicted, std::optional<double> best_ns) const {
  if (!best_ns || errors_.size() < kMeasuredFirst) return "";
  const auto at = static_cast<std::size_t>(kLowQuantile * static_cast<double>(errors_.size()));
  const double low_ns = std::min(predicted.low.value(), predicted.score.value() * std::exp(errors_[at]));
  if (low_ns <= *best_ns) return "";
  return fmt::format(
      "not measured: {:.4g} us predicted ({:.4g} us at least, by {} and {} candidates measured in this run), "
      "and the best takes {:.4g} us",
      predicted.score.value() / 1e3, low_ns / 1e3, predicted.model, errors_.size(), *best_ns / 1e3);
}

}  // namespace ak::agent
