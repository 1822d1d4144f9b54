// SPDX-License-Identifier: Apache-2.0
#include "app/experiment/manifest.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "app/search/manifest_fields.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"
#include "experiment_files.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr Format kManifestFormat{.name = "the manifest of an experiment"};

void read_budgets(const JsonReader& at, agent::Budgets& budgets) {
  if (const auto given = at.find("max_evaluations")) budgets.max_evaluations = read_count(*given);
  if (const auto given = at.find("max_compilations")) budgets.max_compilations = read_count(*given);
  if (const auto given = at.find("max_minutes")) budgets.max_wall = read_minutes(*given);
}

ManifestRun read_run(const JsonReader& at, const fs::path& folder) {
  at.only({"name", "algorithm", "problem", "params", "shape", "arch", "device", "proposer", "strategy",
           "seed", "template", "set", "max_evaluations", "max_compilations", "max_minutes",
           "target_performance", "per_shape", "prepared_copies"});
  ManifestRun run;
  if (const auto given = at.find("algorithm")) run.algorithm = read_name(*given);
  if (const auto given = at.find("problem")) run.problem = folder / read_text(*given, "a folder");
  if (run.algorithm.empty() == run.problem.empty())
    at.reject("expected 'algorithm' or 'problem', one of them");
  const auto name = at.find("name");
  if (!name && run.algorithm.empty()) at.reject("the key 'name' is missing");
  run.name = name ? read_name(*name) : run.algorithm;
  if (const auto given = at.find("params")) run.params = read_params(*given);
  if (const auto given = at.find("shape")) run.shapes = read_shapes(*given);
  if (const auto given = at.find("arch")) run.arch = read_text(*given, "a target such as \"sm_90a\"");
  if (const auto given = at.find("device")) run.device = read_text(*given, "a device such as \"emulator\"");
  if (const auto given = at.find("proposer"); given && given->text() != "search") given->fail("\"search\"");
  if (const auto given = at.find("strategy")) run.strategy = read_strategy(*given);
  if (const auto given = at.find("seed")) run.seed = static_cast<std::uint64_t>(read_count(*given));
  if (const auto given = at.find("template")) run.only = read_text(*given, "a file name such as \"gemm.cu\"");
  if (const auto given = at.find("set")) run.fixed = read_fixed(*given);
  if (const auto given = at.find("target_performance"))
    run.target_performance = read_text(*given, "a target such as \"90%sol\"");
  if (const auto given = at.find("per_shape")) run.per_shape = given->boolean();
  if (const auto given = at.find("prepared_copies")) run.prepared_copies = read_count(*given);
  read_budgets(at, run.budgets);
  return run;
}

Expectation read_expectation(const JsonReader& at) {
  at.only({"name", "sql", "unit", "needs", "at_least", "at_most", "equals"});
  Expectation expectation;
  expectation.name = read_text(at.member("name"), "what is expected, in words");
  expectation.sql = read_text(at.member("sql"), "a SELECT of one value");
  if (const auto given = at.find("unit")) expectation.unit = given->text();
  if (const auto given = at.find("needs")) {
    if (given->text() != "gpu") given->fail("\"gpu\"");
    expectation.needs_gpu = true;
  }
  if (const auto given = at.find("at_least")) expectation.at_least = given->number();
  if (const auto given = at.find("at_most")) expectation.at_most = given->number();
  if (const auto given = at.find("equals")) expectation.equals = given->number();
  if (!expectation.at_least && !expectation.at_most && !expectation.equals)
    at.reject("expected a bound: 'at_least', 'at_most' or 'equals'");
  return expectation;
}

/// Positions of the runs by name.
std::map<std::string, std::size_t> positions_of(const Manifest& manifest) {
  std::map<std::string, std::size_t> positions;
  for (const ManifestRun& run : manifest.runs) positions.emplace(run.name, positions.size());
  return positions;
}

/// SQL for the number of a run's search.
std::string search_at(std::size_t position) {
  return fmt::format("({} ORDER BY id LIMIT 1 OFFSET {})", searches_of_runs(), position);
}

