// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/model_file.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"

namespace ak::profiler {
namespace {

constexpr std::string_view kFormat = "alphakernel time model";
constexpr Format kVersions{.name = "a model of times",
                           .key = "version",
                           .oldest = 4,
                           .renewal = "fit it again with `alphakernel model fit`"};
constexpr std::size_t kFewCalls = 200;  // a handful of spaces (chosen)

Json training_json(const std::vector<MeasuredCall>& calls) {
  std::map<std::string, std::set<std::string>> variants;
  std::set<std::string> devices;
  for (const MeasuredCall& call : calls) {
    variants[call.algorithm].insert(call.definition + call.candidate + call.variant);
    devices.insert(call.device.name);
  }
  Json by_algorithm = Json::object();
  std::size_t total = 0;
  for (const auto& [algorithm, keys] : variants) {
    by_algorithm[algorithm] = keys.size();
    total += keys.size();
  }
  return {{"devices", devices},
          {"calls", calls.size()},
          {"variants", total},
          {"variants_by_algorithm", by_algorithm}};
}

}  // namespace

const TimeModel& FittedModels::model_for(const CallFacts& facts) const {
  const TimeModel* best = nullptr;
  double least = 0;
  for (const auto& [knowledge, model] : models) {
    if (knowledge > facts.knowledge) continue;
    const char* held_out = model.knows(facts) ? "known_space" : "new_algorithm";
    const double error = accuracy.at(knowledge).at(held_out).at("mean_error").get<double>();
    if (best && error >= least) continue;
    best = &model;
    least = error;
  }
  AK_ASSERT(best, "there is a model for the least knowledge");
  return *best;
}

std::vector<MeasuredCall> calls_with(const std::vector<MeasuredCall>& calls, Knowledge knowledge) {
  std::vector<MeasuredCall> known;
  for (const MeasuredCall& call : calls) {
    if (call.facts.knowledge >= knowledge) known.push_back(call);
  }
  if (knowledge != Knowledge::plan && known.size() < kFewCalls) known.clear();
  return known;
}

ModelReport evaluate_model(const std::vector<MeasuredCall>& calls, Knowledge knowledge) {
  const HeldOutTimes analytic = analytic_only(calls, knowledge);
  const HeldOutTimes fresh = leave_one_algorithm_out(calls, knowledge);
  const HeldOutTimes known = leave_variants_out(calls, knowledge);
  return {.analytic = accuracy_of(calls, analytic),
          .new_algorithm = accuracy_of(calls, fresh),
          .known_space = accuracy_of(calls, known),
          .coverage_new_algorithm = interval_coverage(calls, fresh, algorithms_of(calls)),
          .coverage_known_space = interval_coverage(calls, known, fifths_of(calls)),
          .analytic_ns = analytic,
          .new_algorithm_ns = fresh,
          .known_space_ns = known,
          .regret_new_algorithm = pruning_regret(calls, fresh),
          .regret_known_space = pruning_regret(calls, known)};
}

Json to_json(const ModelReport& report) {
  return {{"analytic", to_json(report.analytic)},
          {"new_algorithm", to_json(report.new_algorithm)},
          {"known_space", to_json(report.known_space)},
          {"coverage_new_algorithm", to_json(report.coverage_new_algorithm)},
          {"coverage_known_space", to_json(report.coverage_known_space)},
          {"regret_new_algorithm", to_json(report.regret_new_algorithm)},
          {"regret_known_space", to_json(report.regret_known_space)}};
}

FittedModels fit_models(const std::vector<MeasuredCall>& calls, const std::string& arch) {
  AK_ASSERT(!calls.empty(), "a model is fitted to measurements");
  FittedModels fitted{.arch = arch, .device = calls.front().device, .training = training_json(calls)};
  for (const Knowledge knowledge : kKnowledge) {
    const std::vector<MeasuredCall> known = calls_with(calls, knowledge);
    if (known.empty()) continue;
    std::vector<const MeasuredCall*> all;
    for (const MeasuredCall& call : known) all.push_back(&call);
    const ModelReport report = evaluate_model(known, knowledge);
    TimeModel& model = fitted.models[knowledge] = TimeModel::fit(all, knowledge);
    model.set_errors(report.known_space.errors, report.new_algorithm.errors);
    fitted.accuracy[knowledge] = to_json(report);
  }
  return fitted;
}

void write_models(const std::filesystem::path& file, const FittedModels& models) {
  Json list = Json::array();
  for (const auto& [knowledge, model] : models.models) {
    Json entry = model.to_json();
    entry["accuracy"] = models.accuracy.at(knowledge);
    list.push_back(std::move(entry));
  }
  const Json json{{"format", kFormat},           {"version", kVersions.current()},
                  {"arch", models.arch},         {"device", to_json(models.device)},
                  {"training", models.training}, {"models", std::move(list)}};
  std::error_code ignored;  // what is wrong with the folder shows when the file is written
  std::filesystem::create_directories(file.parent_path(), ignored);
  write_file_atomically(file, json.dump() + "\n");
}

FittedModels read_models(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  FittedModels read;
  try {
    Json json = parse_json(text);
    if (!says_format(json, kFormat))
      fail(ExitCode::bad_input, "expected a model that `alphakernel model fit` wrote");
    json = up_to_date(kVersions, std::move(json));
    read.arch = json.at("arch").get<std::string>();
    read.device = device_facts_from_json(json.at("device"));
    read.training = json.at("training");
    for (const Json& entry : json.at("models")) {
      const TimeModel model = TimeModel::from_json(entry);
      read.accuracy[model.knowledge()] = entry.at("accuracy");
      read.models.emplace(model.knowledge(), model);
    }
    if (!read.models.contains(Knowledge::plan))
      fail(ExitCode::bad_input, "expected a model of knowledge plan");
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  } catch (const Error& error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), error.what());
  }
  return read;
}

}  // namespace ak::profiler
