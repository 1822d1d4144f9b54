// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/problem_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <span>

#include "codegen/problem/held_out.h"
#include "codegen/problem/problem_files.h"
#include "codegen/problem/problem_reader.h"
#include "core/error.h"
#include "core/plan/work.h"
#include "core/text/data_files.h"
#include "core/text/locations.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak::codegen {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWorkloadsFile = "workloads.jsonl";
constexpr const char* kReferenceFile = "reference.cu";
constexpr const char* kPythonFile = "reference.py";
// Each is checked under every distribution in every evaluation, and travels in every task of a device. The largest
// problem here has 42, a data set of FlashInfer-Bench some hundred a definition (chosen).
constexpr std::size_t kMaxWorkloads = 10'000;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

Json parse_file(const std::string& text, const std::string& where) {
  try {
    return parse_written_json(text);
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", where, error.what());
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", where, input_error.what());
  }
}

/// Runs `read`, turning an error about the JSON into an error that names the file.
template <class Read>
auto reading(const std::string& where, Read read) {
  try {
    return read();
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", where, input_error.what());
  }
}

Value parse_param(const ParamSpec& param, const std::string& text) {
  if (param.type == ParamType::boolean) {
    if (text == "true" || text == "1" || text == "yes") return std::int64_t{1};
    if (text == "false" || text == "0" || text == "no") return std::int64_t{0};
    return text;
  }
  std::int64_t number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status == std::errc() && rest == text.data() + text.size()) return number;
  const auto dtype = parse_dtype(text);
  return dtype ? std::string(info(*dtype).name) : text;
}

