// SPDX-License-Identifier: Apache-2.0
#include "tests/db/synthetic_catalog.h"

#include <algorithm>
#include <cmath>

#include "codegen/problem/problem_catalog.h"
#include "core/text/hash.h"

namespace ak::db::test {
namespace {

struct Problem {
  std::string_view name;
  std::map<std::string, std::string> params;
};
const std::vector<Problem>& problems() {
  static const std::vector<Problem> list{
      {"softmax", {{"dtype", "bf16"}}},
      {"softmax", {{"dtype", "fp32"}}},
      {"gemm", {{"dtype", "bf16"}}},
      {"gemm", {{"dtype", "fp32"}}},
      {"flash_attention", {}},
      {"transpose", {{"dtype", "fp32"}}},
      {"transpose_inplace", {}},
      {"reduce_sum", {{"dtype", "fp32"}}},
      {"activation", {{"dtype", "bf16"}}},
      {"layernorm", {{"dtype", "bf16"}}},
      {"rmsnorm", {{"dtype", "bf16"}}},
      {"vector_add", {{"dtype", "fp32"}}},
  };
  return list;
}

constexpr std::size_t kMaxTimed = 2;

std::string params_text(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params) std::visit([&](const auto& v) { json[name] = v; }, value);
  return json.dump();
}

std::uint64_t text_number(std::string_view text) {
  std::uint64_t number = 14695981039346656037ull;  // FNV-1a
  for (const char c : text) number = (number ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return number;
}

}  // namespace

double min_ns(const SyntheticWorkload& workload, const SyntheticTarget& target) {
  return 2'500 + std::max(workload.bytes / target.gb_per_s, workload.flops / (1'000 * target.tflops));
}

std::uint64_t SyntheticSource::points() const {
  std::uint64_t count = 1;
  for (const Tunable& tunable : candidate.plan.tunables) count *= tunable.values.size();
  return count;
}

TunableValues SyntheticSource::values(std::uint64_t point) const {
  TunableValues values;
  for (const Tunable& tunable : candidate.plan.tunables) {
    values[tunable.name] = tunable.values[point % tunable.values.size()];
    point /= tunable.values.size();
  }
  return values;
}

double SyntheticSource::cost(std::uint64_t point, std::size_t target) const {
  double factor = slowness;
  std::uint64_t which = salt ^ Random::mixed(target + 1);
  for (const Tunable& tunable : candidate.plan.tunables) {
    which = Random::mixed(which + 1);
    const double u = Random(which + point % tunable.values.size()).uniform();
    factor *= 1 + 0.8 * u * u * u;
    point /= tunable.values.size();
  }
  return factor;
}

SyntheticCatalog::SyntheticCatalog(Connection& connection, Random& random)
    : random_(random),
      device_(connection, &random, "devices",
              "kind, name, uuid, arch, sm_count, l2_bytes, memory_bytes, peak_bandwidth_gbps, facts"),
      environment_(connection, &random, "environments",
                   "content_hash, host, operating_system, driver_version, alphakernel_version"),
      definition_(connection, &random, "definitions", "content_hash, name, problem, params, definition"),
      workload_(connection, &random, "workloads",
                "definition_id, name, workload_uid, content_hash, axes, tier, weight, checked, timed, flops, "
                "bytes_read, bytes_written"),
      source_(connection, &random, "sources", "content_hash, text, headers") {
  environment = environment_(sha256_hex("synthetic"), "synthetic", "Linux 6.1.0", 13'000, "0.1.0");
  add_devices();
  const std::vector<codegen::CatalogEntry> shipped = codegen::list_problems();
  for (const Problem& problem : problems()) {
    const auto entry = std::ranges::find(shipped, problem.name, &codegen::CatalogEntry::name);
    AK_ASSERT(entry != shipped.end(), "the problems are those that are shipped");
    add_definition(codegen::load_problem(entry->folder), problem.params);
  }
}

void SyntheticCatalog::add_devices() {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const SyntheticTarget& target = kSyntheticTargets[i];
    if (i > 0 && kSyntheticTargets[i - 1].name == target.name) {
      devices[i] = devices[i - 1];
      continue;
    }
    const bool gpu = target.kind == "cuda";
    const std::string uuid = gpu ? fmt::format("GPU-00000000-0000-0000-0000-{:012}", i) : "";
    const Json facts = {{"kind", target.kind},
                        {"name", target.name},
                        {"uuid", uuid},
                        {"arch", target.device_arch},
                        {"sm_count", target.sm_count}};
    devices[i] =
        device_(target.kind, target.name, uuid, target.device_arch, target.sm_count, std::int64_t{50} << 20,
                std::int64_t{80} << 30, gpu ? std::optional(target.gb_per_s) : std::nullopt, facts.dump());
  }
}

