// SPDX-License-Identifier: Apache-2.0
#include "app/search/run_journal.h"
#include "core/text/hash.h"
#include "runtime/process/device_messages.h"

namespace ak::app {
namespace {

Json times_json(const StageTimes& t) {
  return {t.queue_ms, t.build_ms,    t.device_wait_ms, t.check_ms,
          t.time_ms,  t.gpu_busy_ms, t.total_ms,       t.reference_ms};
}

StageTimes times_from(const Json& json) {
  return {.queue_ms = json.at(0),
          .build_ms = json.at(1),
          .device_wait_ms = json.at(2),
          .check_ms = json.at(3),
          .time_ms = json.at(4),
          .gpu_busy_ms = json.at(5),
          .total_ms = json.at(6),
          .reference_ms = json.at(7)};
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> optional_from(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<T>());
}

}  // namespace

std::string request_key(const EvaluationRequest& request) {
  Json shapes = Json::array();
  for (const Workload& workload : request.problem->workloads)
    shapes.push_back({workload.name, workload.axes});
  const Json asked{request.candidate.variant_hash(),
                   request.candidate.name,
                   request.arch.sm(),
                   static_cast<int>(request.depth),
                   request.workloads,
                   shapes,
                   request.seed,
                   request.rival ? request.rival->variant_hash() : request.library,
                   request.changing_inputs,
                   request.fresh_process,
                   request.profile.has_value(),
                   request.energy};
  // As it was before there were pools and coarse times, where there are none.
  return sha256_hex(asked.dump() + request.place + (request.coarse_times ? " coarse" : ""));
}

Json result_to_json(const EvaluationResult& result) {
  Json json = {{"answer", to_json(runtime::DeviceAnswer{.outcome = result.outcome,
                                                        .checks = result.checks,
                                                        .measurements = result.measurements,
                                                        .profiles = result.profiles,
                                                        .rival_failed = result.rival_failed})},
               {"build", nullptr},
               {"occupancy", nullptr},
               {"shared_bytes", optional_json(result.shared_bytes)},
               {"score_ns", optional_json(result.score_ns)},
               {"program", result.program},
               {"times_ms", times_json(result.stage_times)}};
  if (result.build) {
    BuildResult build = *result.build;
    build.ptx.clear();
    build.cubin.clear();
    json["build"] = to_json(build);
  }
  if (const auto& occupancy = result.occupancy)
    json["occupancy"] = {occupancy->blocks_per_sm, occupancy->ratio, occupancy->limiter};
  if (!result.place.empty()) json["place"] = result.place;
  if (result.device) json["device"] = to_json(*result.device);
  return json;
}

EvaluationResult result_from_json(const Json& json) {
  runtime::DeviceAnswer answer = runtime::device_answer_from_json(json.at("answer"));
  EvaluationResult result;
  result.outcome = std::move(answer.outcome);
  result.checks = std::move(answer.checks);
  result.measurements = std::move(answer.measurements);
  result.profiles = std::move(answer.profiles);
  result.rival_failed = answer.rival_failed;
  if (const Json& build = json.at("build"); !build.is_null()) result.build = build_result_from_json(build);
  if (const Json& o = json.at("occupancy"); !o.is_null())
    result.occupancy = Occupancy{.blocks_per_sm = o.at(0), .ratio = o.at(1), .limiter = o.at(2)};
  result.shared_bytes = optional_from<std::int64_t>(json.at("shared_bytes"));
  result.score_ns = optional_from<double>(json.at("score_ns"));
  result.program = json.at("program");
  result.stage_times = times_from(json.at("times_ms"));
  result.place = json.value("place", "");
  if (const auto device = json.find("device"); device != json.end())
    result.device = std::make_shared<const DeviceFacts>(device_facts_from_json(*device));
  return result;
}

}  // namespace ak::app
