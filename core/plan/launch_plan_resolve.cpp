// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <limits>
#include <set>
#include <span>

#include "core/gate.h"
#include "core/plan/launch_plan.h"
#include "core/text/json_reader.h"

namespace ak {
namespace {

// CUDA C++ Programming Guide, technical specifications: the same for every compute capability since 7.5.
constexpr std::int64_t kMaxThreadsPerBlock = 1024;
// Ours: far above any honest plan, small enough that a hostile one cannot exhaust the harness.
constexpr std::int64_t kMaxWorkspaceBytes = std::int64_t{16} << 30;
constexpr std::size_t kMaxLaunches = 4096;
constexpr std::int64_t kMaxLoopSteps = kMaxLaunches;

/// Ends resolve() with an error; never leaves this file.
struct ResolveFailure {
  std::string message;
};

std::int64_t integer(const Expression& expression, const Environment& environment, const std::string& field) {
  const Result<std::int64_t> value = expression.evaluate_integer(environment);
  if (!value)
    throw ResolveFailure{fmt::format("{} '{}': {}", field, expression.text(), value.error().message)};
  return *value;
}

bool is_true(const Expression& expression, const Environment& environment, const std::string& field) {
  const Result<bool> value = expression.evaluate_bool(environment);
  if (!value)
    throw ResolveFailure{fmt::format("{} '{}': {}", field, expression.text(), value.error().message)};
  return *value;
}

std::array<std::uint32_t, 3> dimensions(const std::vector<Expression>& expressions,
                                        const Environment& environment, const std::string& field,
                                        const std::array<std::int64_t, 3>& limits) {
  std::array<std::uint32_t, 3> result{1, 1, 1};
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::string name = fmt::format("{}[{}]", field, i);
    const std::int64_t value = integer(expressions[i], environment, name);
    if (value < 1 || value > limits[i]) {
      throw ResolveFailure{
          fmt::format("{} '{}' is {}, expected 1 to {}", name, expressions[i].text(), value, limits[i])};
    }
    result[i] = static_cast<std::uint32_t>(value);
  }
  return result;
}

ResolvedScalar resolve_scalar(const ScalarArgument& scalar, const Environment& environment,
                              const std::string& field) {
  ResolvedScalar result{.type = scalar.type, .integer = 0, .real = 0};
  if (const auto* literal = std::get_if<double>(&scalar.value)) {
    result.real = *literal;
    return result;
  }
  const std::int64_t value = integer(std::get<Expression>(scalar.value), environment, field);
  if (is_floating(scalar.type)) {
    result.real = static_cast<double>(value);
    return result;
  }
  if (scalar.type == ScalarType::i32 && (value > std::numeric_limits<std::int32_t>::max() ||
                                         value < std::numeric_limits<std::int32_t>::min())) {
    throw ResolveFailure{fmt::format("{} is {}, which does not fit an i32; pass an i64", field, value)};
  }
  if (scalar.type == ScalarType::boolean && value != 0 && value != 1)
    throw ResolveFailure{fmt::format("{} is {}, expected 0 or 1 for a bool", field, value)};
  result.integer = value;
  return result;
}

/// The type of the scalar input `name`; nothing where it is none.
std::optional<ScalarType> scalar_input(const std::string& name, const Environment& environment) {
  const auto found = environment.find("scalar_" + name);
  if (found == environment.end()) return std::nullopt;
  const auto dtype = parse_dtype(to_string(found->second));
  return dtype ? scalar_type(*dtype) : std::nullopt;
}

/// `{"f32": "eps"}`: a scalar input that the kernel takes in another type.
std::optional<ResolvedScalarInput> converted_input(const ScalarArgument& scalar,
                                                   const Environment& environment, const std::string& field) {
  const auto* value = std::get_if<Expression>(&scalar.value);
  if (value == nullptr) return std::nullopt;
  const auto given = scalar_input(value->text(), environment);
  if (!given) return std::nullopt;
  const bool narrows = (is_floating(*given) && !is_floating(scalar.type)) ||
                       (scalar.type == ScalarType::boolean && *given != ScalarType::boolean) ||
                       (scalar.type == ScalarType::i32 && *given == ScalarType::i64);
  if (narrows)
    throw ResolveFailure{fmt::format("{}: the scalar '{}' is {}, which {} does not hold", field,
                                     value->text(), to_string(*given), to_string(scalar.type))};
  return ResolvedScalarInput{value->text(), scalar.type};
}

ResolvedArgument resolve_argument(const ArgumentPlan& argument, const LaunchPlan& plan,
                                  const Environment& environment, const std::string& field) {
  if (const auto* scalar = std::get_if<ScalarArgument>(&argument)) {
    if (auto input = converted_input(*scalar, environment, field)) return std::move(*input);
    return resolve_scalar(*scalar, environment, field);
  }
  if (const auto* optional = std::get_if<OptionalArgument>(&argument)) {
    if (const auto type = scalar_input(optional->name, environment))
      return ResolvedScalarInput{optional->name, *type};
    // Every tensor that the problem has under these params brings the size of its elements.
    return ResolvedPointer{environment.contains("sizeof_" + optional->name) ? optional->name : ""};
  }
  const std::string& name = std::get<NamedArgument>(argument).name;
  if (const auto type = scalar_input(name, environment)) return ResolvedScalarInput{name, *type};
  for (const TensorMapPlan& map : plan.tensor_maps) {
    if (map.name == name) return ResolvedTensorMapReference{name};
  }
  return ResolvedPointer{name};
}

ResolvedLaunch resolve_launch(const LaunchPlanEntry& entry, const LaunchPlan& plan,
                              const Environment& environment, const std::string& field) {
  ResolvedLaunch launch;
  launch.kernel = entry.kernel;
  launch.grid = dimensions(entry.grid, environment, field + ".grid", kMaxGrid);
  launch.block = dimensions(entry.block, environment, field + ".block", kMaxBlock);
  const std::int64_t threads = std::int64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (threads > kMaxThreadsPerBlock) {
    throw ResolveFailure{
        fmt::format("{}.block has {} threads, at most {} are possible", field, threads, kMaxThreadsPerBlock)};
  }
  launch.cluster = dimensions(entry.cluster, environment, field + ".cluster",
                              {kMaxClusterBlocks, kMaxClusterBlocks, kMaxClusterBlocks});
  const std::int64_t cluster = std::int64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  if (cluster > kMaxClusterBlocks) {
    throw ResolveFailure{
        fmt::format("{}.cluster has {} blocks, at most {} are possible", field, cluster, kMaxClusterBlocks)};
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] % launch.cluster[i] == 0) continue;
    throw ResolveFailure{
        fmt::format("{0}.grid[{1}] is {2}, expected a multiple of cluster[{1}], which is {3}", field, i,
                    launch.grid[i], launch.cluster[i])};
  }
  if (entry.shared_bytes) {
    const std::int64_t bytes = integer(*entry.shared_bytes, environment, field + ".shared_bytes");
    if (bytes < 0 || bytes > kMaxSharedBytes) {
      throw ResolveFailure{
          fmt::format("{}.shared_bytes is {}, expected 0 to {}", field, bytes, kMaxSharedBytes)};
    }
    launch.shared_bytes = static_cast<std::uint32_t>(bytes);
  }
  launch.cooperative = entry.cooperative;
  launch.pdl = entry.pdl;
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    launch.arguments.push_back(
        resolve_argument(entry.arguments[i], plan, environment, fmt::format("{}.args[{}]", field, i)));
  }
  return launch;
}

