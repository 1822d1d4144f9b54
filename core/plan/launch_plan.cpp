// SPDX-License-Identifier: Apache-2.0
#include "core/plan/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "core/build.h"
#include "core/text/characters.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

struct ScalarName {
  ScalarType type;
  std::string_view name;
};
constexpr std::array kScalars{ScalarName{ScalarType::i32, "i32"}, ScalarName{ScalarType::i64, "i64"},
                              ScalarName{ScalarType::f32, "f32"}, ScalarName{ScalarType::f64, "f64"},
                              ScalarName{ScalarType::boolean, "bool"}};

bool is_macro_name(const std::string& name) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return !name.empty() && upper(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return upper(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

constexpr Format kLaunchPlanFormat{.name = "a launch plan"};
constexpr std::size_t kShownBytes = 200;  // of a wrong expression: enough to recognise it

/// An integer, or an expression as a string.
Expression read_expression(const JsonReader& at) {
  const Json& json = at.json();
  if (!json.is_number_integer() && !json.is_string()) at.fail("an integer or an expression string");
  const std::string text = json.is_string() ? json.get<std::string>() : json.dump();
  Result<Expression> parsed = Expression::parse(text);
  if (!parsed) at.reject(fmt::format("'{}': {}", sanitize(text, kShownBytes), parsed.error().message));
  return std::move(parsed).value();
}

std::vector<Expression> read_expressions(const JsonReader& at, std::size_t least, std::size_t most) {
  const std::vector<JsonReader> items = at.items();
  if (items.size() < least || items.size() > most) {
    at.fail(fmt::format("a list of {} to {} integers or expressions", least, most));
  }
  std::vector<Expression> expressions;
  for (const JsonReader& item : items) expressions.push_back(read_expression(item));
  return expressions;
}

/// A dtype by its full name, or the name of a param, which resolve() looks up.
std::string read_dtype(const JsonReader& at) {
  const std::string name = at.text();
  if (const std::optional<DType> dtype = parse_dtype(name)) return std::string(info(*dtype).name);
  // Names of params are lower case, so that a misspelt dtype in capitals is caught here.
  const bool capitals =
      std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isupper(c) != 0; });
  if (is_identifier(name) && !capitals) return name;
  std::vector<std::string> names;
  for (const DTypeInfo& entry : dtypes()) names.emplace_back(entry.name);
  at.fail(fmt::format("a dtype ({}) or the name of a param", fmt::join(names, ", ")));
}

std::int64_t read_tunable_value(const JsonReader& at) {
  if (at.json().is_boolean()) return at.json().get<bool>();
  if (!at.json().is_number_integer()) at.fail("an integer or a boolean");
  return at.integer();
}

Tunable read_tunable(const std::string& name, const JsonReader& at) {
  if (!is_macro_name(name)) at.fail("a name of capital letters, digits and '_', such as BLOCK");
  at.only({"values", "default"});
  Tunable tunable{.name = name, .values = {}, .default_value = 0};
  std::set<std::int64_t> seen;
  for (const JsonReader& item : at.member("values").items()) {
    const std::int64_t value = read_tunable_value(item);
    if (!seen.insert(value).second) item.fail("values that differ from each other");
    tunable.values.push_back(value);
  }
  if (tunable.values.empty()) at.member("values").fail("at least one value");
  tunable.default_value = tunable.values.front();
  if (const auto given = at.find("default")) {
    tunable.default_value = read_tunable_value(*given);
    if (!seen.contains(tunable.default_value)) given->fail("one of the values");
  }
  return tunable;
}

WorkspacePlan read_workspace(const JsonReader& at) {
  at.only({"name", "dtype", "count", "init", "prepared"});
  WorkspaceInit init = WorkspaceInit::none;
  if (const auto given = at.find("init")) {
    const std::string text = given->text();
    if (text != "none" && text != "zero") given->fail("\"none\" or \"zero\"");
    init = text == "zero" ? WorkspaceInit::zero : WorkspaceInit::none;
  }
  const std::string name = at.member("name").text();
  if (!is_identifier(name)) at.member("name").fail("an identifier");
  return {.name = name,
          .dtype = read_dtype(at.member("dtype")),
          .count = read_expression(at.member("count")),
          .init = init,
          .prepared = at.find("prepared") && at.member("prepared").boolean()};
}

