// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/problem_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "codegen/problem/held_out.h"
#include "codegen/problem/problem_files.h"
#include "codegen/problem/problem_values.h"
#include "codegen/problem/tolerance_reader.h"
#include "core/plan/input_mutation.h"
#include "core/plan/launch_plan.h"
#include "core/text/characters.h"
#include "core/text/format_version.h"
#include "core/text/hash.h"

namespace ak::codegen {
namespace {

template <class Enum>
struct Spelling {
  std::string_view name;
  Enum value;
};
// Shapes drawn from a range when it is read, to find one that yields shapes only by luck (chosen).
constexpr std::uint32_t kTrialDraws = 16;
constexpr Format kProblemFormat{.name = "problem.json"};

constexpr std::array kParamTypes{Spelling<ParamType>{"choice", ParamType::choice},
                                 Spelling<ParamType>{"integer", ParamType::integer},
                                 Spelling<ParamType>{"boolean", ParamType::boolean}};
constexpr std::array kRoles{Spelling<WorkloadRole>{"check", WorkloadRole::check},
                            Spelling<WorkloadRole>{"time", WorkloadRole::time}};
constexpr std::array kTiers{Spelling<WorkloadTier>{"emulator", WorkloadTier::emulator},
                            Spelling<WorkloadTier>{"gpu", WorkloadTier::gpu},
                            Spelling<WorkloadTier>{"deep", WorkloadTier::deep}};

template <class Table>
auto read_spelling(const JsonReader& at, const Table& table, std::string_view or_else = "") {
  const std::string text = at.text();
  std::vector<std::string_view> names;
  for (const auto& row : table) {
    if (row.name == text) return row.value;
    names.push_back(row.name);
  }
  at.fail(fmt::format("one of {}{}", fmt::join(names, ", "), or_else));
}

Value read_value(const JsonReader& at) {
  if (at.json().is_string()) return at.text();
  if (at.json().is_boolean()) return std::int64_t{at.boolean()};
  return at.integer();
}

ParamSpec read_param(const std::string& name, const JsonReader& at) {
  at.only({"type", "choices", "minimum", "maximum", "tried", "default", "help"});
  ParamSpec param;
  param.name = name;
  param.type = read_spelling(at.member("type"), kParamTypes);
  if (const auto given = at.find("choices")) {
    for (const JsonReader& item : given->items()) param.choices.push_back(read_value(item));
  }
  if (const auto given = at.find("minimum")) param.minimum = given->integer();
  if (const auto given = at.find("maximum")) param.maximum = given->integer();
  if (param.type == ParamType::boolean) param.choices = {std::int64_t{0}, std::int64_t{1}};
  if (param.type == ParamType::choice && param.choices.empty())
    at.member("choices").fail("at least one choice");
  param.default_value = read_value(at.member("default"));
  if (!is_allowed(param, param.default_value)) at.member("default").fail("one of the allowed values");
  if (const auto given = at.find("tried")) {
    if (!param.minimum && !param.maximum)
      given->fail("a \"minimum\" or a \"maximum\" beside it: choices are all tried");
    for (const JsonReader& item : given->items()) {
      param.tried.push_back(read_value(item));
      if (!is_allowed(param, param.tried.back())) item.fail("one of the allowed values");
    }
  }
  param.help = at.member("help").text();
  return param;
}

/// How a param's value appears in a definition's name.
std::string name_part(const std::string& param, const ParamSpec& spec, const Value& value) {
  if (spec.type == ParamType::boolean) return std::get<std::int64_t>(value) ? param : "no_" + param;
  const std::string text = to_string(value);
  if (const auto dtype = parse_dtype(text)) return std::string(info(*dtype).alias);
  return text;
}

/// How a param that came later appears in a definition's name: not at all where it has its default, so that names given
/// before stay what they were.
std::string name_suffix(const ParamSpec& spec, const Value& value) {
  if (value == spec.default_value) return "";
  const std::string part = name_part(spec.name, spec, value);
  return spec.type == ParamType::boolean ? "_" + part : "_" + spec.name + "_" + part;
}

/// Names of definitions, workloads, distributions and tensors are parts of the names of dumped and exported files.
std::string read_name(const JsonReader& at) {
  constexpr std::size_t kMaxNameBytes = 200;  // of the 255 that a file's name may have
  std::string name = at.text();
  const bool plain = !name.empty() && name.size() <= kMaxNameBytes && name != "." && name != ".." &&
                     std::ranges::none_of(name, [](unsigned char c) { return c == '/' || c < ' '; });
  if (!plain)
    at.fail(fmt::format("a name of at most {} bytes without '/' and control characters", kMaxNameBytes));
  return name;
}

std::string fill_name(const JsonReader& at, const Problem& problem, const Params& params) {
  std::string name = read_name(at);
  for (const ParamSpec& spec : problem.params) {
    const std::string hole = "{" + spec.name + "}";
    const std::string part = name_part(spec.name, spec, params.at(spec.name));
    for (std::size_t i = name.find(hole); i != std::string::npos; i = name.find(hole))
      name.replace(i, hole.size(), part);
    const std::string suffix = "{?" + spec.name + "}";
    if (const std::size_t i = name.find(suffix); i != std::string::npos)
      name.replace(i, suffix.size(), name_suffix(spec, params.at(spec.name)));
  }
  if (name.empty() || name.find('{') != std::string::npos) at.fail("a name whose {holes} are params");
  return name;
}

/// A derived axis over constants alone is a constant.
Axis derived_axis(Axis axis, Expression value, const std::vector<Axis>& earlier) {
  Environment constants;
  for (const Axis& one : earlier) {
    if (one.value) constants[one.name] = *one.value;
  }
  const Result<std::int64_t> known = value.evaluate_integer(constants);
  if (known)
    axis.value = *known;
  else
    axis.derived = std::move(value);
  return axis;
}

Axis read_axis(const std::string& name, const JsonReader& at, const Params& params,
               const std::vector<Axis>& earlier) {
  at.only({"type", "value", "description", "when"});
  Axis axis{.name = name, .value = std::nullopt, .description = ""};
  if (const auto given = at.find("description")) axis.description = given->text();
  const std::string type = at.member("type").text();
  if (type == "var") return axis;
  const JsonReader value = type == "const" || type == "derived" ? at.member("value") : at.member("type");
  if (type == "derived")
    return derived_axis(std::move(axis), read_axis_formula(value, params, earlier), earlier);
  if (type != "const") value.fail("\"var\", \"const\" or \"derived\"");
  const Result<std::int64_t> number = read_formula(value).evaluate_integer(environment_of(params));
  if (!number) value.reject(number.error().message);
  axis.value = *number;
  return axis;
}

/// A number that a scalar of `dtype` can be.
double read_scalar_value(const JsonReader& at, DType dtype) {
  constexpr double kExactIntegers = 1LL << 53;  // what JSON's numbers and a double agree on
  const double value = at.json().is_boolean() ? (at.boolean() ? 1.0 : 0.0) : at.number();
  const bool whole = value == std::floor(value) && std::abs(value) <= kExactIntegers;
  const bool held = [&] {
    if (dtype == DType::float64) return true;
    if (dtype == DType::float32) return std::abs(value) <= std::numeric_limits<float>::max();
    if (dtype == DType::boolean) return value == 0 || value == 1;
    return whole && (dtype == DType::int64 || (value >= std::numeric_limits<std::int32_t>::min() &&
                                               value <= std::numeric_limits<std::int32_t>::max()));
  }();
  if (!held) at.fail(fmt::format("a number that {} holds", info(dtype).name));
  return value;
}

/// What a scalar by value may be.
void read_scalar(const JsonReader& at, TensorSpec& scalar) {
  if (!scalar_type(scalar.dtype))
    at.member("dtype").fail("float32, float64, int32, int64 or bool for a scalar (\"shape\": null)");
  const auto one = at.find("value"), several = at.find("values");
  if (one.has_value() == several.has_value())
    at.reject(
        "a scalar (\"shape\": null) has either \"value\", a constant, or \"values\", of which it is one");
  if (one) scalar.values = {read_scalar_value(*one, scalar.dtype)};
  if (!several) return;
  for (const JsonReader& item : several->items())
    scalar.values.push_back(read_scalar_value(item, scalar.dtype));
  if (scalar.values.empty() || scalar.values.size() > ak_random::kMaxChoices)
    several->fail(fmt::format("1 to {} numbers", ak_random::kMaxChoices));
}

/// An axis of a shape: its name, or an expression over params that gives it; '' is none.
std::string read_axis_name(const JsonReader& at, const std::vector<Axis>& axes, const Params& params) {
  const auto is_axis = [&](const std::string& name) {
    return std::ranges::find(axes, name, &Axis::name) != axes.end();
  };
  std::string name = at.text();
  if (name.empty()) at.fail("the name of an axis");
  if (!is_axis(name)) {
    if (const Result<Value> value = read_formula(at).evaluate(environment_of(params)); value.ok())
      name = to_string(*value);
  }
  if (!name.empty() && !is_axis(name)) at.fail("the name of an axis");
  return name;
}

TensorSpec read_tensor(const std::string& name, const JsonReader& at, const std::vector<Axis>& axes,
                       const Params& params) {
  at.only(
      {"shape", "dtype", "description", "when", "transposed", "draw", "value", "values", "initial", "role"});
  if (name.empty() || !std::ranges::all_of(name, is_word))
    at.reject("expected a tensor name of letters, digits and '_'");
  TensorSpec tensor;
  tensor.name = name;
  tensor.dtype = read_dtype(at.member("dtype"), params);
  if (const auto given = at.find("description")) tensor.description = given->text();
  const JsonReader shape = at.member("shape");
  if (shape.json().is_null()) {
    read_scalar(at, tensor);
    return tensor;
  }
  for (const char* key : {"value", "values"}) {
    if (const auto given = at.find(key))
      given->reject(fmt::format("{} is a tensor; a scalar by value has \"shape\": null", name));
  }
  tensor.shape.emplace();
  for (const JsonReader& item : shape.items()) {
    if (std::string axis = read_axis_name(item, axes, params); !axis.empty())
      tensor.shape->push_back(std::move(axis));
  }
  if (const auto given = at.find("transposed"); given && holds(*given, params))
    std::reverse(tensor.shape->begin(), tensor.shape->end());
  return tensor;
}

std::string read_reference(const JsonReader& at, const std::filesystem::path& folder) {
  const std::string text = at.text();
  if (text.ends_with(".py") && text.find('\n') == std::string::npos) {
    try {
      return read_problem_file(folder, text);
    } catch (const Error& error) {
      at.reject(error.what());
    }
  }
  if (text.find("def run(") == std::string::npos)
    at.fail("Python source with a top-level run, or the name of a .py file");
  return text;
}

bool exists(const JsonReader& tensor, const Params& params) {
  const auto given = tensor.find("when");
  return !given || holds(*given, params);
}

TensorSpec read_input(const std::string& name, const JsonReader& at, const std::vector<Axis>& axes,
                      const Params& params) {
  if (const auto given = at.find("initial")) given->reject("only outputs have one");
  TensorSpec input = read_tensor(name, at, axes, params);
  const bool taken = std::ranges::find(axes, name, &Axis::name) != axes.end() || params.contains(name);
  if (input.is_scalar() && taken) at.reject("a scalar needs a name that no axis and no param has");
  if (const auto given = at.find("draw"); given && input.is_scalar())
    given->reject("a scalar takes one of its \"values\"");
  if (const auto given = at.find("role")) {
    if (given->text() != "weight") given->fail("\"weight\"");
    if (input.is_scalar()) given->reject("a scalar has no memory to be prepared from");
    input.weight = true;
  }
  return input;
}

TensorSpec read_output(const std::string& name, const JsonReader& at, const std::vector<Axis>& axes,
                       const Params& params) {
  if (at.member("shape").json().is_null())
    at.member("shape").fail("a list of axes: an output has memory, [] for a single number");
  if (const auto given = at.find("draw")) given->reject("only inputs are drawn");
  if (const auto given = at.find("role")) given->reject("only inputs have one");
  TensorSpec output = read_tensor(name, at, axes, params);
  const auto initial = at.find("initial");
  if (initial && initial->text() != "zero") initial->fail("\"zero\"");
  output.zeroed = initial.has_value();
  return output;
}

/// Outputs that the problem has under other params: reference.cu may name their types.
std::vector<TensorSpec> read_absent_outputs(const JsonReader& at, const std::vector<Axis>& axes,
                                            const Params& params) {
  std::vector<TensorSpec> absent;
  for (const auto& [name, t] : at.member("outputs").members()) {
    if (!exists(t, params)) absent.push_back(read_output(name, t, axes, params));
  }
  return absent;
}

/// From weights alone "prepare" could make the results, outside of what is timed.
void check_weights(const JsonReader& at, const Definition& definition) {
  const auto tensor_is = [&](bool weight) {
    return std::ranges::any_of(definition.inputs, [&](const TensorSpec& input) {
      return !input.is_scalar() && input.weight == weight;
    });
  };
  if (tensor_is(true) && !tensor_is(false))
    at.reject("every tensor is a weight: leave out \"role\" where contents change from call to call");
}

Definition read_definition(const JsonReader& at, const Problem& problem, const Params& params) {
  at.only({"name", "axes", "inputs", "outputs", "constraints", "description", "tags"});
  Definition definition;
  definition.name = fill_name(at.member("name"), problem, params);
  definition.op_type = read_name(JsonReader(problem.json).member("op_type"));
  for (const auto& [name, axis] : at.member("axes").members()) {
    if (exists(axis, params)) definition.axes.push_back(read_axis(name, axis, params, definition.axes));
  }
  for (const auto& [name, t] : at.member("inputs").members()) {
    if (const auto given = t.find("when"); given && !holds(*given, params)) continue;
    definition.inputs.push_back(read_input(name, t, definition.axes, params));
  }
  check_weights(at.member("inputs"), definition);
  for (const auto& [name, t] : at.member("outputs").members()) {
    if (definition.find_tensor(name)) t.fail("a name that no input has");
    if (exists(t, params)) definition.outputs.push_back(read_output(name, t, definition.axes, params));
  }
  if (definition.outputs.empty()) at.member("outputs").fail("at least one output under these params");
  definition.reference = read_reference(JsonReader(problem.json).member("reference"), problem.folder);
  if (const auto given = at.find("description")) definition.description = given->text();
  if (const auto given = at.find("constraints")) {
    for (const JsonReader& item : given->items()) definition.constraints.push_back(read_formula(item).text());
  }
  if (const auto given = at.find("tags")) {
    for (const JsonReader& item : given->items()) definition.tags.push_back(item.text());
  }
  const bool tagged = std::ranges::find(definition.tags, kDegenerateTag) != definition.tags.end();
  if (!degenerate_evidence(problem).empty() && !tagged) definition.tags.emplace_back(kDegenerateTag);
  return definition;
}

using Names = std::set<std::string, std::less<>>;

/// What bounds of draws may refer to: axes and params.
Names names_of(const Definition& definition, const Params& params) {
  Names names;
  for (const Axis& axis : definition.axes) names.insert(axis.name);
  for (const auto& [name, value] : params) names.insert(name);
  return names;
}

InputDraw read_draw(const JsonReader& at, const Names& names) {
  auto draw = parse_input_draw(at.text());
  if (!draw) at.reject(draw.error().message);
  for (const Expression& bound : draw->bounds) {
    for (const std::string& name : bound.names()) {
      if (!names.contains(name)) at.reject(fmt::format("'{}' is neither an axis nor a param", name));
    }
  }
  return std::move(draw).value();
}

/// Inputs that say themselves how they are drawn, such as indices and scalars.
std::map<std::string, InputDraw, std::less<>> read_own_draws(const JsonReader& inputs, const Names& names,
                                                             const Definition& definition) {
  std::map<std::string, InputDraw, std::less<>> draws;
  for (const TensorSpec& input : definition.inputs) {
    if (input.is_scalar()) draws[input.name] = {.kind = InputKind::choices, .choices = input.values};
  }
  for (const auto& [name, tensor] : inputs.members()) {
    if (const auto given = tensor.find("draw")) draws[name] = read_draw(*given, names);
  }
  return draws;
}

InputDistribution read_distribution(const JsonReader& at, const JsonReader& inputs, const Names& names,
                                    std::map<std::string, InputDraw, std::less<>> own_draws) {
  at.only({"name", "kind", "scale", "shift", "tensors", "when"});
  InputDistribution distribution{.name = read_name(at.member("name")),
                                 .draw = read_draw(at.member("kind"), names),
                                 .tensors = std::move(own_draws)};
  if (const auto given = at.find("scale")) distribution.draw.scale = static_cast<float>(given->number());
  if (const auto given = at.find("shift")) distribution.draw.shift = static_cast<float>(given->number());
  if (const auto given = at.find("tensors")) {
    for (const auto& [name, draw] : given->members()) {
      const auto input = inputs.find(name);
      if (!input) draw.reject(fmt::format("'{}' is not an input", name));
      distribution.tensors[name] = read_draw(draw, names);
      if (input->member("shape").json().is_null() && distribution.tensors[name].choices.empty())
        draw.fail("\"constant(X)\" or \"choices(X, Y, ...)\" for a scalar");
    }
  }
  return distribution;
}

/// Distributions that a mutation must fail under, or that a workload is checked with: those that exist
/// under these params.
std::vector<std::string> read_distribution_names(const JsonReader& at, const ProblemInstance& instance) {
  std::vector<std::string> names, known;
  for (const InputDistribution& each : instance.distributions) known.push_back(each.name);
  const auto& absent = instance.absent_distributions;
  for (const JsonReader& item : at.items()) {
    const std::string name = item.text();
    if (std::ranges::find(absent, name) != absent.end()) continue;
    if (std::ranges::find(known, name) == known.end())
      item.fail(fmt::format("the name of a distribution: {}", fmt::join(known, ", ")));
    names.push_back(name);
  }
  if (names.empty() && !at.items().empty())
    at.reject("none of these distributions exists under these params; say so with \"when\"");
  if (names.empty()) at.fail("at least one distribution");
  return names;
}

std::string read_library(const JsonReader& at) {
  std::string name = at.text();
  if (std::find(kLibraryBaselines.begin(), kLibraryBaselines.end(), name) == kLibraryBaselines.end())
    at.fail(fmt::format("a library that can be a baseline: {}", fmt::join(kLibraryBaselines, ", ")));
  return name;
}

/// Of a mutation that a reference in Python makes itself there is none: it names the operator that is wrong.
std::string read_macro(const JsonReader& mutation) {
  if (const auto named = mutation.find("operator")) {
    static_cast<void>(named->text());
    return "";
  }
  const JsonReader at = mutation.member("macro");
  std::string name = at.text();
  // It becomes a line of the program, which no check of included files sees.
  if (!is_identifier(name)) at.fail("the name of a macro, such as AK_MUTATION_NO_MAX");
  return name;
}

/// The key of "mutations" in older problems.
constexpr const char* kOldMutations = "lesions";

std::optional<JsonReader> find_mutations(const JsonReader& problem) {
  const auto given = problem.find("mutations"), old = problem.find(kOldMutations);
  if (given && old) old->reject("\"mutations\" has taken the place of this key: keep one of them");
  return given ? given : old;
}

std::vector<Mutation> read_mutations(const JsonReader& at, const ProblemInstance& instance) {
  std::vector<Mutation> mutations;
  for (const JsonReader& item : at.items()) {
    item.only({"name", "what", "macro", "operator", "when", "fails_on"});
    if (const auto when = item.find("when"); when && !holds(*when, instance.params)) continue;
    mutations.push_back(
        {.name = item.member("name").text(), .what = item.member("what").text(), .macro = read_macro(item)});
    if (const auto fails_on = item.find("fails_on"))
      mutations.back().fails_on = read_distribution_names(*fails_on, instance);
  }
  return mutations;
}

/// Those whose comparison with the reference's work may be exempt, too.
constexpr std::array<std::string_view, 3> kFormulaNames{"flops", "bytes_read", "bytes_written"};

bool is_formula(std::string_view name) {
  return std::ranges::find(kFormulaNames, name) != kFormulaNames.end();
}

void require_automatic_mutation(const std::string& mutation, const JsonReader& at) {
  if (is_input_mutation(mutation) || is_formula(mutation) ||
      std::ranges::find(kAutomaticMutations, mutation, &AutomaticMutation::name) != kAutomaticMutations.end())
    return;
  std::vector<std::string_view> names;
  for (const AutomaticMutation& known : kAutomaticMutations) names.push_back(known.name);
  at.reject(fmt::format(
      "'{}' is not an automatic mutation; those are {}, and of inputs ignored_input, ignored_end, "
      "ignored_sign, ignored_byte_K and ignored_bits_K; nor a formula: {}",
      mutation, fmt::join(names, ", "), fmt::join(kFormulaNames, ", ")));
}

std::string read_reason(const JsonReader& at) {
  std::string reason = at.text();
  if (reason.find_first_not_of(' ') == std::string::npos)
    at.fail("the reason why the mutation is right here");
  return reason;
}

/// Of one automatic mutation: tensor -> why. One reason for every input would also be taken for those that matter.
std::map<std::string, std::string> read_exempt_tensors(const std::string& mutation, const JsonReader& at,
                                                       const ProblemInstance& instance) {
  const bool of_inputs = is_input_mutation(mutation);
  if (at.json().is_string() && !of_inputs) return {{"", read_reason(at)}};
  if (is_formula(mutation)) return {{"", read_reason(at)}};
  if (!at.json().is_object())
    at.fail(of_inputs ? "the inputs that it is right for, each with the reason, as {\"bias\": \"why\"}"
                      : "the reason why the mutation is right here, or outputs that it is right for with the "
                        "reason of each");
  const Definition& definition = instance.definition;
  std::map<std::string, std::string> exempt;
  for (const auto& [tensor, reason] : at.members()) {
    const auto& known = of_inputs ? definition.inputs : definition.outputs;
    const bool is_there = std::ranges::find(known, tensor, &TensorSpec::name) != known.end();
    const bool is_absent = std::ranges::find(instance.absent_outputs, tensor, &TensorSpec::name) !=
                           instance.absent_outputs.end();
    if (!is_there && (of_inputs || !is_absent))
      reason.reject(fmt::format("'{}' is not an {}", tensor, of_inputs ? "input" : "output"));
    exempt[tensor] = read_reason(reason);
  }
  return exempt;
}

std::map<std::string, std::map<std::string, std::string>> read_exemptions(const JsonReader& at,
                                                                          const ProblemInstance& instance) {
  std::map<std::string, std::map<std::string, std::string>> exemptions;
  for (const auto& [mutation, tensors] : at.members()) {
    require_automatic_mutation(mutation, tensors);
    exemptions[mutation] = read_exempt_tensors(mutation, tensors, instance);
  }
  return exemptions;
}

std::map<std::string, std::string> read_aliases(const JsonReader& at, const ProblemInstance& instance) {
  const Definition& definition = instance.definition;
  std::map<std::string, std::string> aliases;
  for (const auto& [output, input] : at.members()) {
    if (std::ranges::find(instance.absent_outputs, output, &TensorSpec::name) !=
        instance.absent_outputs.end())
      continue;
    const auto written = std::ranges::find(definition.outputs, output, &TensorSpec::name);
    if (written == definition.outputs.end()) input.reject(fmt::format("'{}' is not an output", output));
    if (written->zeroed)
      input.reject(
          fmt::format("{} holds zeros before a call, so it cannot share the memory of an input", output));
    const auto shared = std::ranges::find(definition.inputs, input.text(), &TensorSpec::name);
    if (shared == definition.inputs.end() || shared->is_scalar()) input.fail("the name of an input tensor");
    if (shared->weight) input.reject("a weight stays what it is from call to call");
    aliases[output] = input.text();
  }
  return aliases;
}

/// Why a workload may not give `name` a size.
std::string not_varying(const Definition& definition, const std::string& name,
                        const std::set<std::string>& varying) {
  const auto axis = std::ranges::find(definition.axes, name, &Axis::name);
  if (axis != definition.axes.end() && axis->derived)
    return fmt::format("'{}' follows from other axes ({}) and is given no size", name, axis->derived->text());
  return fmt::format("'{}' is not a varying axis; those are {}", name, fmt::join(varying, ", "));
}

}  // namespace

bool is_allowed(const ParamSpec& param, const Value& value) {
  if (!param.choices.empty())
    return std::find(param.choices.begin(), param.choices.end(), value) != param.choices.end();
  const auto* number = std::get_if<std::int64_t>(&value);
  return number && *number >= param.minimum.value_or(1) && *number <= param.maximum.value_or(INT64_MAX);
}

Problem read_problem(const Json& given_json, const std::filesystem::path& folder) {
  const Json json = up_to_date(kProblemFormat, given_json);
  const JsonReader at(json);
  at.only({"format",        "name",      "summary",     "op_type",      "params",        "param_constraints",
           "definition",    "aliases",   "flops",       "bytes_read",   "bytes_written", "tolerance",
           "distributions", "mutations", kOldMutations, "audit_exempt", "degenerate",    "reference",
           "sources",       "baselines", "python"});
  Problem problem{.name = read_name(at.member("name")),
                  .summary = at.member("summary").text(),
                  .folder = folder,
                  .params = {},
                  .param_constraints = {},
                  .json = json};
  static_cast<void>(at.member("op_type").text());
  if (const auto given = at.find("degenerate"); given && given->text().empty())
    given->fail("what shows that results do not depend on the inputs");
  if (const auto given = at.find("params")) {
    for (const auto& [name, param] : given->members()) problem.params.push_back(read_param(name, param));
  }
  if (const auto given = at.find("param_constraints")) {
    for (const JsonReader& item : given->items()) problem.param_constraints.push_back(read_formula(item));
  }
  return problem;
}

ProblemInstance read_instance(const Problem& problem, const Params& params) {
  const JsonReader at(problem.json);
  ProblemInstance instance{.problem = problem.name,
                           .folder = problem.folder,
                           .params = params,
                           .definition = read_definition(at.member("definition"), problem, params),
                           .aliases = {},
                           .flops = read_formula(at.member("flops")),
                           .bytes_read = read_formula(at.member("bytes_read")),
                           .bytes_written = read_formula(at.member("bytes_written")),
                           .tolerance = {},
                           .distributions = {},
                           .mutations = {},
                           .workloads = {},
                           .reference_cu = "",
                           .templates = {},
                           .sources_cited = {}};
  const JsonReader inputs = at.member("definition").member("inputs");
  const Names names = names_of(instance.definition, params);
  const auto own_draws = read_own_draws(inputs, names, instance.definition);
  instance.absent_outputs = read_absent_outputs(at.member("definition"), instance.definition.axes, params);
  if (const auto given = at.find("aliases")) instance.aliases = read_aliases(*given, instance);
  for (const JsonReader& item : at.member("distributions").items()) {
    InputDistribution distribution = read_distribution(item, inputs, names, own_draws);
    if (const auto when = item.find("when"); when && !holds(*when, params))
      instance.absent_distributions.push_back(std::move(distribution.name));
    else
      instance.distributions.push_back(std::move(distribution));
  }
  if (instance.distributions.empty()) at.member("distributions").fail("at least one distribution");
  instance.tolerance = read_tolerance(at.member("tolerance"), instance);
  if (const auto given = find_mutations(at)) instance.mutations = read_mutations(*given, instance);
  if (const auto given = at.find("audit_exempt")) instance.audit_exempt = read_exemptions(*given, instance);
  if (const auto given = at.find("sources")) {
    for (const JsonReader& item : given->items()) instance.sources_cited.push_back(item.text());
  }
  if (const auto given = at.find("baselines")) {
    for (const JsonReader& item : given->items()) instance.baselines.push_back(read_library(item));
  }
  return instance;
}

PythonReference read_python_reference(const Problem& problem) {
  PythonReference reference{.file = "", .source = "", .kind = std::string(kPythonKinds.front())};
  const auto given = JsonReader(problem.json).find("python");
  if (!given) return reference;
  given->only({"kind", "eval", "follow", "omit", "buffers"});
  if (const auto kind = given->find("kind")) {
    reference.kind = kind->text();
    if (std::ranges::find(kPythonKinds, reference.kind) == kPythonKinds.end())
      kind->fail(fmt::format("one of {}", fmt::join(kPythonKinds, ", ")));
  }
  if (const auto eval = given->find("eval")) static_cast<void>(eval->boolean());
  if (const auto follow = given->find("follow"))
    for (const auto& [size, leader] : follow->members()) static_cast<void>(leader.text());
  if (const auto omit = given->find("omit"))
    for (const JsonReader& place : omit->items())
      if (place.integer() < 0) place.fail("the place of an output, from 0");
  if (const auto buffers = given->find("buffers"))
    for (const JsonReader& input : buffers->items()) static_cast<void>(input.text());
  reference.options = given->json();
  return reference;
}

std::optional<Workload> read_workload(const Json& json, const ProblemInstance& instance) {
  const JsonReader at(json);
  at.only({"name", "uid", "axes", "role", "tier", "weight", "when", "distributions"});
  if (const auto given = at.find("when"); given && !holds(*given, instance.params)) return std::nullopt;
  Workload workload;
  workload.name = read_name(at.member("name"));
  if (workload.name.starts_with("held_out_"))
    at.member("name").fail("a name that does not begin with held_out_, as those of drawn shapes do");
  for (const auto& [axis, value] : at.member("axes").members()) workload.axes[axis] = value.integer();
  if (const std::string input_error = size_error(instance, workload.axes); !input_error.empty())
    at.member("axes").reject(input_error);
  const JsonReader role = at.member("role");
  if (role.json().is_string()) {
    workload.roles.push_back(read_spelling(role, kRoles, " (or held_out, with ranges of shapes)"));
  } else {
    for (const JsonReader& item : role.items()) workload.roles.push_back(read_spelling(item, kRoles));
  }
  if (workload.roles.empty()) role.fail("\"check\", \"time\" or both");
  if (const auto given = at.find("tier")) workload.tier = read_spelling(*given, kTiers);
  if (const auto given = at.find("weight")) workload.weight = given->number();
  if (!(workload.weight > 0)) at.member("weight").fail("a number above 0");
  if (const auto given = at.find("distributions"))
    workload.distributions = read_distribution_names(*given, instance);
  for (const InputDistribution* distribution : instance.distributions_of(workload)) {
    if (const auto draws = instance.draws(*distribution, workload.axes); !draws)
      at.reject(draws.error().message);
  }
  workload.uid = at.find("uid") ? at.member("uid").text() : workload_uid(instance, workload.axes);
  return workload;
}

bool is_held_out(const Json& json) {
  return json.is_object() && json.contains("role") && json.at("role") == "held_out";
}

std::optional<HeldOutRange> read_held_out(const Json& json, const ProblemInstance& instance) {
  const JsonReader at(json);
  at.only({"name", "axes", "role", "tier", "when"});
  if (const auto given = at.find("when"); given && !holds(*given, instance.params)) return std::nullopt;
  HeldOutRange range{.name = read_name(at.member("name")), .axes = {}};
  for (const auto& [axis, value] : at.member("axes").members()) range.axes[axis] = read_axis_range(value);
  if (const auto given = at.find("tier")) range.tier = read_spelling(*given, kTiers);
  // An error now, and not when a long search ends.
  for (std::uint32_t index = 0; index < kTrialDraws; ++index) {
    if (const auto drawn = draw_shape(instance, range, 0, index); !drawn)
      at.member("axes").reject(drawn.error().message);
  }
  return range;
}

std::string workload_uid(const ProblemInstance& instance, const AxisValues& sizes) {
  return sha256_hex(instance.definition.name + Json(sizes).dump()).substr(0, 32);
}

std::string size_error(const ProblemInstance& instance, const AxisValues& sizes) {
  std::set<std::string> varying;
  for (const Axis& axis : instance.definition.axes) {
    if (axis.varies()) varying.insert(axis.name);
  }
  for (const std::string& name : varying) {
    if (!sizes.contains(name)) return fmt::format("the axis {} has no value", name);
  }
  for (const auto& [name, value] : sizes) {
    if (!varying.contains(name)) return not_varying(instance.definition, name, varying);
    if (value < 1) return fmt::format("{} is {}, expected at least 1", name, value);
  }
  const Environment environment = instance.environment(sizes);
  for (const Axis& axis : instance.definition.axes) {
    if (!axis.derived) continue;
    const Result<std::int64_t> value = axis.derived->evaluate_integer(environment);
    if (!value)
      return fmt::format("the axis {} = {}: {}", axis.name, axis.derived->text(), value.error().message);
    if (*value < 1)
      return fmt::format("the axis {} = {} is {}, expected at least 1", axis.name, axis.derived->text(),
                         *value);
  }
  for (const std::string& text : instance.definition.constraints) {
    const Result<Expression> constraint = Expression::parse(text);
    AK_ASSERT(constraint.ok(), "constraints were parsed when the definition was read");
    const Result<bool> holds = constraint->evaluate_bool(environment);
    if (!holds) return fmt::format("constraint '{}': {}", text, holds.error().message);
    if (!*holds) return fmt::format("the constraint '{}' does not hold", text);
  }
  return "";
}

}  // namespace ak::codegen