void append_launches(const LaunchPlanEntry& entry, const LaunchPlan& plan, Environment environment,
                     const std::string& field, std::vector<ResolvedLaunch>& launches) {
  std::int64_t low = 0, high = 1;
  if (entry.loop) {
    low = integer(entry.loop->low, environment, field + ".for[1]");
    high = integer(entry.loop->high, environment, field + ".for[2]");
    // Checked before the loop: steps whose `when` is false count no launch and could continue for years.
    std::int64_t steps = 0;
    if (__builtin_sub_overflow(high, low, &steps) || steps > kMaxLoopSteps) {
      throw ResolveFailure{fmt::format("{}.for has more than {} steps", field, kMaxLoopSteps)};
    }
  }
  for (std::int64_t k = low; k < high; ++k) {
    if (entry.loop) environment[entry.loop->variable] = k;
    if (entry.when && !is_true(*entry.when, environment, field + ".when")) continue;
    if (launches.size() == kMaxLaunches)
      throw ResolveFailure{fmt::format("more than {} launches", kMaxLaunches)};
    launches.push_back(resolve_launch(entry, plan, environment, field));
  }
}

DType resolve_dtype(const std::string& name, const Environment& environment, const std::string& field) {
  if (const auto dtype = parse_dtype(name)) return *dtype;
  const auto param = environment.find(name);
  if (param == environment.end())
    throw ResolveFailure{fmt::format("{}: '{}' is neither a dtype nor a param", field, name)};
  const auto dtype = parse_dtype(to_string(param->second));
  if (!dtype)
    throw ResolveFailure{
        fmt::format("{}: '{}' is {}, which is not a dtype", field, name, to_string(param->second))};
  return *dtype;
}