std::string read_choice(const JsonReader& at, std::string_view key, const std::vector<std::string>& choices) {
  const auto given = at.find(key);
  if (!given) return choices.front();
  const std::string text = given->text();
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    given->fail(fmt::format("one of {}", fmt::join(choices, ", ")));
  }
  return text;
}

constexpr std::size_t kMaxTensorMapRank = 5;  // CUDA driver API, cuTensorMapEncodeTiled

TensorMapPlan read_tensor_map(const JsonReader& at) {
  at.only({"name", "tensor", "dtype", "dims", "strides_bytes", "box", "element_strides", "interleave",
           "swizzle", "l2_promotion", "oob_fill"});
  TensorMapPlan map;
  map.name = at.member("name").text();
  map.tensor = at.member("tensor").text();
  map.dtype = read_dtype(at.member("dtype"));
  map.dims = read_expressions(at.member("dims"), 1, kMaxTensorMapRank);
  const std::size_t rank = map.dims.size();
  if (rank > 1 || at.find("strides_bytes"))
    map.strides_bytes = read_expressions(at.member("strides_bytes"), rank - 1, rank - 1);
  map.box = read_expressions(at.member("box"), rank, rank);
  if (const auto given = at.find("element_strides"))
    map.element_strides = read_expressions(*given, rank, rank);
  map.interleave = read_choice(at, "interleave", {"none", "16B", "32B"});
  map.swizzle = read_choice(at, "swizzle", {"none", "32B", "64B", "128B"});
  map.l2_promotion = read_choice(at, "l2_promotion", {"none", "64B", "128B", "256B"});
  map.oob_fill = read_choice(at, "oob_fill", {"none", "nan"});
  return map;
}

/// Beyond the largest float a conversion to f32 would be undefined.
double read_real(const JsonReader& at, ScalarType type) {
  const double value = at.number();
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (type == ScalarType::f32 && (value > kLargest || value < -kLargest))
    at.fail("a number that fits in f32");
  return value;
}

ArgumentPlan read_argument(const JsonReader& at) {
  if (at.json().is_string()) return NamedArgument{at.text()};
  const std::string expected =
      "a tensor or workspace name, {\"optional\": name}, or a scalar such as {\"i32\": \"N\"}";
  if (!at.json().is_object() || at.json().size() != 1) at.fail(expected);
  const std::string key = at.json().begin().key();
  if (key == "optional") return OptionalArgument{at.member(key).text()};
  const auto found =
      std::find_if(kScalars.begin(), kScalars.end(), [&](const ScalarName& s) { return s.name == key; });
  if (found == kScalars.end()) at.fail(expected);
  const JsonReader value = at.member(key);
  if (is_floating(found->type) && value.json().is_number())
    return ScalarArgument{found->type, read_real(value, found->type)};
  return ScalarArgument{found->type, read_expression(value)};
}

LoopPlan read_loop(const JsonReader& at) {
  const std::vector<JsonReader> items = at.items();
  if (items.size() != 3) at.fail("[variable, low, high]");
  const std::string variable = items[0].text();
  if (!is_identifier(variable)) items[0].fail("an identifier");
  return {variable, read_expression(items[1]), read_expression(items[2])};
}

