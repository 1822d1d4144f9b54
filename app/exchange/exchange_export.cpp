// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/exchange/exchange.h"
#include "app/exchange/flashinfer_form.h"
#include "codegen/export/export.h"
#include "codegen/export/run_function.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "db/read/exchange_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAuthor = "alphakernel";
constexpr double kNsPerMs = 1e6;

struct StatusName {
  std::string_view ours, theirs;
};
// What is not named is a RUNTIME_ERROR.
constexpr std::array kStatusNames{
    StatusName{"ok", "PASSED"},
    StatusName{"duplicate", "PASSED"},
    StatusName{"incorrect", "INCORRECT_NUMERICAL"},
    StatusName{"nondeterministic", "INCORRECT_NUMERICAL"},
    StatusName{"integrity_violation", "INCORRECT_NUMERICAL"},
    StatusName{"compile_error", "COMPILE_ERROR"},
    StatusName{"invalid_candidate", "COMPILE_ERROR"},
    StatusName{"hang", "TIMEOUT"},
    StatusName{"timeout", "TIMEOUT"},
};

std::string_view status_of(const std::string& ours) {
  const auto* found = std::ranges::find(kStatusNames, ours, &StatusName::ours);
  return found == kStatusNames.end() ? "RUNTIME_ERROR" : found->theirs;
}

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json("NaN");
}

