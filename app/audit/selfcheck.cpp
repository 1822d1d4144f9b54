// SPDX-License-Identifier: Apache-2.0
#include "app/audit/selfcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <tuple>

#include "app/setup/assembler.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/tuning/plan_space.h"

namespace ak::app {
namespace {

// Less than this share of the honest cost is a gain; times on a GPU scatter by some percent (chosen).
constexpr double kGain = 0.9;
// Well above what is shown of prints (2,000 bytes) and well below what a flood amounts to.
constexpr std::size_t kLongText = 4'000;

using Problem = std::shared_ptr<const ProblemInstance>;

Candidate candidate_of(const std::string& name, const std::string& source) {
  auto parsed = parse_candidate(name, source);
  if (!parsed) fail(ExitCode::internal_error, "{}: {}", name, parsed.error().message);
  return std::move(parsed).value();
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7f';
}

/// Control characters, or the one that has what follows read from right to left (U+202E).
bool has_control(const std::string& text) {
  return std::ranges::any_of(text, is_control) || text.find("\xE2\x80\xAE") != std::string::npos;
}

/// Everything an outcome says.
std::vector<std::string> texts_of(const Outcome& outcome) {
  std::vector<std::string> texts{outcome.message};
  for (const Diagnostic& d : outcome.diagnostics) texts.push_back(d.message);
  return texts;
}

bool reached_goal(const ExploitReport& report) {
  const auto texts = texts_of(report.outcome);
  const bool ok = is_verified(report.outcome.status);
  switch (report.exploit.goal) {
    case ExploitGoal::ok:
      return ok;
    case ExploitGoal::cheaper:
      return ok && report.score_ns && report.honest_ns && *report.score_ns < kGain * *report.honest_ns;
    case ExploitGoal::timeout:
      return report.outcome.status == Status::timeout;
    case ExploitGoal::control_characters:
      return std::ranges::any_of(texts, has_control);
    case ExploitGoal::long_text:
      return std::ranges::any_of(texts, [](const auto& text) { return text.size() > kLongText; });
  }
  AK_ASSERT(false, "every goal has a case");
  return false;
}

SelfcheckVerdict verdict_of(const ExploitReport& report) {
  const ExpectedEnd& expected = report.exploit.expected;
  if (reached_goal(report)) return SelfcheckVerdict::missed;
  const auto& gate = report.outcome.gate;
  if (gate) {
    return *gate == expected.seen.value_or(*expected.gate) ? SelfcheckVerdict::caught
                                                           : SelfcheckVerdict::other_gate;
  }
  // Gates that prevent have no verdict of their own: the exploit ran, and gained nothing.
  const ExploitGoal goal = report.exploit.goal;
  const bool says_something = goal == ExploitGoal::control_characters || goal == ExploitGoal::long_text;
  const bool contained = goal == ExploitGoal::cheaper ? report.outcome.status == Status::ok : says_something;
  return contained ? SelfcheckVerdict::caught : SelfcheckVerdict::unclear;
}

ExpectedEnd not_applicable(const Arch& arch) {
  ExpectedEnd expected;
  expected.not_applicable = arch.sm() + " lacks an instruction that it needs";
  return expected;
}

std::string tunables_text(const TunableValues& tunables) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : tunables) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

class Run {
 public:
  Run(const Target& target, const Config& config, const SelfcheckOptions& options)
      : target_(target),
        options_(options),
        evaluator_(make_evaluator(target, config)),
        random_(options.seed) {}

  SelfcheckReport run(const std::function<void(std::size_t, std::size_t)>& progress) {
    if (options_.exploits) submit_exploits();
    submit_lookalikes();
    if (options_.templates) submit_templates();
    const std::size_t all = takers_.size();
    while (!takers_.empty()) {
      progress(all - takers_.size(), all);
      auto done = evaluator_->wait_any(std::chrono::steady_clock::time_point::max());
      AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
      takers_.extract(done->ticket).mapped()(done->result);
    }
    for (ExploitReport& report : report_.exploits) {
      if (report.exploit.expected.gate) report.verdict = verdict_of(report);
    }
    return std::move(report_);
  }

