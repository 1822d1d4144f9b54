// SPDX-License-Identifier: Apache-2.0
#include "app/predict/measured_calls.h"

#include <fmt/format.h>

#include <deque>
#include <map>

#include "app/predict/database_cells.h"
#include "app/predict/unpacked_database.h"
#include "core/error.h"
#include "db/database.h"
#include "profiler/prediction/count_extrapolation.h"

namespace ak::app {
namespace {

double number(const db::Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&cell);
  return real ? *real : 0;
}
std::int64_t integer(const db::Cell& cell) { return static_cast<std::int64_t>(number(cell)); }

constexpr const char* kCalls = R"(
SELECT d.id, d.problem, d.name, v.name, v.variant_hash, v.source_id, v.tunables, w.name, w.axes, w.weight,
       w.flops, w.bytes_read, w.bytes_written, avg(m.median_ns), dev.facts, s.arch,
       (SELECT json_group_array(json_object('kernel', k.kernel, 'registers', k.registers,
               'shared', k.static_shared_bytes, 'stores', k.spill_store_bytes, 'loads', k.spill_load_bytes))
        FROM build_kernels k WHERE k.build_id = e.build_id)
FROM measurements m
JOIN evaluations e ON e.id = m.evaluation_id JOIN proposals p ON p.id = e.proposal_id
JOIN variants v ON v.id = e.variant_id JOIN workloads w ON w.id = m.workload_id
JOIN definitions d ON d.id = v.definition_id JOIN devices dev ON dev.id = e.device_id
JOIN searches s ON s.id = e.search_id
WHERE m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0 AND e.status = 'ok' AND dev.kind = 'cuda'
  AND p.arm NOT IN ('comparison', 'examination', 'held_out')
GROUP BY v.id, w.id, dev.id ORDER BY v.id, w.id, dev.id)";

// One row per count: the CPU device counted the variant of that key on some shape.
constexpr const char* kCounts = R"(
SELECT d.name, v.variant_hash, w.axes, w.flops, w.bytes_read, w.bytes_written, m.name, m.value, e.id
FROM metrics m
JOIN evaluations e ON e.id = m.evaluation_id JOIN devices dev ON dev.id = e.device_id
JOIN variants v ON v.id = e.variant_id JOIN workloads w ON w.id = m.workload_id
JOIN definitions d ON d.id = v.definition_id
WHERE dev.kind = 'emulator' AND e.status = 'ok' AND m.kernel = ''
ORDER BY v.id, w.id, e.id)";

Params params_from(const Json& json) {
  Params params;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) params[name] = value.get<std::string>();
    if (value.is_number_integer()) params[name] = value.get<std::int64_t>();
    if (value.is_boolean()) params[name] = static_cast<std::int64_t>(value.get<bool>());
  }
  return params;
}

std::vector<KernelFacts> kernels_from(const std::string& array) {
  std::vector<KernelFacts> kernels;
  for (const Json& row : parse_json(array)) {
    KernelFacts& kernel = kernels.emplace_back();
    kernel.expression = row.at("kernel").get<std::string>();
    kernel.registers = row.at("registers").get<int>();
    kernel.static_shared_bytes = row.at("shared").get<int>();
    kernel.spill_store_bytes = row.at("stores").get<int>();
    kernel.spill_load_bytes = row.at("loads").get<int>();
  }
  return kernels;
}

/// As much of a problem as a plan needs; the least work is in the database.
ProblemInstance problem_of(std::string name, Definition definition, const Json& params) {
  const Expression none = Expression::parse("0").value();
  return {.problem = std::move(name),
          .folder = {},
          .params = params_from(params),
          .definition = std::move(definition),
          .aliases = {},
          .flops = none,
          .bytes_read = none,
          .bytes_written = none,
          .tolerance = {},
          .distributions = {},
          .mutations = {},
          .workloads = {},
          .reference_cu = {},
          .templates = {},
          .sources_cited = {}};
}

using profiler::MinWork;

/// Counts of one variant on one shape.
struct CountedShape {
  AxisValues axes;
  MinWork work;
  Counts counts;
};
using CountsByVariant = std::map<std::pair<std::string, std::string>, std::vector<CountedShape>>;