void SyntheticCatalog::add_definition(const codegen::Problem& family,
                                      const std::map<std::string, std::string>& params) {
  SyntheticDefinition& made = definitions.emplace_back();
  made.problem = codegen::instantiate(family, codegen::choose_params(family, params));
  made.params = params_text(made.problem->params);
  made.row = definition_(made.problem->definition.hash(), made.problem->definition.name,
                         made.problem->problem, made.params, to_json(made.problem->definition).dump());
  add_workloads(made);
  for (const CandidateFile& file : made.problem->templates) {
    SyntheticSource original;
    original.candidate =
        parse_candidate(fmt::format("{}/{}", made.problem->problem, file.name), file.source).value();
    original.salt = Random::mixed(text_number(file.name) + static_cast<std::uint64_t>(made.row));
    original.slowness = 1.02 + 0.2 * static_cast<double>(made.current.size());
    made.current.push_back(&add_source(made, original, original.candidate.name, ""));
  }
}

void SyntheticCatalog::add_workloads(SyntheticDefinition& definition) {
  const ProblemInstance& problem = *definition.problem;
  std::string hashes;
  for (const Workload& workload : problem.workloads) {
    const Environment environment_of = problem.environment(workload.axes);
    const auto number = [&](const Expression& formula) {
      const Result<std::int64_t> value = formula.evaluate_integer(environment_of);
      return value ? std::optional(*value) : std::nullopt;
    };
    const auto flops = number(problem.flops), read = number(problem.bytes_read),
               written = number(problem.bytes_written);
    constexpr std::array<std::string_view, 3> kTiers{"emulator", "gpu", "deep"};
    const std::string axes = Json(workload.axes).dump();
    const std::string hash = sha256_hex(workload.name + axes);
    const bool timed = workload.has(WorkloadRole::time);
    hashes += hash;
    const RowId row = workload_(definition.row, workload.name, workload.uid, hash, axes,
                                kTiers.at(static_cast<std::size_t>(workload.tier)), workload.weight,
                                workload.has(WorkloadRole::check), timed, flops, read, written);
    if (timed && workload.tier == WorkloadTier::gpu && definition.timed.size() < kMaxTimed)
      definition.timed.push_back({row, workload.name,
                                  static_cast<double>(read.value_or(0) + written.value_or(0)),
                                  static_cast<double>(flops.value_or(0))});
  }
  definition.workloads_hash = sha256_hex(hashes);
  AK_ASSERT(!definition.timed.empty(), "every shipped problem times a workload of tier gpu");
}

SyntheticSource& SyntheticCatalog::add_source(SyntheticDefinition& definition, const SyntheticSource& like,
                                              std::string name, const std::string& remark) {
  SyntheticSource& made = definition.sources.emplace_back();
  made.candidate = like.candidate;
  made.candidate.name = std::move(name);
  made.candidate.source += remark;
  made.plan = to_json(made.candidate.plan).dump();
  made.salt = like.salt;
  made.slowness = like.slowness;
  const std::string hash = made.candidate.source_hash();
  const auto [known, fresh] =
      source_rows_.try_emplace(hash);  // definitions of a family share their templates
  if (fresh) known->second = source_(hash, made.candidate.source, made.candidate.headers);
  made.row = known->second;
  return made;
}

}  // namespace ak::db::test