std::string allowed_text(const ParamSpec& param) {
  if (param.type == ParamType::boolean) return "true or false";
  if (param.choices.empty())
    return fmt::format("an integer from {} to {}", param.minimum.value_or(1),
                       param.maximum.value_or(INT64_MAX));
  std::vector<std::string> names;
  for (const Value& choice : param.choices) names.push_back(to_string(choice));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "; did you mean 'bf16'?": the choice of `param` nearest to `text`, also by a short name of a dtype.
std::string meant_choice(const ParamSpec& param, const std::string& text) {
  std::vector<std::string> names;
  if (param.type == ParamType::boolean) names = {"true", "false"};
  for (const Value& choice : param.choices) {
    names.push_back(to_string(choice));
    if (const auto dtype = parse_dtype(names.back())) names.emplace_back(info(*dtype).alias);
  }
  return did_you_mean(text, names);
}

/// The constraint that these params break, if any.
const Expression* broken_constraint(const Problem& problem, const Params& params) {
  const Environment environment(params.begin(), params.end());
  for (const Expression& constraint : problem.param_constraints) {
    const Result<bool> holds = constraint.evaluate_bool(environment);
    if (!holds)
      fail(ExitCode::bad_input, "{}: param_constraints: '{}': {}", (problem.folder / kProblemFile).string(),
           constraint.text(), holds.error().message);
    if (!*holds) return &constraint;
  }
  return nullptr;
}

void check_combination(const Problem& problem, const Params& params) {
  const Expression* constraint = broken_constraint(problem, params);
  if (constraint == nullptr) return;
  std::vector<std::string> given;
  for (const std::string& name : constraint->names())
    given.push_back(fmt::format("{}={}", name, to_string(params.at(name))));
  fail(ExitCode::usage, "{} has no {}: expected {}", problem.name, fmt::join(given, " with "),
       constraint->text());
}

bool is_dtype_or_flag(const ParamSpec& param) {
  const auto is_dtype = [](const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr && parse_dtype(*text).has_value();
  };
  return param.type == ParamType::boolean ||
         (!param.choices.empty() && std::ranges::all_of(param.choices, is_dtype));
}

/// Every combination of dtypes and flags that the problem has, the others at their defaults; the default first.
std::vector<Params> dtype_and_flag_combinations(const Problem& problem) {
  std::vector<Params> combinations{Params()};
  for (const ParamSpec& param : problem.params) {
    std::vector<Value> values{param.default_value};
    if (is_dtype_or_flag(param)) std::ranges::copy(other_values(param), std::back_inserter(values));
    std::vector<Params> longer;
    for (const Params& params : combinations) {
      for (const Value& value : values) {
        longer.push_back(params);
        longer.back()[param.name] = value;
      }
    }
    combinations = std::move(longer);
  }
  std::erase_if(combinations,
                [&](const Params& params) { return broken_constraint(problem, params) != nullptr; });
  return combinations;
}

/// The first of `all` that the problem still has with `value` for the param `name`, with it.
std::optional<Params> first_with(const Problem& problem, const std::vector<Params>& all,
                                 const std::string& name, const Value& value) {
  for (Params params : all) {
    params[name] = value;
    if (broken_constraint(problem, params) == nullptr) return params;
  }
  return std::nullopt;
}

std::vector<CandidateFile> read_templates(const fs::path& folder) {
  std::vector<CandidateFile> files;
  for (const std::string& name : problem_file_names(folder)) {
    if (name.ends_with(".cu") && name != kReferenceFile)
      files.push_back({name, read_problem_file(folder, name)});
  }
  return files;
}

/// Workloads and held-out ranges.
void read_shapes(const fs::path& folder, ProblemInstance& instance) {
  const fs::path file = folder / kWorkloadsFile;
  std::set<std::string> names;
  int line = 0;
  for (const std::string& text : split(read_problem_file(folder, kWorkloadsFile), '\n')) {
    ++line;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", file.string(), line);
    const Json json = parse_file(text, where);
    const auto add = [&](auto row, auto& list) {
      if (!row) return;
      if (!names.insert(row->name).second)
        fail(ExitCode::bad_input, "{}: another workload is called '{}' too", where, row->name);
      if (names.size() > kMaxWorkloads)
        fail(ExitCode::bad_input,
             "{}: more than {} workloads: every evaluation checks all of them, so keep those that differ",
             where, kMaxWorkloads);
      list.push_back(std::move(*row));
    };
    if (is_held_out(json)) {
      add(reading(where, [&] { return read_held_out(json, instance); }), instance.held_out);
    } else {
      add(reading(where, [&] { return read_workload(json, instance); }), instance.workloads);
    }
  }
  if (instance.workloads.empty())
    fail(ExitCode::bad_input, "{}: no workload for these params", file.string());
}

/// Inputs that the problem's own generator draws need one.
void check_given(const ProblemInstance& instance, const std::string& where) {
  for (const InputDistribution& distribution : instance.distributions) {
    for (const TensorSpec& input : instance.definition.inputs)
      if (distribution.draw_of(input.name).kind == InputKind::given)
        fail(ExitCode::bad_input,
             "{}: distribution '{}' draws '{}' as 'given': only a reference in Python has a generator of its "
             "own",
             where, distribution.name, input.name);
  }
}

/// A mutation is a macro of a kernel, or what a reference in Python leaves out itself.
void check_mutations(const ProblemInstance& instance, const std::string& where) {
  const bool python = instance.python.has_value();
  for (const Mutation& mutation : instance.mutations)
    if (mutation.macro.empty() != python)
      fail(ExitCode::bad_input, "{}: mutation '{}': expected \"{}\" for a reference that is {}", where,
           mutation.name, python ? "operator" : "macro", python ? "a Python file" : "a kernel");
}

/// A kernel where there is one: then a reference.py is what problem.json's "reference" names, for cross-checks.
void read_reference(const Problem& problem, ProblemInstance& instance, const std::string& where) {
  const bool kernel = has_problem_file(problem.folder, kReferenceFile);
  if (kernel && problem.json.contains("python"))
    fail(ExitCode::bad_input,
         "{}: \"python\" says that {} is the reference, and there is a {}, too: remove one", where,
         kPythonFile, kReferenceFile);
  if (!kernel && has_problem_file(problem.folder, kPythonFile)) {
    instance.python = reading(where, [&] { return read_python_reference(problem); });
    instance.python->file = fs::absolute(problem.folder / kPythonFile).lexically_normal().string();
    instance.python->source = read_problem_file(problem.folder, kPythonFile);
    return;
  }
  check_given(instance, where);
  instance.reference_cu = read_problem_file(problem.folder, kReferenceFile);
}

void check_formulas(const ProblemInstance& instance, const std::string& where) {
  for (const Workload& workload : instance.workloads) {
    for (const Expression* formula : {&instance.flops, &instance.bytes_read, &instance.bytes_written}) {
      const Result<double> value = amount_of(*formula, instance, workload);
      if (!value)
        fail(ExitCode::bad_input, "{}: on workload {}: {}", where, workload.name, value.error().message);
      if (*value < 0)
        fail(ExitCode::bad_input, "{}: formula '{}' on workload {} is {}, expected at least 0", where,
             formula->text(), workload.name, *value);
    }
  }
}

Workload timed_workload(const ProblemInstance& instance, const std::string& shape) {
  const AxisValues sizes = parse_shape(shape);
  if (const std::string input_error = size_error(instance, sizes); !input_error.empty())
    fail(ExitCode::usage, "--shape {}: {}", shape, input_error);
  Workload workload;
  workload.name = shape_name(instance.definition, sizes);
  workload.uid = workload_uid(instance, sizes);
  workload.axes = sizes;
  workload.roles = {WorkloadRole::check, WorkloadRole::time};
  return workload;
}

/// Ranges around a shape, those for all shapes once. Names stay different: they are what messages tell ranges apart by.
void add_ranges_around(const ProblemInstance& instance, const Workload& shape,
                       std::vector<HeldOutRange>& ranges) {
  for (HeldOutRange& range : ranges_around(instance, shape.axes)) {
    const auto is_same = [&](const HeldOutRange& other) { return other.name == range.name; };
    const bool known = std::ranges::any_of(ranges, is_same);
    if (known && range.tier == WorkloadTier::emulator) continue;
    if (known) range.name += "_of_" + shape.name;
    ranges.push_back(std::move(range));
  }
}

/// Of a problem that comes with the program; nothing where it does not, and the names of those that do.
std::optional<fs::path> folder_of(std::string_view name, std::vector<std::string>& names) {
  for (const CatalogEntry& entry : list_problems()) {
    if (entry.name == name) return entry.folder;
    names.push_back(entry.name);
  }
  return std::nullopt;
}

}  // namespace