LaunchPlanEntry read_launch(const JsonReader& at) {
  at.only(
      {"kernel", "grid", "block", "cluster", "args", "shared_bytes", "cooperative", "pdl", "when", "for"});
  LaunchPlanEntry launch;
  launch.kernel = at.member("kernel").text();
  if (!is_name_expression(launch.kernel)) {
    at.member("kernel").fail("the C++ name of a kernel: letters, digits, '_', blanks and :<>,()*&+-/=!?|^~.");
  }
  launch.grid = read_expressions(at.member("grid"), 1, 3);
  launch.block = read_expressions(at.member("block"), 1, 3);
  if (const auto given = at.find("cluster")) launch.cluster = read_expressions(*given, 1, 3);
  for (const JsonReader& item : at.member("args").items()) launch.arguments.push_back(read_argument(item));
  if (const auto given = at.find("shared_bytes")) launch.shared_bytes = read_expression(*given);
  if (const auto given = at.find("cooperative")) launch.cooperative = given->boolean();
  if (const auto given = at.find("pdl")) launch.pdl = given->boolean();
  if (const auto given = at.find("when")) launch.when = read_expression(*given);
  if (const auto given = at.find("for")) launch.loop = read_loop(*given);
  return launch;
}

TunableValues read_values(const JsonReader& at, const std::vector<Tunable>& tunables) {
  TunableValues values;
  for (const auto& [name, value] : at.members()) {
    const auto found = std::find_if(tunables.begin(), tunables.end(),
                                    [&name = name](const Tunable& t) { return t.name == name; });
    if (found == tunables.end()) value.fail("the name of a tunable");
    const std::int64_t number = read_tunable_value(value);
    if (std::find(found->values.begin(), found->values.end(), number) == found->values.end()) {
      value.fail(fmt::format("one of the values of {}", name));
    }
    values[name] = number;
  }
  return values;
}

/// A point: what is not named has its default.
TunableValues read_start(const JsonReader& at, const std::vector<Tunable>& tunables) {
  TunableValues values = read_values(at, tunables);
  for (const Tunable& tunable : tunables) values.try_emplace(tunable.name, tunable.default_value);
  return values;
}

/// Two things of one name would make an argument or an expression ambiguous.
void check_names(const JsonReader& at, const LaunchPlan& plan) {
  std::set<std::string> names;
  for (const Tunable& tunable : plan.tunables) names.insert(tunable.name);
  for (const auto& [name, expression] : plan.let) {
    if (!names.insert(name).second) at.member("let").member(name).reject("the name of a tunable too");
  }
  std::set<std::string> pointers;
  for (std::size_t i = 0; i < plan.workspace.size(); ++i) {
    if (pointers.insert(plan.workspace[i].name).second) continue;
    at.member("workspace").items()[i].member("name").fail("a name that no other workspace has");
  }
  for (std::size_t i = 0; i < plan.tensor_maps.size(); ++i) {
    if (pointers.insert(plan.tensor_maps[i].name).second) continue;
    at.member("tensor_maps").items()[i].member("name").fail("a name that nothing else has");
  }
}

/// Whether a launch is passed `name`, or a tensor map of it.
bool passes(const LaunchPlan& plan, const LaunchPlanEntry& launch, const std::string& name) {
  return std::ranges::any_of(launch.arguments, [&](const ArgumentPlan& argument) {
    const auto* named = std::get_if<NamedArgument>(&argument);
    if (named == nullptr) return false;
    const auto map = std::ranges::find(plan.tensor_maps, named->name, &TensorMapPlan::name);
    return named->name == name || (map != plan.tensor_maps.end() && map->tensor == name);
  });
}

/// What outlives a call is written by `prepare`, and by nothing else does `prepare` leave anything behind.
void check_prepared(const JsonReader& at, const LaunchPlan& plan) {
  for (std::size_t i = 0; i < plan.workspace.size(); ++i) {
    const WorkspacePlan& space = plan.workspace[i];
    const bool used = std::ranges::any_of(
        plan.prepare, [&](const LaunchPlanEntry& launch) { return passes(plan, launch, space.name); });
    if (space.prepared && !used)
      at.member("workspace")
          .items()[i]
          .reject(fmt::format("'{}' is prepared, but no launch of \"prepare\" is passed it", space.name));
    if (!space.prepared && used)
      at.member("workspace")
          .items()[i]
          .reject(fmt::format("'{}' is passed to a launch of \"prepare\": give it \"prepared\": true",
                              space.name));
  }
  const bool keeps = std::ranges::any_of(plan.workspace, &WorkspacePlan::prepared);
  if (!plan.prepare.empty() && !keeps)
    at.member("prepare").reject("no workspace is \"prepared\": what these launches write would be lost");
}