 private:
  using Taker = std::function<void(EvaluationResult&)>;

  Problem problem(const std::string& algorithm, const std::map<std::string, std::string>& params,
                  const std::string& shape) {
    Problem& known = problems_[{algorithm, params, shape}];
    if (known == nullptr) {
      const codegen::Problem family = codegen::load_problem(codegen::find_problem(algorithm));
      known = codegen::instantiate(family, codegen::choose_params(family, params));
      if (!shape.empty()) known = codegen::with_shape(*known, shape);
    }
    return known;
  }

  void submit(Problem of, Candidate candidate, std::vector<std::string> workloads,
              std::chrono::milliseconds deadline, Taker taker) {
    EvaluationRequest request;
    request.problem = std::move(of);
    request.candidate = std::move(candidate);
    request.arch = target_.arch;
    request.workloads = std::move(workloads);
    request.seed = options_.seed;
    request.changing_inputs = true;
    request.deadline = deadline;
    takers_[evaluator_->submit(std::move(request))] = std::move(taker);
  }

  bool wanted(const Exploit& exploit) const {
    const auto& rows = options_.rows;
    if (!rows.empty() && std::ranges::find(rows, exploit.row) == rows.end()) return false;
    const auto named = [&](const std::string& part) { return exploit.name.find(part) != std::string::npos; };
    if (!options_.only.empty() && std::ranges::none_of(options_.only, named)) return false;
    return !options_.gate || exploit.expected.gate == options_.gate;
  }

  void submit_exploits() {
    for (Exploit& exploit : load_exploits(target_.kind)) {
      if (!exploit.archs.has(target_.arch.number())) exploit.expected = not_applicable(target_.arch);
      if (wanted(exploit)) report_.exploits.push_back({.exploit = std::move(exploit), .outcome = {}});
    }
    // Takers point into the list, which does not change from here on.
    for (ExploitReport& report : report_.exploits) submit(report);
  }

  void submit(ExploitReport& report) {
    const Exploit& exploit = report.exploit;
    if (!exploit.expected.gate) {
      report.verdict = SelfcheckVerdict::not_applicable;
      return;
    }
    auto parsed = parse_candidate(exploit.name + ".cu", exploit.source);
    if (!parsed) {
      report.outcome = {.status = Status::invalid_candidate,
                        .stage = StageId::pre_check,
                        .message = parsed.error().message,
                        .diagnostics = {},
                        .gate = Gate::source_rules};
      return;
    }
    const Problem of = problem(exploit.algorithm, exploit.params, exploit.shape);
    submit(of, std::move(parsed).value(), exploit.workloads, exploit.deadline,
           [&report](EvaluationResult& result) {
             report.outcome = std::move(result.outcome);
             report.score_ns = result.score_ns;
           });
    if (exploit.honest_source.empty()) return;
    submit(of, candidate_of("honest.cu", exploit.honest_source), exploit.workloads, exploit.deadline,
           [&report](EvaluationResult& result) { report.honest_ns = result.score_ns; });
  }