AxisValues parse_shape(std::string_view shape) {
  AxisValues sizes;
  for (const std::string& part : split(shape, ',')) {
    const std::size_t equals = part.find('=');
    std::int64_t value = 0;
    const char* end = part.data() + part.size();
    const auto parsed = equals == std::string::npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                                    : std::from_chars(part.data() + equals + 1, end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      fail(ExitCode::usage, "--shape {}: expected NAME=INTEGER, separated by commas, e.g. M=4096,N=1000",
           shape);
    }
    if (!sizes.emplace(part.substr(0, equals), value).second)
      fail(ExitCode::usage, "--shape {}: the axis {} is there twice", shape, part.substr(0, equals));
  }
  return sizes;
}

std::vector<fs::path> template_search_path() {
  std::vector<fs::path> path = data_search_path("ALPHAKERNEL_TEMPLATES", "templates", AK_SOURCE_TEMPLATES);
  if (const fs::path named = locations().templates; !named.empty()) path.insert(path.begin(), named);
  path.push_back(compiled_in_folder("templates"));
  return path;
}

std::vector<CatalogEntry> list_problems() {
  std::map<std::string, CatalogEntry> found;
  for (const fs::path& root : template_search_path()) {
    for (const std::string& name : problem_folder_names(root)) {
      if (found.contains(name)) continue;
      CatalogEntry& row =
          found[name] = {.name = name, .folder = root / name, .summary = "", .input_error = ""};
      try {
        row.summary = load_problem(row.folder).summary;
      } catch (const Error& error) {
        row.input_error = error.what();
      }
    }
  }
  std::vector<CatalogEntry> list;
  for (auto& [name, entry] : found) list.push_back(std::move(entry));
  return list;
}

fs::path find_problem(std::string_view name) {
  std::vector<std::string> names;
  if (const auto folder = folder_of(name, names)) return *folder;
  fail(ExitCode::usage, "unknown algorithm '{}'{}; known: {}; --problem DIR names a problem of your own",
       name, did_you_mean(name, names), fmt::join(names, ", "));
}