std::vector<ResolvedWorkspace> resolve_workspace(const LaunchPlan& plan, const Environment& environment) {
  std::vector<ResolvedWorkspace> result;
  std::int64_t total_bytes = 0;
  for (std::size_t i = 0; i < plan.workspace.size(); ++i) {
    const WorkspacePlan& workspace = plan.workspace[i];
    const std::string field = fmt::format("workspace[{}].count", i);
    const std::int64_t count = integer(workspace.count, environment, field);
    const DType dtype = resolve_dtype(workspace.dtype, environment, fmt::format("workspace[{}].dtype", i));
    const std::int64_t bytes = info(dtype).bytes;
    if (count < 0 || count > (kMaxWorkspaceBytes - total_bytes) / bytes) {
      throw ResolveFailure{
          fmt::format("{} is {}: workspace is limited to {} bytes in all", field, count, kMaxWorkspaceBytes)};
    }
    total_bytes += count * bytes;
    result.push_back({workspace.name, dtype, count, workspace.init, workspace.prepared});
  }
  return result;
}

std::vector<std::int64_t> integers(const std::vector<Expression>& expressions, const Environment& environment,
                                   const std::string& field) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    values.push_back(integer(expressions[i], environment, fmt::format("{}[{}]", field, i)));
    if (values.back() < 1)
      throw ResolveFailure{fmt::format("{}[{}] is {}, expected at least 1", field, i, values.back())};
  }
  return values;
}

/// The tensor maps that launches are passed.
std::set<std::string> used_maps(const ResolvedPlan& plan) {
  std::set<std::string> names;
  for (const auto* launches : {&plan.prepare, &plan.launches})
    for (const ResolvedLaunch& launch : *launches)
      for (const ResolvedArgument& argument : launch.arguments)
        if (const auto* map = std::get_if<ResolvedTensorMapReference>(&argument)) names.insert(map->name);
  return names;
}

/// Those of `used` alone: what a launch that does not happen would be passed may have no value for these sizes.
std::vector<ResolvedTensorMap> resolve_tensor_maps(const LaunchPlan& plan, const Environment& environment,
                                                   const std::set<std::string>& used) {
  std::vector<ResolvedTensorMap> result;
  for (std::size_t i = 0; i < plan.tensor_maps.size(); ++i) {
    const TensorMapPlan& map = plan.tensor_maps[i];
    if (!used.contains(map.name)) continue;
    const std::string field = fmt::format("tensor_maps[{}]", i);
    ResolvedTensorMap resolved{map.name,
                               map.tensor,
                               resolve_dtype(map.dtype, environment, field + ".dtype"),
                               integers(map.dims, environment, field + ".dims"),
                               integers(map.strides_bytes, environment, field + ".strides_bytes"),
                               integers(map.box, environment, field + ".box"),
                               integers(map.element_strides, environment, field + ".element_strides"),
                               map.interleave,
                               map.swizzle,
                               map.l2_promotion,
                               map.oob_fill};
    if (resolved.element_strides.empty()) resolved.element_strides.assign(resolved.dims.size(), 1);
    result.push_back(std::move(resolved));
  }
  return result;
}

