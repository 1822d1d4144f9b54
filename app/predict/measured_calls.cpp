// SPDX-License-Identifier: Apache-2.0
#include "app/predict/measured_calls.h"

#include <fmt/format.h>

#include <deque>
#include <map>

#include "app/predict/database_cells.h"
#include "app/predict/unpacked_database.h"
#include "core/error.h"
#include "db/read/measured_call_rows.h"
#include "db/read/table_rows.h"
#include "profiler/prediction/count_extrapolation.h"

namespace ak::app {
namespace {

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

MinWork work_of(const db::TableRow& row) {
  return {.flops = row.real("flops"),
          .bytes_read = row.real("bytes_read"),
          .bytes_written = row.real("bytes_written")};
}

/// Definitions and sources of one database, each read once.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& database) {
    const db::Table definitions = db::definition_rows(database, kQueryPatience);
    for (const db::TableRow& row : db::rows_of(definitions)) {
      auto definition = definition_from_json(parse_json(row.text("definition")));
      if (!definition) continue;
      problems_.emplace(row.integer("id"), problem_of(row.text("problem"), std::move(definition).value(),
                                                      parse_json(row.text("params"))));
    }
    const db::Table sources = db::source_rows(database, kQueryPatience);
    for (const db::TableRow& row : db::rows_of(sources)) {
      if (auto candidate = parse_candidate("source", row.text("text")))
        candidates_.emplace(row.integer("id"), std::move(candidate).value());
    }
  }

  /// Nothing when the call can no longer be resolved.
  std::optional<profiler::MeasuredCall> call(const db::TableRow& row, const CountsByVariant& counts) {
    const auto problem = problems_.find(row.integer("definition_id"));
    const auto candidate = candidates_.find(row.integer("source_id"));
    if (problem == problems_.end() || candidate == candidates_.end()) return std::nullopt;
    candidate->second.name = row.text("candidate");
    candidate->second.tunables = integers_from<TunableValues>(parse_json(row.text("tunables")));
    const auto arch = parse_arch(row.text("arch"));
    if (!arch) return std::nullopt;
    profiler::MeasuredCall call;
    call.device = device_facts_from_json(parse_json(row.text("facts")));
    const auto facts_of = [&](const MinWork& work, const AxisValues& axes) {
      return profiler::call_facts(problem->second, work, candidate->second, axes, call.device, *arch,
                                  kernels_from(row.text("kernels")));
    };
    auto facts = facts_of(work_of(row), integers_from<AxisValues>(parse_json(row.text("axes"))));
    if (!facts) return std::nullopt;
    if (const auto counted = counts.find({row.text("definition"), row.text("variant_hash")});
        counted != counts.end()) {
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
    call.algorithm = row.text("problem");
    call.definition = row.text("definition");
    call.candidate = row.text("candidate");
    call.variant = row.text("variant_hash");
    call.workload = row.text("workload");
    call.weight = row.real("weight");
    call.measured_ns = row.real("measured_ns");
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
  const db::Table counts = db::emulated_count_rows(database, kQueryPatience);
  for (const db::TableRow& row : db::rows_of(counts)) {
    auto& shapes = into[{row.text("definition"), row.text("variant_hash")}];
    if (row.integer("evaluation") != evaluation || row.text("axes") != axes) {
      evaluation = row.integer("evaluation");
      axes = row.text("axes");
      shapes.push_back(
          {.axes = integers_from<AxisValues>(parse_json(axes)), .work = work_of(row), .counts = {}});
    }
    shapes.back().counts[row.text("name")] = static_cast<std::uint64_t>(row.real("value"));
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
    const db::Table calls = db::measured_call_rows(database.path(), kQueryPatience);
    for (const db::TableRow& row : db::rows_of(calls)) {
      if (!arch.empty() && row.text("arch") != arch) continue;
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