  /// Those of the suite that this architecture has the instructions for.
  void submit_lookalikes() {
    std::vector<Lookalike> all = load_lookalikes(target_.kind);
    std::erase_if(all, [&](const Lookalike& each) { return !each.archs.has(target_.arch.number()); });
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(std::min(all.size(), options_.lookalikes));
    for (const Lookalike& each : all) {
      const Problem of = problem(each.algorithm, each.params, "");
      const TemplateReport at{
          .definition = of->definition.name, .file = each.file, .tunables = {}, .outcome = {}};
      submit(of, candidate_of(each.file, each.source), those_of(*of, each.workloads),
             std::chrono::milliseconds(60'000),
             [this, at](EvaluationResult& result) { take_lookalike(at, result); });
    }
  }

  void take_lookalike(TemplateReport report, EvaluationResult& result) {
    report.outcome = std::move(result.outcome);
    report.passed = is_verified(report.outcome.status);
    report_.templates.push_back(std::move(report));
  }

  void submit_templates() {
    for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
      const codegen::Problem family = codegen::load_problem(entry.folder);
      std::vector<Problem> instances;  // of every choice, the default one first
      for (const Params& params : codegen::covering_params(family))
        instances.push_back(codegen::instantiate(family, params));
      for (const CandidateFile& file : instances.front()->templates) {
        submit_point(instances.front(), file, false);
        for (int i = 0; i < options_.samples; ++i)
          submit_point(instances[random_() % instances.size()], file, true);
      }
    }
  }

  /// A template at its defaults, or at a point that its constraints allow; nothing where they allow none.
  void submit_point(const Problem& of, const CandidateFile& file, bool sampled) {
    Candidate candidate = candidate_of(file.name, file.source);
    Environment known = of->environment({});
    known.merge(device_environment(*target_.device, target_.arch));
    if (sampled) {
      const auto space = plan_space(candidate.plan, known);
      if (!space || space->size() == 0) return;
      candidate.tunables = tunables_of(*space, space->sample(random_));
    } else if (!broken_constraints(candidate.plan, known, candidate.tunables).empty()) {
      return;
    }
    const TemplateReport at{.definition = of->definition.name,
                            .file = file.name,
                            .tunables = tunables_text(candidate.tunables),
                            .outcome = {}};
    submit(of, std::move(candidate), those_of(*of, suite_workloads(of->problem, target_.kind)),
           std::chrono::milliseconds(60'000),
           [this, at](EvaluationResult& result) { take_template(at, result); });
  }

  /// Without the workloads that are for other params.
  static std::vector<std::string> those_of(const ProblemInstance& of, std::vector<std::string> workloads) {
    std::erase_if(workloads, [&](const std::string& name) {
      return std::ranges::find(of.workloads, name, &Workload::name) == of.workloads.end();
    });
    return workloads;
  }

  // A point may not be for this device or these shapes; what counts is that no gate for cheats is
  // closed to it.
  void take_template(TemplateReport report, EvaluationResult& result) {
    report.outcome = std::move(result.outcome);
    const Status status = report.outcome.status;
    const auto& gate = report.outcome.gate;
    report.skipped = gate == Gate::plan_bounds || gate == Gate::resources || status == Status::unsupported;
    report.passed = report.skipped || is_verified(status);
    report_.templates.push_back(std::move(report));
  }

  const Target& target_;
  const SelfcheckOptions& options_;
  std::unique_ptr<Evaluator> evaluator_;
  std::mt19937_64 random_;
  std::map<std::tuple<std::string, std::map<std::string, std::string>, std::string>, Problem> problems_;
  std::map<Ticket, Taker> takers_;
  SelfcheckReport report_;
};

}  // namespace

std::string_view to_string(SelfcheckVerdict verdict) {
  constexpr std::array<std::string_view, 5> kNames{"caught", "other_gate", "missed", "unclear",
                                                   "not_applicable"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool SelfcheckReport::passed() const {
  const auto fine = [](const ExploitReport& report) {
    return report.verdict == SelfcheckVerdict::caught || report.verdict == SelfcheckVerdict::not_applicable;
  };
  return std::ranges::all_of(exploits, fine) &&
         std::ranges::all_of(templates, [](const TemplateReport& report) { return report.passed; });
}

SelfcheckReport run_selfcheck(const Target& target, const Config& config, const SelfcheckOptions& options,
                              const std::function<void(std::size_t, std::size_t)>& progress) {
  return Run(target, config, options).run(progress);
}

}  // namespace ak::app