fs::path find_problem_of_kernel(std::string_view name) {
  std::vector<std::string> names;
  if (const auto folder = folder_of(name, names)) return *folder;
  fail(ExitCode::usage,
       "the kernel is of the problem '{}', which does not come with AlphaKernel: name its folder with "
       "--problem DIR{}",
       sanitize(name, 60), did_you_mean(name, names));
}

std::string degenerate_evidence(const Problem& problem) { return problem.json.value("degenerate", ""); }

Problem load_problem(const fs::path& folder) {
  const fs::path file = folder / kProblemFile;
  const Json json = parse_file(read_problem_file(folder, kProblemFile), file.string());
  return reading(file.string(), [&] { return read_problem(json, folder); });
}

Params choose_params(const Problem& problem, const std::map<std::string, std::string>& given) {
  std::vector<std::string> names;
  for (const ParamSpec& param : problem.params) names.push_back(param.name);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    fail(ExitCode::usage, "{} has no parameter '{}'{}; known: {}", problem.name, name,
         did_you_mean(name, names), fmt::join(names, ", "));
  }
  Params params;
  for (const ParamSpec& param : problem.params) {
    const auto text = given.find(param.name);
    const Value value = text == given.end() ? param.default_value : parse_param(param, text->second);
    if (!is_allowed(param, value)) {
      fail(ExitCode::usage, "{}: {} cannot be '{}'{}; expected {}", problem.name, param.name,
           sanitize(text->second, 60), meant_choice(param, text->second), allowed_text(param));
    }
    params[param.name] = value;
  }
  check_combination(problem, params);
  return params;
}

std::vector<Value> other_values(const ParamSpec& param) {
  std::vector<Value> values = param.choices;
  values.insert(values.end(), param.tried.begin(), param.tried.end());
  if (param.minimum) values.emplace_back(*param.minimum);
  if (param.maximum) values.emplace_back(*param.maximum);
  std::erase(values, param.default_value);
  return values;
}

std::vector<Params> covering_params(const Problem& problem) {
  std::vector<Params> all = dtype_and_flag_combinations(problem);
  const auto covered = [&](const std::string& name, const Value& value) {
    return std::ranges::any_of(all, [&](const Params& params) { return params.at(name) == value; });
  };
  for (bool longer = true; longer;) {  // a choice that needs another one finds it in the next round
    longer = false;
    for (const ParamSpec& param : problem.params) {
      for (const Value& value : other_values(param)) {
        if (covered(param.name, value)) continue;
        std::optional<Params> params = first_with(problem, all, param.name, value);
        longer = longer || params;
        if (params) all.push_back(std::move(*params));
      }
    }
  }
  return all;
}

std::shared_ptr<const ProblemInstance> instantiate(const Problem& problem, const Params& params) {
  const std::string where = (problem.folder / kProblemFile).string();
  auto instance =
      std::make_shared<ProblemInstance>(reading(where, [&] { return read_instance(problem, params); }));
  read_shapes(problem.folder, *instance);
  check_formulas(*instance, where);
  read_reference(problem, *instance, where);
  check_mutations(*instance, where);
  instance->templates = read_templates(problem.folder);
  return instance;
}

std::shared_ptr<const ProblemInstance> with_shapes(const ProblemInstance& instance,
                                                   std::span<const std::string> shapes) {
  if (shapes.size() > kMaxWorkloads)
    fail(ExitCode::usage, "--shape: {} shapes, expected at most {}", shapes.size(), kMaxWorkloads);
  auto copy = std::make_shared<ProblemInstance>(instance);
  copy->workloads.clear();
  copy->shapes_given = true;
  copy->held_out.clear();
  for (const std::string& shape : shapes) {
    Workload workload = timed_workload(instance, shape);
    const auto is_same = [&](const Workload& other) { return other.axes == workload.axes; };
    if (std::ranges::any_of(copy->workloads, is_same))
      fail(ExitCode::usage, "--shape {}: it is there twice", shape);
    add_ranges_around(instance, workload, copy->held_out);
    copy->workloads.push_back(std::move(workload));
  }
  return copy;
}

std::shared_ptr<const ProblemInstance> with_shape(const ProblemInstance& instance, std::string_view shape) {
  return with_shapes(instance, std::vector{std::string(shape)});
}

}  // namespace ak::codegen
