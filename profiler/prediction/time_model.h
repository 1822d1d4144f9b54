// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/prediction/kriging.h"
#include "profiler/prediction/prediction_features.h"

namespace ak::profiler {

/// One measured call.
struct MeasuredCall {
  std::string algorithm;   ///< problem family
  std::string definition;  ///< the family with its params
  std::string candidate;   ///< file the variant is a point of
  std::string variant;     ///< key of the point within the two
  std::string workload;
  double weight = 1;  ///< of the workload in its problem's score
  double measured_ns = 0;
  CallFacts facts;
  DeviceFacts device;

  /// Variants of one definition and file are points of one space.
  [[nodiscard]] std::string space() const { return definition + " " + candidate; }
};

/// A time with the interval that holds nine of ten measurements, as far as those of the training set tell.
struct Prediction {
  double time_ns = 0, low_ns = 0, high_ns = 0;
  AnalyticTime analytic;
  Knowledge knowledge = Knowledge::plan;
  bool fitted = false;       ///< false: the analytic time alone, with no basis for the interval
  bool known_space = false;  ///< variants of the same file are in the training set
};

/// Analytic time x exp(correction). The correction has two parts: boosted trees over physical features,
/// learned from all algorithms together; then, for points of files that were measured, trees that see the
/// tunables too, and kriging between the points of the file. Intervals come from the errors on calls that
/// were held out of the fit.
class TimeModel {
 public:
  /// Analytic alone.
  TimeModel() = default;
  enum class Scope { all_plans, new_plans };  ///< new_plans: knows no plan, and is fitted sooner
  /// Without intervals; `calls` of one architecture and of at least `knowledge`.
  [[nodiscard]] static TimeModel fit(const std::vector<const MeasuredCall*>& calls, Knowledge knowledge,
                                     Scope scope = Scope::all_plans);

  [[nodiscard]] Prediction predict(const CallFacts& facts, const DeviceFacts& device) const;
  /// Quantiles of ln(measured / predicted), 5 % and 95 %.
  struct Errors {
    double low = 0, high = 0;
  };
  void set_errors(Errors known_space, Errors new_algorithm);
  [[nodiscard]] Knowledge knowledge() const { return knowledge_; }
  /// Variants of the same plan are in the training set.
  [[nodiscard]] bool knows(const CallFacts& facts) const { return kriging_.contains(facts.space); }

  [[nodiscard]] Json to_json() const;
  [[nodiscard]] static TimeModel from_json(const Json& json);  ///< throws Error(bad_input)

 private:
  bool fitted_ = false;
  Knowledge knowledge_ = Knowledge::plan;
  BoostedTrees general_, special_;
  std::map<std::string, Kriging> kriging_;  ///< by space, of those in the training set
  Errors known_, new_;
};

}  // namespace ak::profiler