LaunchPlan read_plan(const JsonReader& at) {
  at.only({"format", "tunables", "starts", "constraints", "let", "time_terms", "workspace", "tensor_maps",
           "prepare", "launches", "options", "problem", "params", "frozen"});
  LaunchPlan plan;
  if (const auto given = at.find("tunables")) {
    for (const auto& [name, value] : given->members()) plan.tunables.push_back(read_tunable(name, value));
  }
  if (const auto given = at.find("starts")) {
    for (const JsonReader& item : given->items()) plan.starts.push_back(read_start(item, plan.tunables));
  }
  if (const auto given = at.find("constraints")) {
    for (const JsonReader& item : given->items()) plan.constraints.push_back(read_expression(item));
  }
  if (const auto given = at.find("let")) {
    for (const auto& [name, value] : given->members()) {
      if (!is_identifier(name)) value.fail("an identifier as name");
      plan.let.emplace_back(name, read_expression(value));
    }
  }
  if (const auto given = at.find("time_terms")) {
    for (const JsonReader& item : given->items()) plan.time_terms.push_back(read_expression(item));
  }
  if (const auto given = at.find("workspace")) {
    for (const JsonReader& item : given->items()) plan.workspace.push_back(read_workspace(item));
  }
  if (const auto given = at.find("tensor_maps")) {
    for (const JsonReader& item : given->items()) plan.tensor_maps.push_back(read_tensor_map(item));
  }
  if (const auto given = at.find("prepare")) {
    for (const JsonReader& item : given->items()) plan.prepare.push_back(read_launch(item));
  }
  for (const JsonReader& item : at.member("launches").items()) plan.launches.push_back(read_launch(item));
  if (plan.launches.empty()) at.member("launches").fail("at least one launch");
  if (const auto given = at.find("options")) {
    for (const JsonReader& item : given->items()) plan.options.push_back(item.text());
  }
  if (const auto given = at.find("problem")) plan.problem = given->text();
  if (const auto given = at.find("params")) {
    if (!given->json().is_object()) given->fail("an object");
    plan.params = given->json();
  }
  if (const auto given = at.find("frozen")) plan.frozen = read_values(*given, plan.tunables);
  check_names(at, plan);
  check_prepared(at, plan);
  return plan;
}

Json expressions_json(const std::vector<Expression>& expressions) {
  Json json = Json::array();
  for (const Expression& expression : expressions) json.push_back(expression.text());
  return json;
}

Json argument_json(const ArgumentPlan& argument) {
  if (const auto* named = std::get_if<NamedArgument>(&argument)) return named->name;
  if (const auto* optional = std::get_if<OptionalArgument>(&argument)) return {{"optional", optional->name}};
  const auto& scalar = std::get<ScalarArgument>(argument);
  Json value = std::holds_alternative<double>(scalar.value) ? Json(std::get<double>(scalar.value))
                                                            : Json(std::get<Expression>(scalar.value).text());
  return {{std::string(to_string(scalar.type)), std::move(value)}};
}

Json launch_json(const LaunchPlanEntry& launch) {
  Json json = {{"kernel", launch.kernel},
               {"grid", expressions_json(launch.grid)},
               {"block", expressions_json(launch.block)}};
  if (!launch.cluster.empty()) json["cluster"] = expressions_json(launch.cluster);
  if (launch.shared_bytes) json["shared_bytes"] = launch.shared_bytes->text();
  if (launch.cooperative) json["cooperative"] = true;
  if (launch.pdl) json["pdl"] = true;
  if (launch.when) json["when"] = launch.when->text();
  if (launch.loop) json["for"] = {launch.loop->variable, launch.loop->low.text(), launch.loop->high.text()};
  json["args"] = Json::array();
  for (const ArgumentPlan& argument : launch.arguments) json["args"].push_back(argument_json(argument));
  return json;
}

