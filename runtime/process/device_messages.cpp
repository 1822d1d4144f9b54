// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/device_messages.h"

#include <algorithm>

#include "core/text/any_number.h"
#include "core/text/hash.h"

namespace ak::runtime {
namespace {

template <class T, class ToJson>
Json array_json(const std::vector<T>& values, ToJson to_json_of) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json_of(value));
  return array;
}

template <class FromJson>
auto array_from(const Json& array, FromJson from_json_of) {
  std::vector<decltype(from_json_of(array))> values;
  for (const Json& value : array) values.push_back(from_json_of(value));
  return values;
}

DType dtype_from(const Json& json) {
  const auto dtype = parse_dtype(json.get<std::string>());
  if (!dtype) fail(ExitCode::bad_input, "device message: unknown dtype {}", json.dump());
  return *dtype;
}

DeviceKind device_from(const Json& json) {
  for (const DeviceKind kind : {DeviceKind::cuda, DeviceKind::emulator}) {
    if (json == ak::to_string(kind)) return kind;
  }
  fail(ExitCode::bad_input, "device message: nothing can be opened on device {}", json.dump());
}

Arch arch_from(const Json& json) {
  const auto arch = parse_arch(json.get<std::string>());
  if (!arch) fail(ExitCode::bad_input, "device message: {}", arch.error().message);
  return *arch;
}

/// An object with room for its members: where there is none for one more, all are copied.
Json object_of_size(std::size_t members) {
  Json json = Json::object();
  json.get_ref<Json::object_t&>().reserve(members);
  return json;
}

Json image_json(const KernelImage& image) {
  Json kernels = Json::array();
  for (const auto& [expression, symbol] : image.kernels) kernels.push_back({expression, symbol});
  Json json = object_of_size(3);
  json["image"] = base64_encode(image.image);
  json["kernels"] = std::move(kernels);
  json["file"] = image.file_name;
  return json;
}

KernelImage image_from(const Json& json) {
  KernelImage image{.image = base64_decode(json.at("image").get<std::string>()),
                    .kernels = {},
                    .file_name = json.at("file").get<std::string>()};
  for (const Json& kernel : json.at("kernels")) {
    image.kernels.emplace_back(kernel.at(0).get<std::string>(), kernel.at(1).get<std::string>());
  }
  return image;
}

Json layout_json(const TensorLayout& tensor) {
  return {{"name", tensor.name},         {"dtype", info(tensor.dtype).name}, {"output", tensor.output},
          {"alias_of", tensor.alias_of}, {"scalar", tensor.scalar},          {"zeroed", tensor.zeroed},
          {"weight", tensor.weight}};
}

TensorLayout layout_from(const Json& json) {
  return {.name = json.at("name"),
          .dtype = dtype_from(json.at("dtype")),
          .output = json.at("output"),
          .alias_of = json.at("alias_of"),
          .scalar = json.at("scalar"),
          .zeroed = json.at("zeroed"),
          .weight = json.at("weight")};
}

Json draw_json(const ak_random::Draw& draw) {
  return {{"kind", ak::to_string(draw.kind)},
          {"scale", any_number_json(draw.scale)},
          {"shift", any_number_json(draw.shift)},
          {"choices",
           array_json(std::vector(draw.choices, draw.choices + draw.choice_count), signed_number_json)},
          {"low", draw.low},
          {"high", draw.high},
          {"count", draw.count},
          {"row", draw.row},
          {"bound", draw.bound}};
}

ak_random::Draw draw_from(const Json& json) {
  const auto kind = parse_input_kind(json.at("kind").get<std::string>());
  const auto number_from = [](const Json& value) { return any_number_from(JsonReader(value)); };
  const std::vector<double> choices = array_from(json.at("choices"), number_from);
  if (!kind || choices.size() > ak_random::kMaxChoices)
    fail(ExitCode::bad_input, "device message: unknown draw {}", json.dump());
  ak_random::Draw draw{.kind = *kind,
                       .scale = static_cast<float>(number_from(json.at("scale"))),
                       .shift = static_cast<float>(number_from(json.at("shift"))),
                       .choice_count = static_cast<int>(choices.size()),
                       .choices = {},
                       .low = json.at("low"),
                       .high = json.at("high"),
                       .count = json.at("count"),
                       .row = json.at("row"),
                       .bound = json.at("bound")};
  std::ranges::copy(choices, draw.choices);
  return draw;
}

Json drawn_inputs_json(const DrawnInputs& inputs) {
  return {{"name", inputs.name}, {"draws", array_json(inputs.draws, draw_json)}};
}

DrawnInputs drawn_inputs_from(const Json& json) {
  return {.name = json.at("name"), .draws = array_from(json.at("draws"), draw_from)};
}

Json workload_json(const WorkloadLayout& workload) {
  return {{"name", workload.name},
          {"shapes", workload.shapes},
          {"distributions", array_json(workload.distributions, drawn_inputs_json)},
          {"exact", ak::to_json(workload.exact)},
          {"twin", ak::to_json(workload.twin)},
          {"axes", workload.axes},
          {"operations", workload.operations}};
}

