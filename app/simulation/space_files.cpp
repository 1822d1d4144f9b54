// SPDX-License-Identifier: Apache-2.0
#include "app/simulation/space_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/written_json.h"
#include "core/tuning/decompress.h"
#include "db/read/reader.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestDefinition = 1u << 20;

bool is_database(const fs::path& file) {
  require_regular_file(file);
  std::string head(16, '\0');
  std::ifstream(file, std::ios::binary).read(head.data(), 16);
  return head == std::string("SQLite format 3\0", 16);
}

db::Table rows(const fs::path& file, const std::string& sql) {
  return db::query(file, sql, 0, std::chrono::minutes(1));
}

std::int64_t latest_search(const fs::path& file) {
  const db::Table found =
      rows(file,
           "SELECT (SELECT s.id FROM searches s WHERE EXISTS (SELECT 1 FROM evaluations "
           "e WHERE e.search_id = s.id AND "
           "e.score_ns IS NOT NULL) ORDER BY s.started_at DESC, s.id DESC LIMIT 1) AS search");
  // NULL where there is none; ids begin at 1.
  if (const std::int64_t id = db::rows_of(found).at(0).integer("search"); id > 0) return id;
  fail(ExitCode::bad_input, "{}: no search has a timed evaluation", file.string());
}

MeasuredSpaceBuilder::Row measured_row(const db::TableRow& stored) {
  MeasuredSpaceBuilder::Row row;
  const Json tunables = parse_json(stored.text("tunables"));
  for (const auto& [name, value] : tunables.items()) row.values.emplace(name, tuning_value(value).value());
  const std::string status = stored.text("status");
  if (status == "ok") row.result.time_ns = stored.known_real("score_ns");
  if (!row.result.time_ns) row.result.failure = status;
  row.result.compile_ms = stored.known_real("build_ms");
  row.result.benchmark_ms = stored.known_real("benchmark_ms");
  return row;
}

/// The template of the search with the most evaluations: another one has other tunables.
std::string main_template(const fs::path& file, std::int64_t search, std::size_t& templates) {
  const db::Table found = rows(
      file,
      fmt::format("SELECT v.name FROM evaluations e JOIN variants v ON v.id = e.variant_id "
                  "WHERE e.search_id = {} AND v.tunables <> '{{}}' GROUP BY v.name ORDER BY count(*) DESC",
                  search));
  templates = found.rows.size();
  if (found.rows.empty())
    fail(ExitCode::bad_input, "{}: search {} has no evaluation of a template with tunables", file.string(),
         search);
  return db::rows_of(found).front().text("name");
}

std::string sql_quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 2) text.insert(at, 1, '\'');
  return "'" + text + "'";
}

MeasuredSpace load_search(const fs::path& file, std::int64_t search) {
  std::size_t templates = 0;
  const std::string name = main_template(file, search, templates);
  // The first verdict on a variant counts: later ones (comparisons, the final measurement) are of the few
  // that were fast, and would make these alone more exact.
  const db::Table table = rows(
      file, fmt::format(
                "SELECT v.tunables, e.status, e.score_ns, e.build_ms, e.check_ms + e.time_ms AS benchmark_ms "
                "FROM evaluations e JOIN variants v ON v.id = e.variant_id "
                "WHERE e.search_id = {} AND v.name = {} AND (e.score_ns IS NOT NULL OR e.status NOT "
                "IN ('ok', 'compiled_only', 'duplicate', 'pruned', 'interrupted')) AND e.id = (SELECT "
                "min(f.id) FROM evaluations f WHERE f.search_id = e.search_id AND f.variant_id = "
                "e.variant_id) ORDER BY e.id",
                search, sql_quoted(name)));
  MeasuredSpaceBuilder builder;
  for (const db::TableRow& row : db::rows_of(table)) builder.add(measured_row(row));
  Result<MeasuredSpace> gathered = builder.finish({});
  if (!gathered)
    fail(ExitCode::bad_input, "{}, search {}: {}", file.string(), search, gathered.error().message);
  MeasuredSpace space = std::move(gathered).value();
  const db::Table facts = rows(
      file,
      fmt::format(
          "SELECT d.name AS kernel, v.name AS device FROM searches s JOIN devices v ON v.id = s.device_id "
          "JOIN definitions d ON d.id = s.definition_id WHERE s.id = {}",
          search));
  const db::TableRow searched = db::rows_of(facts).at(0);
  space.kernel = searched.text("kernel");
  space.device = searched.text("device");
  if (templates > 1)
    space.notes.push_back(fmt::format("only {} of {} templates of search {}", name, templates, search));
  return space;
}

bool has_results(const fs::path& file) {
  const std::string name = file.filename().string();
  const bool json = name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".json.xz");
  return json && !(fs::file_size(file) < kLargestDefinition && load_definition(file));
}

}  // namespace

MeasuredSpace load_space(const fs::path& file, std::optional<std::int64_t> search) {
  if (!is_database(file)) return read_measured_space(file);
  return load_search(file, search ? *search : latest_search(file));
}

std::optional<SpaceDefinition> load_definition(const fs::path& file) {
  if (fs::file_size(file) > kLargestDefinition || is_database(file)) return std::nullopt;
  bool cut_short = false;
  const std::string text = decompress(read_file(file), file.string(), cut_short);
  const Json json = try_parse_json(text);
  if (json.is_discarded() || !is_definition(json)) return std::nullopt;
  if (const auto repeated = find_repeated_key(text))
    fail(ExitCode::bad_input, "{}: line {}: the key '{}' is there twice", file.string(), repeated->line,
         repeated->key);
  Result<SpaceDefinition> definition = parse_definition(json);
  if (!definition) fail(ExitCode::bad_input, "{}: {}", file.string(), definition.error().message);
  return std::move(definition).value();
}

TunableSpace build_space(const SpaceDefinition& definition, const std::string& name) {
  Result<TunableSpace> space = TunableSpace::build(definition.parameters, definition.constraints);
  if (!space) fail(ExitCode::bad_input, "{}: {}", name, space.error().message);
  if (space->size() > 0) return std::move(space).value();
  fail(ExitCode::bad_input, "{}: the space is empty; no point satisfies {}", name,
       fmt::join(contradiction(*space), " together with "));
}

std::vector<fs::path> space_files(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const fs::path path : paths) {
    if (!fs::exists(path)) fail(ExitCode::bad_input, "there is no file {}", path.string());
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file() && has_results(entry.path())) found.push_back(entry.path());
    if (found.empty()) fail(ExitCode::bad_input, "{} has no files with results", path.string());
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::string space_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find(".json"));
}

}  // namespace ak::app