Json tensor_map_json(const TensorMapPlan& map) {
  Json json = {
      {"name", map.name}, {"tensor", map.tensor}, {"dtype", map.dtype}, {"dims", expressions_json(map.dims)}};
  if (!map.strides_bytes.empty()) json["strides_bytes"] = expressions_json(map.strides_bytes);
  json["box"] = expressions_json(map.box);
  if (!map.element_strides.empty()) json["element_strides"] = expressions_json(map.element_strides);
  json["interleave"] = map.interleave;
  json["swizzle"] = map.swizzle;
  json["l2_promotion"] = map.l2_promotion;
  json["oob_fill"] = map.oob_fill;
  return json;
}

}  // namespace

std::string_view to_string(ScalarType type) {
  for (const ScalarName& entry : kScalars) {
    if (entry.type == type) return entry.name;
  }
  AK_ASSERT(false, "every ScalarType has a row in kScalars");
  return "";
}

bool is_floating(ScalarType type) { return type == ScalarType::f32 || type == ScalarType::f64; }

std::optional<ScalarType> scalar_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return ScalarType::f32;
    case DType::float64:
      return ScalarType::f64;
    case DType::int32:
      return ScalarType::i32;
    case DType::int64:
      return ScalarType::i64;
    case DType::boolean:
      return ScalarType::boolean;
    default:
      return std::nullopt;
  }
}

Result<LaunchPlan> launch_plan_from_json(const Json& json) {
  try {
    const Json plan = up_to_date(kLaunchPlanFormat, json);
    return read_plan(JsonReader(plan));
  } catch (const JsonInputError& input_error) {
    return InputError{input_error.what()};
  }
}

Json to_json(const LaunchPlan& plan) {
  Json json = Json::object();
  // The first version is not written: the text of a candidate is its identity.
  if (kLaunchPlanFormat.current() > 1) set_version(kLaunchPlanFormat, json);
  if (!plan.problem.empty()) json["problem"] = plan.problem;
  if (plan.params.is_object()) json["params"] = plan.params;
  if (!plan.frozen.empty()) json["frozen"] = plan.frozen;
  if (!plan.tunables.empty()) json["tunables"] = Json::object();
  for (const Tunable& tunable : plan.tunables) {
    json["tunables"][tunable.name] = {{"values", tunable.values}, {"default", tunable.default_value}};
  }
  for (const TunableValues& start : plan.starts) json["starts"].push_back(start);
  if (!plan.constraints.empty()) json["constraints"] = expressions_json(plan.constraints);
  if (!plan.let.empty()) json["let"] = Json::object();
  for (const auto& [name, expression] : plan.let) json["let"][name] = expression.text();
  if (!plan.time_terms.empty()) json["time_terms"] = expressions_json(plan.time_terms);
  if (!plan.workspace.empty()) json["workspace"] = Json::array();
  for (const WorkspacePlan& w : plan.workspace) {
    json["workspace"].push_back({{"name", w.name},
                                 {"dtype", w.dtype},
                                 {"count", w.count.text()},
                                 {"init", w.init == WorkspaceInit::zero ? "zero" : "none"}});
    if (w.prepared) json["workspace"].back()["prepared"] = true;
  }
  if (!plan.tensor_maps.empty()) json["tensor_maps"] = Json::array();
  for (const TensorMapPlan& map : plan.tensor_maps) json["tensor_maps"].push_back(tensor_map_json(map));
  if (!plan.prepare.empty()) json["prepare"] = Json::array();
  for (const LaunchPlanEntry& launch : plan.prepare) json["prepare"].push_back(launch_json(launch));
  json["launches"] = Json::array();
  for (const LaunchPlanEntry& launch : plan.launches) json["launches"].push_back(launch_json(launch));
  if (!plan.options.empty()) json["options"] = plan.options;
  return json;
}

}  // namespace ak