ResolvedPlan resolve_or_throw(const LaunchPlan& plan, Environment environment) {
  for (const auto& [name, expression] : plan.let) {
    const Result<Value> value = expression.evaluate(environment);
    if (!value)
      throw ResolveFailure{fmt::format("let.{} '{}': {}", name, expression.text(), value.error().message)};
    environment[name] = *value;
  }
  for (const Expression& constraint : plan.constraints) {
    if (!is_true(constraint, environment, "constraint")) {
      throw ResolveFailure{fmt::format("the constraint '{}' does not hold", constraint.text())};
    }
  }
  ResolvedPlan resolved{resolve_workspace(plan, environment), {}, {}};
  for (std::size_t i = 0; i < plan.prepare.size(); ++i)
    append_launches(plan.prepare[i], plan, environment, fmt::format("prepare[{}]", i), resolved.prepare);
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    append_launches(plan.launches[i], plan, environment, fmt::format("launches[{}]", i), resolved.launches);
  }
  resolved.tensor_maps = resolve_tensor_maps(plan, environment, used_maps(resolved));
  // What the first launch would overlap with is another call.
  for (auto* launches : {&resolved.prepare, &resolved.launches})
    if (!launches->empty()) launches->front().pdl = false;
  if (resolved.launches.empty() && gate_enabled(Gate::plan_bounds))
    throw ResolveFailure{"no launch remains: every 'when' is false"};
  return resolved;
}

Json resolved_argument_json(const ResolvedArgument& argument) {
  if (const auto* pointer = std::get_if<ResolvedPointer>(&argument)) return {{"pointer", pointer->name}};
  if (const auto* map = std::get_if<ResolvedTensorMapReference>(&argument))
    return {{"tensor_map", map->name}};
  if (const auto* input = std::get_if<ResolvedScalarInput>(&argument))
    return {{"scalar", input->name}, {"type", to_string(input->type)}};
  const auto& scalar = std::get<ResolvedScalar>(argument);
  return {{std::string(to_string(scalar.type)),
           is_floating(scalar.type) ? Json(scalar.real) : Json(scalar.integer)}};
}

Json resolved_launch_json(const ResolvedLaunch& launch) {
  Json arguments = Json::array();
  for (const ResolvedArgument& argument : launch.arguments)
    arguments.push_back(resolved_argument_json(argument));
  return {{"kernel", launch.kernel},
          {"grid", launch.grid},
          {"block", launch.block},
          {"cluster", launch.cluster},
          {"shared_bytes", launch.shared_bytes},
          {"cooperative", launch.cooperative},
          {"pdl", launch.pdl},
          {"args", std::move(arguments)}};
}

ResolvedArgument argument_from_json(const JsonReader& at) {
  if (const auto given = at.find("pointer")) return ResolvedPointer{given->text()};
  if (const auto given = at.find("tensor_map")) return ResolvedTensorMapReference{given->text()};
  constexpr std::array kIntegers{ScalarType::i32, ScalarType::i64, ScalarType::boolean};
  constexpr std::array kReals{ScalarType::f32, ScalarType::f64};
  if (const auto given = at.find("scalar")) {
    for (const auto& types : {std::span<const ScalarType>(kIntegers), std::span<const ScalarType>(kReals)}) {
      for (const ScalarType type : types)
        if (at.member("type").text() == to_string(type)) return ResolvedScalarInput{given->text(), type};
    }
    at.member("type").fail("the type of a scalar");
  }
  for (const ScalarType type : kIntegers) {
    if (const auto given = at.find(to_string(type))) return ResolvedScalar{type, given->integer(), 0};
  }
  for (const ScalarType type : kReals) {
    if (const auto given = at.find(to_string(type))) return ResolvedScalar{type, 0, given->number()};
  }
  at.fail("a resolved argument");
}

DType dtype_from_json(const JsonReader& at) {
  const auto dtype = parse_dtype(at.text());
  if (!dtype) at.fail("a dtype");
  return *dtype;
}

std::array<std::uint32_t, 3> dimensions_from_json(const JsonReader& at) {
  const auto items = at.items();
  if (items.size() != 3) at.fail("three integers");
  std::array<std::uint32_t, 3> result{};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t value = items[i].integer();
    if (value < 1 || value > kMaxGrid[0]) items[i].fail("a dimension");
    result[i] = static_cast<std::uint32_t>(value);
  }
  return result;
}