WorkloadLayout workload_from(const Json& json) {
  return {.name = json.at("name"),
          .shapes = json.at("shapes").get<std::vector<std::vector<std::int64_t>>>(),
          .distributions = array_from(json.at("distributions"), drawn_inputs_from),
          .exact = resolved_plan_from_json(json.at("exact")),
          .twin = resolved_plan_from_json(json.at("twin")),
          .axes = json.at("axes").get<AxisValues>(),
          .operations = json.at("operations")};
}

Json python_json(const PythonProcess& python) {
  return {{"program", python.program},         {"path", python.path},
          {"readable", python.readable},       {"file", python.file},
          {"source_hash", python.source_hash}, {"kind", python.kind},
          {"options", python.options},         {"starter", python.starter}};
}

std::optional<PythonProcess> python_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return PythonProcess{.program = json.at("program"),
                       .path = json.at("path").get<std::vector<std::string>>(),
                       .readable = json.at("readable").get<std::vector<std::string>>(),
                       .file = json.at("file"),
                       .source_hash = json.at("source_hash"),
                       .kind = json.at("kind"),
                       .options = json.at("options"),
                       .starter = json.at("starter")};
}

Json rule_json(const OutputRule& rule) {
  return {{"factor", rule.factor},     {"floor_ulps", rule.floor_ulps},
          {"per_row", rule.per_row},   {"exact", rule.exact},
          {"exact_on", rule.exact_on}, {"equal_share", rule.equal_share ? Json(*rule.equal_share) : Json()},
          {"set", rule.set},           {"gather", rule.gather}};
}

OutputRule rule_from(const Json& json) {
  OutputRule rule{.factor = json.at("factor"),
                  .floor_ulps = json.at("floor_ulps"),
                  .per_row = json.at("per_row"),
                  .exact = json.at("exact"),
                  .exact_on = json.at("exact_on").get<std::vector<std::string>>(),
                  .equal_share = {},
                  .set = json.at("set"),
                  .gather = json.at("gather").get<std::string>()};
  if (const Json& share = json.at("equal_share"); !share.is_null()) rule.equal_share = share.get<double>();
  return rule;
}

Json tolerance_json(const Tolerance& tolerance) {
  Json outputs = Json::object();
  for (const auto& [name, rule] : tolerance.outputs) outputs[name] = rule_json(rule);
  return {{"factor", tolerance.factor},
          {"floor_ulps", tolerance.floor_ulps},
          {"allow_nondeterministic", tolerance.allow_nondeterministic},
          {"internal", tolerance.internal ? Json(info(*tolerance.internal).name) : Json()},
          {"most_error", tolerance.most_error ? Json(*tolerance.most_error) : Json()},
          {"outputs", std::move(outputs)}};
}

Tolerance tolerance_from(const Json& json) {
  Tolerance tolerance{.factor = json.at("factor"),
                      .floor_ulps = json.at("floor_ulps"),
                      .reason = {},
                      .allow_nondeterministic = json.at("allow_nondeterministic")};
  if (const Json& internal = json.at("internal"); !internal.is_null())
    tolerance.internal = dtype_from(internal);
  if (const Json& most = json.at("most_error"); !most.is_null()) tolerance.most_error = most.get<double>();
  for (const auto& [name, rule] : json.at("outputs").items()) tolerance.outputs[name] = rule_from(rule);
  return tolerance;
}

Json task_json(const WorkloadTask& task) {
  Json json{{"workload", task.workload},
            {"plan", ak::to_json(task.plan)},
            {"distributions", task.distributions},
            {"time", task.time},
            {"batch", task.batch},
            {"energy", task.energy},
            {"separate_outputs", task.separate_outputs}};
  if (task.champion_score_ns) json["incumbent_ns"] = *task.champion_score_ns;
  if (task.rival_plan) json["rival_plan"] = ak::to_json(*task.rival_plan);
  return json;
}

WorkloadTask task_from(const Json& json) {
  WorkloadTask task{.workload = json.at("workload"),
                    .plan = resolved_plan_from_json(json.at("plan")),
                    .distributions = json.at("distributions").get<std::vector<std::string>>(),
                    .time = json.at("time"),
                    .batch = json.at("batch"),
                    .energy = json.at("energy"),
                    .champion_score_ns = {},
                    .separate_outputs = json.at("separate_outputs")};
  if (json.contains("incumbent_ns")) task.champion_score_ns = json.at("incumbent_ns").get<double>();
  if (json.contains("rival_plan")) task.rival_plan = resolved_plan_from_json(json.at("rival_plan"));
  return task;
}

Json budget_json(const TimingBudget& budget) {
  return {{"minimum_samples", budget.minimum_samples},
          {"maximum_samples", budget.maximum_samples},
          {"gpu_ms", budget.gpu_ms},
          {"relative_error", budget.relative_error},
          {"compared_samples", budget.compared_samples}};
}