/// Definitions and sources of one database, each read once.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& database) {
    for (const auto& row : rows(database, "SELECT id, params, definition, problem FROM definitions")) {
      auto definition = definition_from_json(parse_json(text(row[2])));
      if (!definition) continue;
      problems_.emplace(integer(row[0]),
                        problem_of(text(row[3]), std::move(definition).value(), parse_json(text(row[1]))));
    }
    for (const auto& row : rows(database, "SELECT id, text FROM sources")) {
      if (auto candidate = parse_candidate("source", text(row[1])))
        candidates_.emplace(integer(row[0]), std::move(candidate).value());
    }
  }

  static std::vector<std::vector<db::Cell>> rows(const std::filesystem::path& database, const char* sql) {
    return db::query(database, sql, 0, kQueryPatience).rows;
  }

  /// Nothing when the call can no longer be resolved.
  std::optional<profiler::MeasuredCall> call(const std::vector<db::Cell>& row,
                                             const CountsByVariant& counts) {
    const auto problem = problems_.find(integer(row[0]));
    const auto candidate = candidates_.find(integer(row[5]));
    if (problem == problems_.end() || candidate == candidates_.end()) return std::nullopt;
    candidate->second.name = text(row[3]);
    candidate->second.tunables = integers_from<TunableValues>(parse_json(text(row[6])));
    const auto arch = parse_arch(text(row[15]));
    if (!arch) return std::nullopt;
    profiler::MeasuredCall call;
    call.device = device_facts_from_json(parse_json(text(row[14])));
    const auto facts_of = [&](const MinWork& work, const AxisValues& axes) {
      return profiler::call_facts(problem->second, work, candidate->second, axes, call.device, *arch,
                                  kernels_from(text(row[16])));
    };
    auto facts =
        facts_of({.flops = number(row[10]), .bytes_read = number(row[11]), .bytes_written = number(row[12])},
                 integers_from<AxisValues>(parse_json(text(row[8]))));
    if (!facts) return std::nullopt;
    if (const auto counted = counts.find({text(row[2]), text(row[4])}); counted != counts.end()) {
      std::vector<profiler::CountedCall> known;
      for (const CountedShape& shape : counted->second) {
        if (auto there = facts_of(shape.work, shape.axes))
          known.push_back({.facts = std::move(there).value(), .counts = shape.counts});
      }
      if (auto larger = profiler::extrapolate_counts(known, *facts)) {
        facts.value().counts = std::move(larger->counts);
        facts.value().knowledge = profiler::Knowledge::count;
      }
    }
    call.algorithm = text(row[1]);
    call.definition = text(row[2]);
    call.candidate = text(row[3]);
    call.variant = text(row[4]);
    call.workload = text(row[7]);
    call.weight = number(row[9]);
    call.measured_ns = number(row[13]);
    call.facts = std::move(facts).value();
    return call;
  }

 private:
  std::map<std::int64_t, ProblemInstance> problems_;
  std::map<std::int64_t, Candidate> candidates_;
};

void read_counts(const std::filesystem::path& database, CountsByVariant& into) {
  std::int64_t evaluation = -1;
  std::string axes;
  for (const auto& row : Reader::rows(database, kCounts)) {
    auto& shapes = into[{text(row[0]), text(row[1])}];
    if (integer(row[8]) != evaluation || text(row[2]) != axes) {
      evaluation = integer(row[8]);
      axes = text(row[2]);
      shapes.push_back(
          {.axes = integers_from<AxisValues>(parse_json(axes)),
           .work = {.flops = number(row[3]), .bytes_read = number(row[4]), .bytes_written = number(row[5])},
           .counts = {}});
    }
    shapes.back().counts[text(row[6])] = static_cast<std::uint64_t>(number(row[7]));
  }
}

}  // namespace

MeasuredCalls measured_calls(const std::vector<std::filesystem::path>& databases, const std::string& arch) {
  std::deque<UnpackedDatabase> unpacked;
  for (const std::filesystem::path& database : databases) unpacked.emplace_back(database);
  CountsByVariant counts;
  for (const UnpackedDatabase& database : unpacked) read_counts(database.path(), counts);
  MeasuredCalls found;
  for (const UnpackedDatabase& database : unpacked) {
    Reader reader(database.path());
    for (const auto& row : Reader::rows(database.path(), kCalls)) {
      if (!arch.empty() && text(row[15]) != arch) continue;
      if (auto call = reader.call(row, counts))
        found.calls.push_back(std::move(*call));
      else
        ++found.left_out;
    }
  }
  std::vector<std::string> names;
  for (const std::filesystem::path& database : databases) names.push_back(database.string());
  if (found.calls.empty())
    fail(ExitCode::bad_input,
         "no measurement of a GPU for {} in {}: expected a database that `alphakernel generate` wrote on one",
         arch.empty() ? "any target" : arch, fmt::join(names, ", "));
  return found;
}

}  // namespace ak::app