/// The problem in a folder that has this definition; null where there is none.
std::shared_ptr<const ProblemInstance> problem_in(const fs::path& folder,
                                                  const db::ExchangedDefinition& row) {
  try {
    const codegen::Problem problem = codegen::load_problem(folder);
    if (problem.name != row.problem) return nullptr;
    std::map<std::string, std::string> params;
    for (const auto& [name, value] : row.params.items())
      params[name] = value.is_string() ? value.get<std::string>() : value.dump();
    auto instance = codegen::instantiate(problem, codegen::choose_params(problem, params));
    return to_json(instance->definition) == row.definition ? instance : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

/// The problem that a definition is of, unchanged: a shipped one, or in one of the folders.
std::shared_ptr<const ProblemInstance> problem_of(const db::ExchangedDefinition& row,
                                                  const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders)
    if (auto found = problem_in(folder, row)) return found;
  try {
    return problem_in(codegen::find_problem(row.problem), row);
  } catch (const Error&) {
    return nullptr;
  }
}

/// `folder`, or the folders in it, that have a problem.
std::vector<fs::path> problem_folders(const fs::path& folder) {
  constexpr const char* kProblemFile = "problem.json";
  if (folder.empty()) return {};
  if (fs::is_regular_file(folder / kProblemFile)) return {folder};
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (fs::is_regular_file(entry.path() / kProblemFile)) folders.push_back(entry.path());
  if (folders.empty())
    fail(ExitCode::bad_input, "{} has no problem folders; expected some with problem.json", folder.string());
  std::ranges::sort(folders);
  return folders;
}

class Exporter {
 public:
  Exporter(const fs::path& database, bool all, const fs::path& problems)
      : database_(database), all_(all), problems_(problem_folders(problems)) {
    if (fs::is_directory(kept_folder(database))) set_ = read_exchange(kept_folder(database), report_.faults);
    if (set_.notes.contains("variants")) imported_ = set_.notes["variants"];
  }

  [[nodiscard]] ExchangeReport write(const fs::path& folder) {
    for (const db::ExchangedDefinition& row : db::exchanged_definitions(database_)) add_definition(row);
    count();
    set_.notes.erase("variants");  // of this database alone
    write_exchange(folder, set_);
    return std::move(report_);
  }

 private:
  /// A row that breaks the rules of the format is reported, not written.
  [[nodiscard]] bool fits(const std::string& what, const SchemaFaults& faults) {
    if (faults.empty()) return true;
    report_.notes.push_back(fmt::format("{} is left out: {}", what, faults_text(faults)));
    return false;
  }

  void add_definition(const db::ExchangedDefinition& row) {
    const auto problem = problem_of(row, problems_);
    Json plain = flashinfer_definition(row.definition);
    if (problem != nullptr) plain["reference"] = codegen::reference_with_run(*problem);
    if (!fits("definition " + row.name, check_definition(plain))) return;
    if (!is_file_name(row.name) || !is_file_name(row.definition["op_type"].get<std::string>())) {
      report_.notes.push_back(
          fmt::format("definition {} is left out: its name cannot be a file's", row.name));
      return;
    }
    ExchangeSet added;
    added.definitions[definition_path(row.definition)] = plain;
    added.notes["definitions"][row.name] = {{"problem", row.problem}, {"params", row.params}};
    std::map<std::string, Json> shapes;
    for (const db::WorkloadRow& workload : db::exchanged_workloads(database_, row.id)) {
      const Json json = workload_json(row.definition, workload);
      shapes[workload.uid] = json;
      added.workloads[workloads_path(row.definition)].push_back(
          {{"definition", row.name}, {"workload", json}, {"solution", nullptr}, {"evaluation", nullptr}});
      added.notes["workloads"][workload.uid] = workload_notes(workload);
    }
    for (const db::ExchangedVariant& variant : db::exchanged_variants(database_, row.id, all_))
      add_variant(row, variant, problem.get(), shapes, added);
    merge_exchange(set_, added);
  }

  [[nodiscard]] static Json workload_json(const Json& definition, const db::WorkloadRow& workload) {
    Json inputs = Json::object();
    for (const auto& [name, tensor] : definition["inputs"].items()) inputs[name] = flashinfer_input(tensor);
    return {{"axes", Json(flashinfer_axes(definition, workload.axes))},
            {"inputs", inputs},
            {"uuid", workload.uid}};
  }

  [[nodiscard]] static Json workload_notes(const db::WorkloadRow& workload) {
    const auto count = [](const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); };
    return {{"name", workload.name},
            {"tier", workload.tier},
            {"weight", workload.weight},
            {"checked", workload.checked},
            {"timed", workload.timed},
            {"flops", count(workload.flops)},
            {"bytes_read", count(workload.bytes_read)},
            {"bytes_written", count(workload.bytes_written)}};
  }

  void add_variant(const db::ExchangedDefinition& row, const db::ExchangedVariant& variant,
                   const ProblemInstance* problem, const std::map<std::string, Json>& shapes,
                   ExchangeSet& added) {
    std::string name, author = kAuthor;
    if (imported_.contains(variant.hash)) {
      name = imported_[variant.hash].value("solution", "");
      author = imported_[variant.hash].value("author", kAuthor);
    } else {
      const Json solution = solution_json(row, variant, problem);
      if (solution.is_null() || !fits(fmt::format("variant {}", variant.id), check_solution(solution)))
        return;
      name = solution["name"].get<std::string>();
      added.solutions[solution_path(solution, row.definition)] = solution;
    }
    for (const db::ExchangedResult& result : db::exchanged_results(database_, variant.id)) {
      const auto shape = shapes.find(result.workload_uid);
      if (shape == shapes.end()) continue;
      const Json trace = trace_json(row.name, shape->second, name, result);
      if (trace.is_null()) continue;
      if (fits(fmt::format("a result of variant {}", variant.id), check_trace(trace)))
        added.traces[traces_path(author, row.definition)].push_back(trace);
    }
  }

  /// Null where the source is not a candidate any more.
  [[nodiscard]] Json solution_json(const db::ExchangedDefinition& row, const db::ExchangedVariant& variant,
                                   const ProblemInstance* problem) {
    Result<Candidate> candidate = parse_candidate(variant.name, variant.source);
    if (!candidate) {
      report_.notes.push_back(
          fmt::format("variant {} is left out: {}", variant.id, candidate.error().message));
      return nullptr;
    }
    Candidate chosen = std::move(candidate).value();
    chosen.tunables = variant.tunables.get<TunableValues>();
    chosen.headers = variant.headers;
    const codegen::ExportedSolution files = files_of(row, variant, chosen, problem);
    Json sources = Json::array();
    for (const codegen::ExportedFile& file : files.files)
      sources.push_back({{"path", file.path}, {"content", file.text}});
    std::string stem = variant.name.substr(0, variant.name.find('.'));
    std::ranges::replace_if(
        stem, [](char c) { return !is_file_name(std::string("a") + c); }, '_');
    constexpr std::size_t kDigits = 12;
    // One kernel may solve several definitions, and a data set has one solution of a name.
    return {{"name", fmt::format("{}_{}_{}", row.name, stem.empty() || stem[0] == '.' ? "kernel" : stem,
                                 variant.hash.substr(0, kDigits))},
            {"definition", row.name},
            {"author", kAuthor},
            {"spec",
             {{"language", "cuda"},
              {"target_hardware", variant.devices.empty() ? Json{variant.arch} : Json(variant.devices)},
              {"entry_point", files.entry},
              {"dependencies", Json::array()},
              {"destination_passing_style", files.writes_outputs},
              {"binding", "torch"}}},
            {"sources", sources},
            {"description",
             fmt::format("{} for {} with {}", variant.name, variant.arch, variant.tunables.dump())}};
  }

  /// The kernel first; with it, where its plan can be written as C++, a function that Python can call.
  [[nodiscard]] codegen::ExportedSolution files_of(const db::ExchangedDefinition& row,
                                                   const db::ExchangedVariant& variant,
                                                   const Candidate& candidate,
                                                   const ProblemInstance* problem) {
    const auto arch = parse_sm(variant.arch);
    if (problem != nullptr && arch) {
      auto files = codegen::solution_files(*problem, candidate, *arch);
      if (files) return *std::move(files);
      report_.notes.push_back(
          fmt::format("variant {} goes without a function to call: {}", variant.id, files.error().message));
    }
    Definition named;
    named.name = row.name;
    const std::string file = codegen::export_name(named) + ".cu";
    LaunchPlan plan = candidate.plan;
    plan.frozen = candidate.tunables;
    plan.problem = row.problem;
    plan.params = row.params;
    return {.files = {{file, with_plan(candidate.self_contained(), plan)}},
            .entry =
                fmt::format("{}::{}", file, plan.launches.empty() ? "kernel" : plan.launches.front().kernel)};
  }

  [[nodiscard]] static Json trace_json(const std::string& definition, const Json& workload,
                                       const std::string& solution, const db::ExchangedResult& result) {
    const std::string_view status = status_of(result.status);
    const bool passed = status == "PASSED", compared = passed || status == "INCORRECT_NUMERICAL";
    if (passed && !result.median_ns) return nullptr;  // correct and not timed: the format has no such result
    Json evaluation{
        {"status", status},
        {"environment",
         {{"hardware", result.device},
          {"libs",
           {{"alphakernel", result.version}, {"cuda_driver", std::to_string(result.driver_version)}}}}},
        {"timestamp", result.ended_at},
        {"log", result.message},
        {"correctness", nullptr},
        {"performance", nullptr}};
    if (compared)
      evaluation["correctness"] = {
          {"max_relative_error", number(result.max_error)},
          {"max_absolute_error", number(result.absolute_error)},
          {"extra", {{"status", result.status}, {"reference_timed", result.baseline_ns.has_value()}}}};
    if (passed)
      evaluation["performance"] = {
          {"latency_ms", *result.median_ns / kNsPerMs},
          {"reference_latency_ms", result.baseline_ns.value_or(0) / kNsPerMs},
          {"speedup_factor", *result.median_ns > 0 ? result.baseline_ns.value_or(0) / *result.median_ns : 0}};
    return {{"definition", definition},
            {"workload", workload},
            {"solution", solution},
            {"evaluation", evaluation}};
  }

  void count() {
    report_.definitions = set_.definitions.size();
    report_.solutions = set_.solutions.size();
    for (const auto& [path, lines] : set_.workloads) report_.workloads += lines.size();
    for (const auto& [path, lines] : set_.traces) report_.traces += lines.size();
  }

  fs::path database_;
  bool all_;
  std::vector<fs::path> problems_;
  ExchangeSet set_;
  Json imported_ = Json::object();
  ExchangeReport report_;
};

}  // namespace

fs::path kept_folder(const fs::path& database) { return database.string() + ".exchange"; }

ExchangeReport export_exchange(const fs::path& database, const fs::path& folder, bool all,
                               const fs::path& problems) {
  return Exporter(database, all, problems).write(folder);
}

}  // namespace ak::app