TimingBudget budget_from(const Json& json) {
  return {.minimum_samples = json.at("minimum_samples"),
          .maximum_samples = json.at("maximum_samples"),
          .gpu_ms = json.at("gpu_ms"),
          .relative_error = json.at("relative_error"),
          .compared_samples = json.at("compared_samples")};
}

}  // namespace

std::int64_t WorkloadLayout::elements(std::size_t tensor) const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shapes.at(tensor)) count *= extent;
  return count;
}

const WorkloadLayout& OpenProblem::workload(const std::string& name) const {
  if (by_name.empty())
    for (std::size_t i = 0; i < workloads.size(); ++i) by_name.emplace(workloads[i].name, i);
  const auto found = by_name.find(name);
  AK_ASSERT(found != by_name.end(), "a device task names workloads of its problem");
  return workloads[found->second];
}

bool works_in_place(const OpenProblem& problem) {
  return std::ranges::any_of(problem.tensors, [](const TensorLayout& t) { return !t.alias_of.empty(); });
}

Json to_json(const CalibrationTask& task) {
  return {{"device", ak::to_string(task.device)}, {"arch", task.arch.sm()}, {"ordinal", task.ordinal}};
}

CalibrationTask calibration_task_from_json(const Json& json) {
  return {.device = device_from(json.at("device")),
          .arch = arch_from(json.at("arch")),
          .ordinal = json.at("ordinal")};
}

Json to_json(const Calibration& calibration) {
  return {{"compute_ns", calibration.compute_ns},
          {"copy_ns", calibration.copy_ns},
          {"memory_errors", calibration.memory_errors ? Json(*calibration.memory_errors) : Json()},
          {"sm_clock_mhz", calibration.sm_clock_mhz}};
}

Json to_json(const OpenProblem& problem) {
  return {{"problem", problem.problem},
          {"device", ak::to_string(problem.device)},
          {"arch", problem.arch.sm()},
          {"ordinal", problem.ordinal},
          {"sm_count", problem.sm_count},
          {"harness_image", base64_encode(problem.harness_image)},
          {"exact", image_json(problem.exact)},
          {"twin", image_json(problem.twin)},
          {"tensors", array_json(problem.tensors, layout_json)},
          {"workloads", array_json(problem.workloads, workload_json)},
          {"tolerance", tolerance_json(problem.tolerance)},
          {"params", problem.params},
          {"libraries", problem.libraries},
          {"scratch_dir", problem.scratch_dir},
          {"python", problem.python ? python_json(*problem.python) : Json()}};
}

OpenProblem open_problem_from_json(const Json& json) {
  return {.problem = json.at("problem"),
          .device = device_from(json.at("device")),
          .arch = arch_from(json.at("arch")),
          .ordinal = json.at("ordinal"),
          .sm_count = json.value("sm_count", 0),  // a controller of an older version asks for none
          .harness_image = base64_decode(json.at("harness_image").get<std::string>()),
          .exact = image_from(json.at("exact")),
          .twin = image_from(json.at("twin")),
          .tensors = array_from(json.at("tensors"), layout_from),
          .workloads = array_from(json.at("workloads"), workload_from),
          .tolerance = tolerance_from(json.at("tolerance")),
          .params = json.at("params").get<std::map<std::string, std::string>>(),
          .libraries = json.at("libraries").get<std::vector<std::string>>(),
          .scratch_dir = json.at("scratch_dir"),
          .python = python_from(json.at("python"))};
}

Json to_json(const DeviceTask& task) {
  Json json = object_of_size(14);
  json["image"] = image_json(task.image);
  json["rival"] = image_json(task.rival);
  json["library"] = task.library;
  json["changing"] = task.changing;
  json["profile"] = task.profile ? to_json(*task.profile) : Json();
  json["seed"] = task.seed;
  json["workloads"] = array_json(task.workloads, task_json);
  json["budget"] = budget_json(task.budget);
  json["limit_ms"] = task.limit_ms;
  json["dump_dir"] = task.dump_dir;
  json["mutation"] = task.mutation;
  json["twin"] = task.twin ? Json(*task.twin) : Json();
  json["mutated_input"] = task.mutated_input;
  json["follow_bytes"] = task.follow_bytes;
  return json;
}

DeviceTask device_task_from_json(const Json& json) {
  const Json &profile = json.at("profile"), &twin = json.at("twin");
  return {.image = image_from(json.at("image")),
          .rival = image_from(json.at("rival")),
          .library = json.at("library"),
          .changing = json.at("changing"),
          .profile = profile.is_null() ? std::nullopt : std::optional(profile_options_from_json(profile)),
          .seed = json.at("seed"),
          .workloads = array_from(json.at("workloads"), task_from),
          .budget = budget_from(json.at("budget")),
          .limit_ms = json.at("limit_ms"),
          .dump_dir = json.at("dump_dir"),
          .mutation = json.at("mutation"),
          .twin = twin.is_null() ? std::nullopt : std::optional(twin.get<std::string>()),
          .mutated_input = json.at("mutated_input"),
          .follow_bytes = json.at("follow_bytes")};
}

}  // namespace ak::runtime