std::vector<std::int64_t> integers_from_json(const JsonReader& at) {
  std::vector<std::int64_t> values;
  for (const JsonReader& item : at.items()) values.push_back(item.integer());
  return values;
}

ResolvedLaunch launch_from_json(const JsonReader& at) {
  ResolvedLaunch launch;
  launch.kernel = at.member("kernel").text();
  launch.grid = dimensions_from_json(at.member("grid"));
  launch.block = dimensions_from_json(at.member("block"));
  launch.cluster = dimensions_from_json(at.member("cluster"));
  const std::int64_t shared_bytes = at.member("shared_bytes").integer();
  if (shared_bytes < 0 || shared_bytes > kMaxSharedBytes) at.member("shared_bytes").fail("a size in bytes");
  launch.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  launch.cooperative = at.member("cooperative").boolean();
  launch.pdl = at.member("pdl").boolean();
  for (const JsonReader& item : at.member("args").items())
    launch.arguments.push_back(argument_from_json(item));
  return launch;
}

ResolvedTensorMap tensor_map_from_json(const JsonReader& at) {
  return {at.member("name").text(),
          at.member("tensor").text(),
          dtype_from_json(at.member("dtype")),
          integers_from_json(at.member("dims")),
          integers_from_json(at.member("strides_bytes")),
          integers_from_json(at.member("box")),
          integers_from_json(at.member("element_strides")),
          at.member("interleave").text(),
          at.member("swizzle").text(),
          at.member("l2_promotion").text(),
          at.member("oob_fill").text()};
}

}  // namespace

Result<ResolvedPlan> resolve(const LaunchPlan& plan, const Environment& environment) {
  try {
    return resolve_or_throw(plan, environment);
  } catch (const ResolveFailure& failure) {
    return InputError{failure.message};
  }
}

Json to_json(const ResolvedPlan& plan) {
  Json json = {{"workspace", Json::array()}, {"tensor_maps", Json::array()}, {"launches", Json::array()}};
  for (const ResolvedWorkspace& w : plan.workspace) {
    json["workspace"].push_back({{"name", w.name},
                                 {"dtype", info(w.dtype).name},
                                 {"count", w.count},
                                 {"zero", w.init == WorkspaceInit::zero}});
    if (w.prepared) json["workspace"].back()["prepared"] = true;
  }
  for (const ResolvedTensorMap& m : plan.tensor_maps) {
    json["tensor_maps"].push_back({{"name", m.name},
                                   {"tensor", m.tensor},
                                   {"dtype", info(m.dtype).name},
                                   {"dims", m.dims},
                                   {"strides_bytes", m.strides_bytes},
                                   {"box", m.box},
                                   {"element_strides", m.element_strides},
                                   {"interleave", m.interleave},
                                   {"swizzle", m.swizzle},
                                   {"l2_promotion", m.l2_promotion},
                                   {"oob_fill", m.oob_fill}});
  }
  for (const ResolvedLaunch& launch : plan.launches) json["launches"].push_back(resolved_launch_json(launch));
  // Only where there are some: the text names the program (program_key).
  for (const ResolvedLaunch& launch : plan.prepare) json["prepare"].push_back(resolved_launch_json(launch));
  return json;
}

ResolvedPlan resolved_plan_from_json(const Json& json) {
  try {
    const JsonReader at(json);
    ResolvedPlan plan;
    for (const JsonReader& item : at.member("workspace").items()) {
      plan.workspace.push_back({item.member("name").text(), dtype_from_json(item.member("dtype")),
                                item.member("count").integer(),
                                item.member("zero").boolean() ? WorkspaceInit::zero : WorkspaceInit::none,
                                item.find("prepared").has_value()});
    }
    for (const JsonReader& item : at.member("tensor_maps").items())
      plan.tensor_maps.push_back(tensor_map_from_json(item));
    for (const JsonReader& item : at.member("launches").items())
      plan.launches.push_back(launch_from_json(item));
    if (const auto given = at.find("prepare")) {
      for (const JsonReader& item : given->items()) plan.prepare.push_back(launch_from_json(item));
    }
    return plan;
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "resolved plan: {}", input_error.what());
  }
}

}  // namespace ak