/// `sql` with every {name} replaced; throws JsonInputError for a name that is not a run.
std::string fill(const JsonReader& at, std::string sql, const std::map<std::string, std::size_t>& positions) {
  for (std::size_t begin = sql.find('{'); begin != std::string::npos; begin = sql.find('{', begin)) {
    const std::size_t end = sql.find('}', begin);
    const std::string name = sql.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    const auto position = positions.find(name);
    if (position == positions.end() || end == std::string::npos) {
      std::vector<std::string> names;
      for (const auto& [run, number] : positions) names.push_back(run);
      at.reject(fmt::format("no run is called '{}'{}; known: {}", sanitize(name, 60),
                            did_you_mean(name, names), fmt::join(names, ", ")));
    }
    sql.replace(begin, end - begin + 1, search_at(position->second));
  }
  return sql;
}

Manifest read(const JsonReader& at, const fs::path& file) {
  at.only({"format", "name", "question", "arch", "device", "runs", "expectations"});
  Manifest manifest;
  manifest.name = read_name(at.member("name"));
  if (manifest.name != file.stem().string())
    at.member("name").fail(fmt::format("the name of the file, \"{}\"", file.stem().string()));
  manifest.question = read_text(at.member("question"), "a sentence");
  if (const auto given = at.find("arch")) manifest.arch = read_text(*given, "a target such as \"sm_90a\"");
  if (const auto given = at.find("device"))
    manifest.device = read_text(*given, "a device such as \"emulator\"");
  std::set<std::string> names;
  for (const JsonReader& item : at.member("runs").items()) {
    manifest.runs.push_back(read_run(item, file.parent_path()));
    if (!names.insert(manifest.runs.back().name).second)
      item.reject(fmt::format("another run is called '{}' too; give it a 'name'", manifest.runs.back().name));
  }
  if (manifest.runs.empty()) at.member("runs").fail("at least one run");
  const auto positions = positions_of(manifest);
  if (const auto given = at.find("expectations")) {
    for (const JsonReader& item : given->items()) {
      manifest.expectations.push_back(read_expectation(item));
      static_cast<void>(fill(item.member("sql"), manifest.expectations.back().sql, positions));
    }
  }
  return manifest;
}

}  // namespace

Manifest read_manifest(const fs::path& file) {
  const EmbeddedFile* shipped = find_compiled_in(experiment_files(), file);
  const std::string text = shipped == nullptr ? read_file(file) : std::string(shipped->text);
  try {
    const Json json = up_to_date(kManifestFormat, parse_written_json(text));
    Manifest manifest = read(JsonReader(json), file);
    manifest.file = file;
    manifest.text = text;
    return manifest;
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file.string(), error.what());
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), input_error.what());
  }
}

std::string searches_of_runs() {
  return "SELECT s.id AS id FROM searches s WHERE s.id NOT IN (SELECT search_id FROM set_searches WHERE role "
         "<> "
         "'set') AND NOT EXISTS (SELECT 1 FROM searches l WHERE l.id > s.id AND l.command = s.command)";
}

std::string sql_of(const Expectation& expectation, const Manifest& manifest) {
  return fill(JsonReader(Json()), expectation.sql, positions_of(manifest));
}

std::vector<fs::path> manifest_search_path() {
  return data_search_path("ALPHAKERNEL_EXPERIMENTS", "experiments", AK_SOURCE_EXPERIMENTS);
}

std::vector<fs::path> list_manifests() {
  std::map<std::string, fs::path> found;
  for (const fs::path& folder : manifest_search_path()) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".json") found.emplace(entry.path().stem().string(), entry.path());
    }
  }
  for (const EmbeddedFile& file : experiment_files()) {
    const fs::path path = compiled_in_folder(file.name);
    found.emplace(path.stem().string(), path);
  }
  std::vector<fs::path> files;
  for (const auto& [name, file] : found) files.push_back(file);
  return files;
}

fs::path find_manifest(const std::string& file_or_name) {
  if (fs::is_regular_file(file_or_name)) return file_or_name;
  std::vector<std::string> names;
  for (const fs::path& file : list_manifests()) {
    if (file.stem() == file_or_name) return file;
    names.push_back(file.stem().string());
  }
  fail(ExitCode::usage, "there is no manifest '{}'{}; expected a file or one of: {}", file_or_name,
       did_you_mean(file_or_name, names), fmt::join(names, ", "));
}

}  // namespace ak::app
