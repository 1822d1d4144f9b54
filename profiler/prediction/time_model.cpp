// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/time_model.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace ak::profiler {
namespace {

// Slow variants are many and matter little: their weight falls with their distance from the best.
constexpr double kFarFromBest = 10, kWeightFarAway = 0.2;
// Share of the general correction that an algorithm gets which is unlike all that it was learned from: half
// of the way between two estimates whose errors are as large and not the same.
constexpr double kTrustInNewPlans = 0.5;

// Of the correction on a known plan. Trees and kriging err differently; of 16 spaces measured on an H200 half
// to all of it gave held-out errors within a third of a percent.
constexpr double kShareOfKriging = 0.6;

/// What kriging measures distances by: the tunables, by factors where they are powers or sizes, and what the
/// shape and the build make of them.
Features kriging_features(const CallFacts& facts, const Features& physical) {
  Features chosen;
  for (const auto& [name, value] : facts.tunables) {
    const auto number = static_cast<double>(value);
    chosen["tunable " + name] = value > 0 ? std::log2(number) : number - 1;
  }
  for (const char* name :
       {"log analytic", "log waves", "wave efficiency", "occupancy", "registers", "blocks per sm",
        "log bytes per thread", "log flops per block", "log spill bytes"}) {
    const auto found = physical.find(name);
    if (found != physical.end()) chosen.insert(*found);
  }
  return chosen;
}

Features together(Features features, const Features& more) {
  features.insert(more.begin(), more.end());
  return features;
}

std::map<std::string, double> best_times(const std::vector<const MeasuredCall*>& calls) {
  std::map<std::string, double> best;
  for (const MeasuredCall* call : calls) {
    auto& least = best.try_emplace(call->definition + " " + call->workload, call->measured_ns).first->second;
    least = std::min(least, call->measured_ns);
  }
  return best;
}

/// Algorithms count by the square root of their rows, so that one that was measured much does not drown the
/// others; 1 on average.
std::vector<double> weights_of(const std::vector<const MeasuredCall*>& calls) {
  const auto best = best_times(calls);
  std::map<std::string, double> rows;
  for (const MeasuredCall* call : calls) ++rows[call->algorithm];
  std::vector<double> weights;
  double sum = 0;
  for (const MeasuredCall* call : calls) {
    const bool far = call->measured_ns > kFarFromBest * best.at(call->definition + " " + call->workload);
    weights.push_back((far ? kWeightFarAway : 1) / std::sqrt(rows[call->algorithm]));
    sum += weights.back();
  }
  for (double& weight : weights) weight *= static_cast<double>(weights.size()) / sum;
  return weights;
}

Json errors_json(const TimeModel::Errors& errors) { return Json::array({errors.low, errors.high}); }
TimeModel::Errors errors_from(const Json& json) {
  return {json.at(0).get<double>(), json.at(1).get<double>()};
}

Knowledge knowledge_from(const std::string& name) {
  for (const Knowledge knowledge : kKnowledge) {
    if (to_string(knowledge) == name) return knowledge;
  }
  fail(ExitCode::bad_input, "model: unknown knowledge '{}'; expected plan, build or count", name);
}

}  // namespace

TimeModel TimeModel::fit(const std::vector<const MeasuredCall*>& calls, Knowledge knowledge, Scope scope) {
  TimeModel model;
  model.fitted_ = true;
  model.knowledge_ = knowledge;
  std::vector<Features> physical, all;
  RegressionSet set{.features = {}, .targets = {}, .weights = weights_of(calls)};
  for (const MeasuredCall* call : calls) {
    const CallFacts facts = call->facts.limited_to(knowledge);
    const AnalyticTime time = analytic_time(facts, call->device);
    physical.push_back(physical_features(facts, time, device_rates(call->device)));
    all.push_back(together(physical.back(), tunable_features(facts)));
    set.targets.push_back(std::log(call->measured_ns / time.total_ns));
  }
  for (const Features& features : physical) set.features.push_back(&features);
  // few and shallow: what is learned of the algorithms that are there must hold for others too
  model.general_ = BoostedTrees::fit(set, {.rounds = 60, .depth = 3, .smallest_leaf = 60, .leaf_l2 = 40});
  if (scope == Scope::new_plans) return model;
  std::map<std::string, std::pair<std::vector<Features>, std::vector<double>>> spaces;
  for (std::size_t i = 0; i < all.size(); ++i) {
    set.targets[i] -= model.general_.predict(physical[i]);
    set.features[i] = &all[i];
    auto& [rows, targets] = spaces[calls[i]->facts.space];
    rows.push_back(kriging_features(calls[i]->facts.limited_to(knowledge), physical[i]));
    targets.push_back(set.targets[i]);
  }
  for (const auto& [space, rows] : spaces) model.kriging_[space] = Kriging::fit(rows.first, rows.second);
  model.special_ = BoostedTrees::fit(set, {.rounds = 350, .depth = 5, .smallest_leaf = 3, .leaf_l2 = 1});
  return model;
}

Prediction TimeModel::predict(const CallFacts& facts, const DeviceFacts& device) const {
  const CallFacts known = fitted_ ? facts.limited_to(knowledge_) : facts;
  Prediction prediction;
  prediction.analytic = analytic_time(known, device);
  prediction.knowledge = known.knowledge;
  prediction.fitted = fitted_;
  prediction.known_space = knows(facts);
  double correction = 0;
  if (fitted_) {
    const Features physical = physical_features(known, prediction.analytic, device_rates(device));
    correction = general_.predict(physical);
    if (prediction.known_space)
      correction += (1 - kShareOfKriging) * special_.predict(together(physical, tunable_features(known))) +
                    kShareOfKriging * kriging_.at(known.space).predict(kriging_features(known, physical));
    else
      correction *= kTrustInNewPlans;
  }
  const Errors& errors = prediction.known_space ? known_ : new_;
  prediction.time_ns = prediction.analytic.total_ns * std::exp(correction);
  prediction.low_ns = prediction.time_ns * std::exp(errors.low);
  prediction.high_ns = prediction.time_ns * std::exp(errors.high);
  return prediction;
}

void TimeModel::set_errors(Errors known_space, Errors new_algorithm) {
  known_ = known_space;
  new_ = new_algorithm;
}

Json TimeModel::to_json() const {
  Json kriging = Json::object();
  for (const auto& [space, fitted] : kriging_) kriging[space] = fitted.to_json();
  return {{"knowledge", to_string(knowledge_)},
          {"errors_known_space", errors_json(known_)},
          {"errors_new_algorithm", errors_json(new_)},
          {"general", general_.to_json()},
          {"special", special_.to_json()},
          {"kriging", std::move(kriging)}};
}

TimeModel TimeModel::from_json(const Json& json) {
  TimeModel model;
  try {
    model.fitted_ = true;
    model.knowledge_ = knowledge_from(json.at("knowledge").get<std::string>());
    model.known_ = errors_from(json.at("errors_known_space"));
    model.new_ = errors_from(json.at("errors_new_algorithm"));
    for (const auto& [space, fitted] : json.at("kriging").items())
      model.kriging_[space] = Kriging::from_json(fitted);
    model.general_ = BoostedTrees::from_json(json.at("general"));
    model.special_ = BoostedTrees::from_json(json.at("special"));
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "model: {}", error.what());
  }
  return model;
}

}  // namespace ak::profiler
