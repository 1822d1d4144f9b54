// SPDX-License-Identifier: Apache-2.0
#include "app/predict/count_variants.h"

#include <map>
#include <set>

#include "app/predict/database_cells.h"
#include "app/predict/exact_counts.h"
#include "app/setup/assembler.h"
#include "app/setup/target.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/read/table_rows.h"
#include "profiler/prediction/count_extrapolation.h"

namespace ak::app {
namespace {

// Every measured variant without counts, with the shapes it was measured on, in an order that has nothing to
// do with its tunables.
constexpr const char* kVariants = R"(
SELECT d.name AS definition, d.problem, d.params, v.name AS candidate, s.text, s.headers, v.tunables,
       json_group_array(DISTINCT w.axes) AS shapes
FROM measurements m
JOIN evaluations e ON e.id = m.evaluation_id JOIN variants v ON v.id = e.variant_id
JOIN workloads w ON w.id = m.workload_id JOIN definitions d ON d.id = v.definition_id
JOIN sources s ON s.id = v.source_id JOIN devices dev ON dev.id = e.device_id
JOIN searches n ON n.id = e.search_id
WHERE m.role = 'candidate' AND m.cold = 1 AND e.status = 'ok' AND dev.kind = 'cuda' AND n.arch = '{}'
  AND NOT EXISTS (SELECT 1 FROM evaluations f JOIN devices g ON g.id = f.device_id
                  WHERE f.variant_id = v.id AND g.kind = 'emulator')
GROUP BY v.id ORDER BY d.name, v.variant_hash)";

struct Variant {
  Candidate candidate;
  std::vector<AxisValues> measured;
  std::vector<std::string> workloads = {};  ///< names of the shapes to count on
};
struct Family {
  std::string problem;
  Json params;
  std::vector<Variant> variants;
};

std::map<std::string, Family> families_of(const std::filesystem::path& database, const std::string& arch,
                                          int per_space) {
  std::map<std::string, Family> families;
  std::map<std::string, int> taken;
  const std::string sql = std::string(kVariants).replace(std::string_view(kVariants).find("{}"), 2, arch);
  const db::Table table = db::query(database, sql, 0, kQueryPatience);
  for (const db::TableRow& row : db::rows_of(table)) {
    if (per_space > 0 && ++taken[row.text("definition") + row.text("candidate")] > per_space) continue;
    auto candidate = parse_candidate(row.text("candidate"), row.text("text"));
    if (!candidate) continue;
    candidate.value().headers = row.text("headers");
    candidate.value().tunables = integers_from<TunableValues>(parse_json(row.text("tunables")));
    Family& family = families[row.text("definition")];
    family.problem = row.text("problem");
    family.params = parse_json(row.text("params"));
    Variant& variant =
        family.variants.emplace_back(Variant{.candidate = std::move(candidate).value(), .measured = {}});
    for (const Json& axes : parse_json(row.text("shapes")))
      variant.measured.push_back(integers_from<AxisValues>(parse_json(axes.get<std::string>())));
  }
  return families;
}

std::shared_ptr<const ProblemInstance> instance_of(const Family& family) {
  std::map<std::string, std::string> params;
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem(family.problem));
  for (const ParamSpec& spec : problem.params) {
    const auto given = family.params.find(spec.name);
    if (given == family.params.end()) continue;
    const bool truth =
        given->is_boolean() ? given->get<bool>() : given->is_number() && given->get<int>() != 0;
    params[spec.name] = given->is_string()                ? given->get<std::string>()
                        : spec.type == ParamType::boolean ? (truth ? "true" : "false")
                                                          : given->dump();
  }
  return codegen::instantiate(problem, codegen::choose_params(problem, params));
}

/// Names every variant's shapes; all of them together.
std::vector<AxisValues> choose_shapes(Family& family, const ProblemInstance& problem, const Target& target) {
  std::set<AxisValues> all;
  for (Variant& variant : family.variants) {
    std::set<std::string> names;
    for (const AxisValues& axes : variant.measured) {
      for (const AxisValues& shape :
           profiler::reduced_shapes(problem, variant.candidate, axes, *target.device, target.arch)) {
        names.insert(shape_name(problem.definition, shape));
        all.insert(shape);
      }
    }
    variant.workloads.assign(names.begin(), names.end());
  }
  return {all.begin(), all.end()};
}

/// One search on the CPU device over the variants of a definition.
class Counting {
 public:
  Counting(VariantStore& store, Evaluator& evaluator, const Target& target)
      : store_(store), evaluator_(evaluator), target_(target) {}

  CountingResult run(Family& family) {
    const auto instance = instance_of(family);
    const auto problem = with_counted_shapes(*instance, choose_shapes(family, *instance, target_));
    search_ = store_.begin_search({.command = "alphakernel model count",
                                   .proposer = "user",
                                   .strategy = "none",
                                   .seed = 0,
                                   .budgets = Json::object(),
                                   .version = AK_VERSION},
                                  *problem, *target_.device, target_.arch);
    result_ = {};
    for (const Variant& variant : family.variants) {
      if (in_flight_ >= evaluator_.capabilities().useful_in_flight) take();
      submit(problem, variant);
    }
    while (in_flight_ > 0) take();
    store_.end_search(search_, "finished", "counted", std::nullopt);
    return result_;
  }

 private:
  void submit(const std::shared_ptr<const ProblemInstance>& problem, const Variant& variant) {
    EvaluationRequest request;
    request.problem = problem;
    request.candidate = variant.candidate;
    request.arch = target_.arch;
    for (const Workload& workload : problem->workloads) {
      if (std::ranges::find(variant.workloads, workload.name) != variant.workloads.end())
        request.workloads.push_back(workload.name);
    }
    if (request.workloads.empty()) return;
    evaluator_.submit(std::move(request));
    ++in_flight_;
  }

  void take() {
    const auto done = evaluator_.wait_any(std::chrono::steady_clock::time_point::max());
    AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
    --in_flight_;
    ++(done->result.outcome.status == Status::ok ? result_.counted : result_.failed);
    static_cast<void>(store_.commit({.search = search_,
                                     .iteration = iteration_++,
                                     .proposer = "user",
                                     .arm = "count",
                                     .parents = {},
                                     .request = &done->request,
                                     .result = &done->result}));
  }

  VariantStore& store_;
  Evaluator& evaluator_;
  const Target& target_;
  RowId search_ = 0;
  int in_flight_ = 0, iteration_ = 0;
  CountingResult result_;
};

}  // namespace

CountingResult count_variants(const std::filesystem::path& database, const std::string& arch, int per_space,
                              const Config& config) {
  const Target target = choose_target("emulator", arch);
  auto families = families_of(database, arch, per_space);
  const auto store = db::open_store(database);
  runtime::EvaluatorOptions options = evaluator_options(target, config);
  options.time_baseline = false;
  const auto evaluator = runtime::make_local_evaluator(std::move(options), source_assembler());
  Counting counting(*store, *evaluator, target);
  CountingResult all;
  for (auto& [definition, family] : families) {
    const CountingResult here = counting.run(family);
    print_stderr("{}: {} variants counted, {} failed\n", definition, here.counted, here.failed);
    all.counted += here.counted;
    all.failed += here.failed;
  }
  return all;
}

}  // namespace ak::app
