// SPDX-License-Identifier: Apache-2.0
#include "tests/db/synthetic_database.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/text/hash.h"
#include "db/content_uid.h"
#include "db/database.h"
#include "db/schema.h"
#include "db/store/check_rows.h"
#include "db/utc.h"
#include "tests/db/synthetic_catalog.h"

namespace ak::db::test {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::sys_time<milliseconds>;

constexpr std::int64_t kMinEvaluations = 50, kMaxEvaluations = 2'000, kMaxInLastWeek = 20'000;
constexpr auto kWeek = std::chrono::hours(7 * 24), kYear = 52 * kWeek;
constexpr int kMaxTries = 20;      // to find a point that was not seen
constexpr double kFailing = 0.15;  // of the evaluations of a search

struct Failure {
  std::string_view status, stage, gate, message;
  double weight = 0;
};
constexpr std::array kFailures{
    Failure{"compile_error", "build", "", "line 41: identifier \"lane\" is undefined", 25},
    Failure{"resource_exceeded", "resources", "resources",
            "needs 262144 bytes of shared memory a block, the device has 232448", 25},
    Failure{"incorrect", "check", "tolerance",
            "y[45,5] = 3.38596e-05, expected 3.38593e-05; 14 % of elements wrong", 24},
    Failure{"incorrect", "check", "non_finite", "y[0,0] is NaN, expected 0.25", 3},
    Failure{"invalid_candidate", "pre_check", "source_rules", "host code is not allowed: cudaMalloc", 5},
    Failure{"launch_error", "check", "launch_errors", "the kernel trapped: an illegal instruction", 5},
    Failure{"memory_error", "check", "memory_checker", "read 4 bytes past the end of x", 3},
    Failure{"race", "check", "race_detector", "threads 0 and 32 use the same word of shared memory unordered",
            1},
    Failure{"hang", "check", "hang_watchdog", "made no progress for 10 s and was stopped", 2},
    Failure{"timeout", "build", "compile_limits", "compiling took longer than 60 s", 3},
    Failure{"nondeterministic", "check", "repeat_bitwise", "a second call gave other bytes in y", 2},
    Failure{"integrity_violation", "recheck", "timed_outputs", "what was timed did not compute y", 1},
    Failure{"below_floor", "time", "floor", "faster than the memory of the device allows", 1},
    Failure{"infrastructure_error", "time", "", "the worker was lost", 1},
};

struct Metric {
  std::string_view name, unit;
  double scale = 1;
};
constexpr std::array kMetrics{
    Metric{"time/duration", "ns", 0},
    Metric{"time/cycles", "cycles", 1.9},
    Metric{"time/active_cycles", "cycles", 1.8},
    Metric{"dram/throughput", "percent", 90},
    Metric{"dram/bytes_read", "bytes", 1e8},
    Metric{"dram/bytes_written", "bytes", 5e7},
    Metric{"l2/sector_rate", "percent", 70},
    Metric{"l2/sectors", "sectors", 5e6},
    Metric{"l1/hit_rate", "percent", 60},
    Metric{"issue/active", "percent", 50},
    Metric{"occupancy/achieved", "percent", 80},
    Metric{"pipe/tensor", "percent", 60},
    Metric{"pipe/alu", "percent", 40},
    Metric{"pipe/fma", "percent", 50},
    Metric{"pipe/lsu", "percent", 40},
    Metric{"shared/bank_conflicts", "wavefronts", 1e5},
    Metric{"shared/wavefronts", "wavefronts", 1e6},
    Metric{"global/load_sectors", "sectors", 4e6},
    Metric{"global/store_sectors", "sectors", 2e6},
    Metric{"inst/warp", "instructions", 1e7},
    Metric{"stall/long_scoreboard", "warps", 8},
    Metric{"stall/barrier", "warps", 3},
    Metric{"stall/math_pipe_throttle", "warps", 2},
    Metric{"stall/wait", "warps", 2},
};

constexpr std::array<std::string_view, 7> kStrategies{"random", "annealing", "genetic",     "bayesian",
                                                      "forest", "portfolio", "local-search"};
constexpr std::array<std::string_view, 2> kModels{"anthropic:claude-sonnet-4", "openai:gpt-5"};

Time day_of(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(text.c_str(), "%d-%u-%u", &year, &month, &day) != 3)
    fail(ExitCode::usage, "'{}' is not a day: expected YYYY-MM-DD", text);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) fail(ExitCode::usage, "'{}' is not a day: expected YYYY-MM-DD", text);
  return Time(std::chrono::sys_days(date));
}

std::string text_of(Time time) {
  return utc(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
}

template <class List>
const auto& weighted(Random& random, const List& list) {
  double left =
      random.uniform() * std::accumulate(list.begin(), list.end(), 0.0,
                                         [](double sum, const auto& entry) { return sum + entry.weight; });
  for (const auto& entry : list)
    if ((left -= entry.weight) < 0) return entry;
  return list.back();
}

/// What one evaluation is to be.
struct Plan {
  std::string_view arm;
  std::string_view status = "ok", stage = "verdict", gate = "", message = "";
  double noise = 1;                            ///< factor of the times
  const SyntheticVariant* champion = nullptr;  ///< of a comparison
  std::optional<RowId> llm_call = {};
  std::string_view tag = "";
};

class Writer {
 public:
  Writer(Connection& connection, const SyntheticOptions& options)
      : options_(options),
        random_(options.seed),
        until_(day_of(options.until)),
        catalog_(connection, random_),
        connection_(connection),
        end_search_(
            connection.get(),
            "UPDATE searches SET status = ?, reason = ?, best_variant_id = ?, ended_at = ? WHERE id = ?") {}

  void run() {
    const std::int64_t most = std::clamp(options_.variants / 20, kMinEvaluations, kMaxEvaluations);
    while (variants_ < options_.variants) {
      const double size = std::exp(random_.between(std::log(kMinEvaluations), std::log(most + 1)));
      search(static_cast<std::int64_t>(size));
    }
    insights();
  }

 private:
  // ---- one search
  struct Search {
    RowId row = 0;
    SyntheticDefinition* definition = nullptr;
    std::size_t target = 0;
    std::vector<SyntheticSource*> sources;
    bool models = false, predicts = false, emulated = false;
    Time begin, now;
    std::int64_t iteration = 0;
    std::string proposer, strategy;
    double error = 1e-3;                         ///< of its results
    const SyntheticVariant* champion = nullptr;  ///< with its source and time
    SyntheticSource* champion_source = nullptr;
    double champion_ns = 1e300;
    std::set<std::pair<RowId, std::uint64_t>> seen;  ///< sources and points
    std::vector<std::pair<SyntheticSource*, const SyntheticVariant*>> passed;
  };

  Time start_of_next() {
    const std::int64_t last = std::min(kMaxInLastWeek, std::max<std::int64_t>(options_.variants / 5, 1));
    const std::int64_t before = options_.variants - last;
    const auto at = [](std::int64_t done, std::int64_t of) {
      return static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(of, 1));
    };
    if (variants_ < before)
      return until_ - kYear +
             std::chrono::duration_cast<milliseconds>((kYear - kWeek) * at(variants_, before));
    return until_ - kWeek +
           std::chrono::duration_cast<milliseconds>(0.98 * at(variants_ - before, last) * kWeek);
  }

  void search(std::int64_t evaluations) {
    Search s;
    begin(s, evaluations);
    evaluate_start(s);
    while (s.iteration < evaluations && variants_ < options_.variants) {
      if (s.models && s.iteration % 25 == 3) ask_model(s);
      if (!step(s)) break;
    }
    end(s);
  }

  void begin(Search& s, std::int64_t evaluations) {
    // In turns, so that few searches have all of them, too.
    const auto turn = static_cast<std::size_t>(searches_++);
    s.definition = &catalog_.definitions[turn % catalog_.definitions.size()];
    s.target =
        turn % 20 == 10
            ? kSyntheticTargets.size() - 1
            : static_cast<std::size_t>(&weighted(random_, kSyntheticTargets) - kSyntheticTargets.data());
    s.emulated = kSyntheticTargets[s.target].kind == "emulator";
    s.begin = s.now = start_of_next();
    const double kind = random_.uniform();
    s.models = kind < 0.12;
    s.proposer = kind < 0.03 ? "llm" : kind < 0.12 ? "hybrid" : kind < 0.97 ? "search" : "user";
    s.strategy = s.models ? "portfolio" : std::string(random_.pick(kStrategies));
    s.predicts = random_.chance(0.2);
    s.error = std::pow(10, random_.between(-6, -2));
    s.sources.push_back(source_of(*s.definition));
    if (random_.chance(0.4)) s.sources.push_back(source_of(*s.definition));
    const SyntheticTarget& target = kSyntheticTargets[s.target];
    const auto seed = random_.below(1'000);
    s.row = search_(
        s.definition->row, catalog_.devices[s.target], catalog_.environment, target.arch,
        fmt::format("generate_kernel --algorithm {} --arch {} --strategy {} --seed {} --max-evaluations {}",
                    s.definition->problem->problem, target.arch, s.strategy, seed, evaluations),
        s.proposer, s.strategy, seed, fmt::format("{{\"max_evaluations\":{}}}", evaluations), "running", "",
        text_of(s.begin), 1, random_.chance(0.1), s.definition->workloads_hash);
  }

  /// A template that has been searched for a while is edited: another source, whose points
  /// are other variants.
  SyntheticSource* source_of(SyntheticDefinition& definition) {
    SyntheticSource*& source = random_.pick(definition.current);
    if (3 * source->variants.size() < source->points()) return source;
    SyntheticSource& next = catalog_.add_source(definition, *source, source->candidate.name,
                                                fmt::format("// Revision {}.\n", definition.sources.size()));
    next.slowness = std::max(1.0, source->slowness * random_.between(0.97, 1.01));
    return source = &next;
  }

  void evaluate_start(Search& s) {
    SyntheticSource& source = *s.sources.front();
    const RowId evaluation = evaluate(s, source, variant_at(s, source, 0), {.arm = "start"});
    if (s.emulated) return;
    for (const SyntheticWorkload& workload : s.definition->timed) {
      const double best = min_ns(workload, kSyntheticTargets[s.target]);
      measurement_rows(evaluation, workload, "baseline", "naive", best * random_.between(4, 9), 5);
      if (!s.definition->problem->baselines.empty())
        measurement_rows(evaluation, workload, "baseline",
                         s.definition->problem->baselines.front() + " 13.1.0",
                         best * random_.between(1.1, 1.4), 20);
    }
  }

  /// False when hardly a point is left that the search has not seen.
  bool step(Search& s) {
    SyntheticSource& source = *random_.pick(s.sources);
    int tries = 0;
    std::uint64_t point = next_point(s, source);
    while (!s.seen.emplace(source.row, point).second) {
      if (++tries > kMaxTries) return false;
      point = next_point(s, source);
    }
    SyntheticVariant& variant = variant_at(s, source, point);
    Plan plan{.arm = s.proposer == "user" ? std::string_view("user") : s.strategy};
    const double lot = random_.uniform();
    if (variant.bad || lot < 0.03) {
      fail_at(plan);
    } else if (lot < 0.07) {
      plan = {.arm = plan.arm,
              .status = "pruned",
              .stage = "predict",
              .message = "predicted to be 3 times as slow"};
    } else if (lot < 0.09) {
      plan = {.arm = plan.arm,
              .status = "duplicate",
              .stage = "resources",
              .message = "the same program as another"};
    }
    evaluate(s, source, variant, plan);
    if (challenger_) compare(s);
    return true;
  }

  void fail_at(Plan& plan) {
    const Failure& failure = weighted(random_, kFailures);
    plan.status = failure.status;
    plan.stage = failure.stage;
    plan.gate = failure.gate;
    plan.message = failure.message;
  }

  /// A neighbour of the champion, or anywhere.
  std::uint64_t next_point(const Search& s, const SyntheticSource& source) {
    const std::uint64_t points = source.points();
    if (&source != s.champion_source || s.strategy == "random" || random_.chance(0.4))
      return random_.next() % points;
    std::uint64_t radix = 1;
    const auto& tunables = source.candidate.plan.tunables;
    const auto changed = random_.below(static_cast<std::int64_t>(tunables.size()));
    for (std::int64_t i = 0; i < changed; ++i) radix *= tunables[static_cast<std::size_t>(i)].values.size();
    const std::uint64_t size = tunables[static_cast<std::size_t>(changed)].values.size();
    const std::uint64_t digit = s.champion->point / radix % size;
    return s.champion->point + radix * (random_.next() % size) - radix * digit;
  }

  void ask_model(Search& s) {
    const bool failed = random_.chance(0.15);
    const SyntheticSource& parent = s.champion_source != nullptr ? *s.champion_source : *s.sources.front();
    const std::string_view model = random_.pick(kModels);
    constexpr std::array<std::string_view, 4> kArms{"improve", "explore", "crossover", "points"};
    const std::string_view arm = random_.pick(kArms);
    const Json request = {
        {"model", model},
        {"system", "You write CUDA kernels that are as fast as the hardware allows and exactly right."},
        {"messages", {{{"role", "user"}, {"content", parent.candidate.source}}}}};
    const std::string answer = failed
                                   ? ""
                                   : fmt::format("Wider loads and one barrier fewer.\n\n```cuda\n{}\n```\n",
                                                 parent.candidate.source);
    const auto tokens = static_cast<std::int64_t>(request.dump().size() / 4);
    const RowId call =
        llm_call_(s.row, model, "0b6ecc0d2bb5", request.dump(), answer, failed ? "overloaded" : "ok", tokens,
                  static_cast<std::int64_t>(answer.size() / 4),
                  3e-6 * static_cast<double>(tokens) + 4e-6 * static_cast<double>(answer.size()),
                  text_of(s.now), text_of(s.now + std::chrono::seconds(20)), arm, answer,
                  failed ? "the provider is overloaded; tried 4 times" : "",
                  failed ? std::nullopt : std::optional<std::string>("end"), 1, failed ? 4 : 1, 20'000.0, arm,
                  failed ? std::nullopt : std::optional(random_.chance(0.3) ? random_.between(0.5, 1) : 0.1));
    if (failed || arm == "points") return;
    SyntheticSource& made = catalog_.add_source(*s.definition, parent, fmt::format("llm_{}.cu", s.iteration),
                                                fmt::format("// Wider loads: attempt {}.\n", call));
    made.salt = random_.next();
    made.slowness = random_.between(1.0, 1.6);
    s.sources.push_back(&made);
    if (s.sources.size() > 4) s.sources.erase(s.sources.begin() + 1);
    Plan plan{.arm = arm};
    if (random_.chance(0.3)) fail_at(plan);
    plan.llm_call = call;
    evaluate(s, made, variant_at(s, made, random_.next() % made.points()), plan);
  }

  void compare(Search& s) {
    const auto [source, variant, ns] = *challenger_;
    challenger_.reset();
    if (s.champion != nullptr) {
      evaluate(s, *source, *variant,
               {.arm = "comparison",
                .message = "3.16 % faster in pairs (99 % interval 3.00 to 3.49 %)",
                .champion = s.champion,
                .tag = fmt::format("{}", s.champion->row)});
      challenger_.reset();
    }
    s.champion = variant;
    s.champion_source = source;
    s.champion_ns = ns;
  }

  void end(Search& s) {
    if (s.champion != nullptr) judge_champion(s);
    const double lot = random_.uniform();
    const std::string_view status = lot < 0.9    ? "finished"
                                    : lot < 0.95 ? "stopped"
                                    : lot < 0.98 ? "interrupted"
                                                 : "failed";
    const std::string_view reason = lot < 0.9    ? "evaluation budget"
                                    : lot < 0.95 ? "interrupted"
                                                 : "the worker was lost";
    end_search_.bind(1, status)
        .bind(2, reason)
        .bind(3, s.champion != nullptr && lot < 0.98 ? std::optional(s.champion->row) : std::nullopt)
        .bind(4, text_of(s.now))
        .bind(5, s.row)
        .run();
  }

  /// Held-out shapes, which one in thirty fails; a measurement in a fresh process, with energy; a profile.
  void judge_champion(Search& s) {
    SyntheticSource& source = *s.champion_source;
    Plan held_out{.arm = "held_out", .tag = "held_out_1: M=1 N=11; held_out_2: M=609 N=36"};
    if (random_.chance(1 / 30.0))
      held_out = {.arm = "held_out",
                  .status = "incorrect",
                  .stage = "check",
                  .gate = "tolerance",
                  .message = "wrong on held_out_2",
                  .tag = held_out.tag};
    evaluate(s, source, *s.champion, held_out);
    if (held_out.status != "ok") return;
    const RowId last =
        evaluate(s, source, *s.champion, {.arm = "final", .noise = random_.between(0.99, 1.03)});
    const double joule = 4e-7 * s.champion_ns * random_.between(0.8, 1.2);
    if (!s.emulated) metric_(last, s.definition->timed.front().row, "", "energy/joule", "J", joule);
    if (s.emulated || !random_.chance(0.3)) return;
    const auto profiled = std::min<std::size_t>(s.passed.size(), 4);
    for (std::size_t i = 0; i < profiled; ++i) {
      const auto& [of, variant] = random_.pick(s.passed);
      profile_rows(s, *of, evaluate(s, *of, *variant, {.arm = "profile"}));
    }
  }

  // ---- rows
  SyntheticVariant& variant_at(const Search& s, SyntheticSource& source, std::uint64_t point) {
    const auto [known, fresh] = source.variants.try_emplace(point);
    SyntheticVariant& variant = known->second;
    if (!fresh) return variant;
    variant.point = point;
    variant.bad = random_.chance(kFailing);
    source.candidate.tunables = source.values(point);
    variant.row =
        variant_(s.definition->row, source.row, source.candidate.variant_hash(), source.candidate.name,
                 s.definition->params, Json(source.candidate.tunables).dump(), plan_row(source.plan));
    if (s.champion != nullptr && s.strategy != "random") parent_(variant.row, s.champion->row);
    ++variants_;
    return variant;
  }

  RowId plan_row(const std::string& plan) {
    const auto [known, fresh] = plans_.try_emplace(plan);
    if (fresh) known->second = plan_(content_uid(plan), plan);
    return known->second;
  }

  RowId build_row(const Search& s, const SyntheticSource& source, SyntheticVariant& variant,
                  std::string_view status) {
    RowId& known = variant.builds[s.target];
    if (known != 0) return known;
    const bool built = status != "compile_error" && status != "timeout";
    const std::string key = sha256_hex(fmt::format("{} {}", variant.row, s.target));
    // One in fifty has the machine code of its neighbour.
    const std::string code = sha256_hex(
        fmt::format("{} {}", source.row, random_.chance(0.02) ? variant.point / 2 : variant.point));
    known =
        build_(variant.row, kSyntheticTargets[s.target].arch, key, "[]", "13.0",
               built ? std::string_view("ok") : status, built ? std::optional(code) : std::nullopt,
               built ? std::optional(random_.within(10'000, 200'000)) : std::nullopt,
               built ? std::optional(random_.within(10'000, 200'000)) : std::nullopt,
               random_.between(80, 900), 0, built ? "" : "k.cu(41): error: identifier \"lane\" is undefined");
    if (built) kernel_rows(known, source, variant);
    return known;
  }

  void kernel_rows(RowId build, const SyntheticSource& source, const SyntheticVariant& variant) {
    const std::uint64_t bits = Random::mixed(source.salt + variant.point);
    const auto spills = static_cast<std::int64_t>(bits % 20 == 0 ? bits % 64 * 4 + 4 : 0);
    std::vector<std::string_view> done;
    for (const LaunchPlanEntry& launch : source.candidate.plan.launches) {
      if (std::ranges::find(done, launch.kernel) != done.end()) continue;
      done.push_back(launch.kernel);
      kernel_(build, launch.kernel, fmt::format("_Z{}{}PKfPfi", launch.kernel.size(), launch.kernel),
              static_cast<std::int64_t>(spills > 0 ? 255 : 16 + bits % 200),
              static_cast<std::int64_t>(bits % 4 * 4'096), spills, spills, 0,
              0.125 * static_cast<double>(1 + bits % 8));
      if (done.size() == 2) break;
    }
  }

  /// A variant of a search, or what is done to a leader; the number of the evaluation.
  RowId evaluate(Search& s, SyntheticSource& source, const SyntheticVariant& of, const Plan& plan) {
    SyntheticVariant& variant = source.variants.at(of.point);
    const bool reached_build = plan.stage != "pre_check" && plan.stage != "predict";
    const bool timed = plan.status == "ok" && plan.arm != "held_out" && plan.arm != "profile";
    const double total_ms = random_.between(300, 3'000);
    const Time started = s.now;
    s.now += milliseconds(static_cast<std::int64_t>(total_ms / 3));
    const std::optional<RowId> build =
        reached_build ? std::optional(build_row(s, source, variant, plan.status)) : std::nullopt;
    const bool search = !plan.llm_call;
    const RowId proposal =
        proposal_(s.row, variant.row, s.iteration,
                  search ? std::string_view("search") : random_.pick(kModels), plan.arm, plan.llm_call,
                  search ? std::optional(static_cast<double>((started - s.begin).count())) : std::nullopt,
                  search ? std::optional(random_.within(2'000, 300'000)) : std::nullopt,
                  search ? std::optional(static_cast<double>((s.now - s.begin).count())) : std::nullopt,
                  search ? std::optional(random_.within(1'000, 20'000)) : std::nullopt);
    if (plan.champion == nullptr) ++s.iteration;
    std::vector<double> times = times_of(s, source, variant, plan.noise);
    const double score = timed ? mean_of(times) : 0;
    const double share = total_ms / 10;
    const RowId evaluation = evaluation_(
        s.row, proposal, variant.row, build, catalog_.devices[s.target], "time",
        static_cast<std::int64_t>(Random::mixed(static_cast<std::uint64_t>(s.row))), request_text(plan),
        plan.status, plan.stage, plan.message,
        plan.status == "compile_error"
            ? R"([{"severity":"error","line":41,"column":9,"message":"identifier \"lane\" is undefined"}])"
            : "[]",
        timed ? std::optional(score) : std::nullopt, 0.125 * static_cast<double>(1 + variant.point % 8),
        "registers", 0, share, 3 * share, share, 2 * share, 2 * share, 3 * share, total_ms, text_of(started),
        text_of(s.now), static_cast<std::int64_t>(variant.point % 16 * 8'192),
        plan.gate.empty() ? std::nullopt : std::optional(plan.gate));
    check_rows(s, evaluation, plan);
    if (timed) {
      for (std::size_t i = 0; i < times.size(); ++i) {
        const SyntheticWorkload& workload = s.definition->timed[i];
        measurement_rows(evaluation, workload, "candidate", "", times[i], 0);
        if (plan.champion != nullptr)
          measurement_rows(evaluation, workload, "champion", "", times[i] * 1.03, 64);
        if (s.predicts) predict(s, variant.row, evaluation, workload, times[i]);
      }
      if (s.emulated) count_rows(s, evaluation);
    }
    note_passed(s, source, variant, plan, score);
    return evaluation;
  }

  void note_passed(Search& s, SyntheticSource& source, const SyntheticVariant& variant, const Plan& plan,
                   double score) {
    if (plan.status != "ok" || score <= 0 || plan.champion != nullptr || plan.arm == "final") return;
    s.passed.emplace_back(&source, &variant);
    if (score < s.champion_ns) challenger_ = {&source, &variant, score};
  }

  static std::string request_text(const Plan& plan) {
    return fmt::format(
        R"({{"workloads":{},"incumbent_ns":null,"deadline_ms":60000,"priority":{},"tag":"{}"}})",
        plan.arm == "held_out" ? R"(["held_out_1","held_out_2"])" : "[]", plan.champion != nullptr ? 1 : 0,
        plan.tag);
  }

  std::vector<double> times_of(const Search& s, const SyntheticSource& source,
                               const SyntheticVariant& variant, double noise) {
    std::vector<double> times;
    for (const SyntheticWorkload& workload : s.definition->timed) {
      const double best = min_ns(workload, kSyntheticTargets[s.target]) * (s.emulated ? 20 : 1);
      times.push_back(best * source.cost(variant.point, s.target) * noise * random_.between(0.997, 1.003));
    }
    return times;
  }
  static double mean_of(const std::vector<double>& times) {
    double sum = 0;
    for (const double time : times) sum += std::log(time);
    return std::exp(sum / static_cast<double>(times.size()));
  }

  void check_rows(const Search& s, RowId evaluation, const Plan& plan) {
    const bool wrong = plan.status == "incorrect" || plan.status == "nondeterministic";
    if (!wrong && plan.status != "ok") return;
    const auto checks = random_.chance(0.25) ? 2 : 1;
    const auto& outputs = s.definition->problem->definition.outputs;
    for (int i = 0; i < checks; ++i) {
      const bool passed = !wrong || i + 1 < checks;
      const double error = passed ? s.error * random_.between(0.98, 1) : 0.5;
      const SyntheticWorkload& workload =
          s.definition->timed[static_cast<std::size_t>(i) % s.definition->timed.size()];
      const CheckRecord check{.workload = "",
                              .distribution = i == 0 ? "normal" : "integers",
                              .seed = static_cast<std::uint64_t>(s.row * 7'919 + i),
                              .tensor = outputs.front().name,
                              .passed = passed,
                              .max_error = error,
                              .mean_error = error / 30,
                              .tolerance = 4 * s.error,
                              .worst_index = random_.below(1 << 24),
                              .worst_expected = 0.25,
                              .worst_got = 0.25 * (1 + error),
                              .nonfinite_mismatches = 0};
      const CheckRecord* one = &check;
      put_check_group(connection_, evaluation, workload.row, {&one, 1});
    }
  }

  void measurement_rows(RowId evaluation, const SyntheticWorkload& workload, std::string_view role,
                        std::string_view label, double median_ns, std::int64_t samples) {
    if (samples == 0) samples = random_.within(20, 60);
    std::vector<unsigned char> packed;
    packed.reserve(static_cast<std::size_t>(4 * samples));
    for (std::int64_t i = 0; i < samples; ++i) {
      auto sample = static_cast<std::uint32_t>(std::min(4e9, median_ns * random_.between(0.99, 1.02)));
      for (int byte = 0; byte < 4; ++byte, sample >>= 8) packed.push_back(static_cast<unsigned char>(sample));
    }
    const bool throttled = random_.chance(0.001);
    measurement_(evaluation, workload.row, role, label, "event", 1, Blob(packed), 1, 0, median_ns,
                 median_ns * 0.998, median_ns * 1.002, 1'980, 3'201, random_.within(40, 70),
                 throttled ? "sw_thermal_slowdown" : "", random_.between(200, 600),
                 throttled ? std::optional<std::string>("[3,4,5]") : std::nullopt);
  }

  void predict(const Search& s, RowId variant, RowId evaluation, const SyntheticWorkload& workload,
               double time) {
    const double predicted = time * random_.between(0.7, 1.3);
    prediction_(variant, workload.row, catalog_.devices[s.target], "analytic+forest 3", predicted, evaluation,
                predicted * 0.8, predicted * 1.25, random_.chance(0.7) ? "dram" : "tensor");
  }

  void count_rows(const Search& s, RowId evaluation) {
    for (const std::string_view name :
         {"global/load_sectors", "global/store_sectors", "inst/warp", "shared/wavefronts"})
      metric_(evaluation, s.definition->timed.front().row, "", name, "",
              std::floor(random_.between(1e3, 1e6)));
  }

  void profile_rows(const Search& s, const SyntheticSource& source, RowId evaluation) {
    const double time =
        min_ns(s.definition->timed.front(), kSyntheticTargets[s.target]) * random_.between(1, 3);
    for (const Metric& metric : kMetrics) {
      const bool by_time = metric.name.starts_with("time/");
      const double value = by_time ? time * std::max(1.0, metric.scale) : metric.scale * random_.uniform();
      metric_(evaluation, s.definition->timed.front().row, source.candidate.plan.launches.front().kernel,
              metric.name, metric.unit, value);
    }
  }

  void insights() {
    for (const SyntheticDefinition& definition : catalog_.definitions) {
      for (const Tunable& tunable : definition.current.front()->candidate.plan.tunables) {
        const std::int64_t tries = random_.within(3, 200), wins = random_.below(tries + 1);
        insight_(
            "tunable",
            fmt::format("{}: {}={} is {:.2f} times as fast as others ({} of {} pairs)",
                        definition.current.front()->candidate.name, tunable.name, tunable.default_value,
                        random_.between(1.01, 1.4), wins, tries),
            R"({"variants":[]})", text_of(until_), definition.problem->problem, "sm_90a", "NVIDIA H200",
            "cuda",
            fmt::format("{} {} {}", definition.row, definition.current.front()->candidate.name, tunable.name),
            "", random_.between(0.7, 1), tries, wins);
      }
    }
  }

  struct Challenger {
    SyntheticSource* source;
    const SyntheticVariant* variant;
    double ns;
  };

  const SyntheticOptions options_;
  Random random_;
  Time until_;
  SyntheticCatalog catalog_;
  Connection& connection_;
  Statement end_search_;
  std::int64_t variants_ = 0, searches_ = 0;
  std::optional<Challenger> challenger_;

  Insert search_{
      connection_, &random_, "searches",
      "definition_id, device_id, environment_id, arch, command, proposer, strategy, seed, budgets, "
      "status, reason, started_at, audited, resumed, workloads_hash"};
  Insert variant_{connection_, &random_, "variants",
                  "definition_id, source_id, variant_hash, name, params, tunables, plan_id"};
  Insert plan_{connection_, nullptr, "plans", "uid, plan"};
  std::map<std::string, RowId> plans_;
  Insert parent_{connection_, nullptr, "variant_parents", "variant_id, parent_id"};
  Insert proposal_{
      connection_, &random_, "proposals",
      "search_id, variant_id, iteration, proposer, arm, llm_call_id, asked_ms, ask_ns, told_ms, tell_ns"};
  Insert build_{
      connection_, &random_, "builds",
      "variant_id, arch, build_key, options, nvrtc_version, status, cubin_hash, cubin_bytes, ptx_bytes, "
      "compile_ms, cache_hit, log"};
  Insert kernel_{
      connection_, nullptr, "build_kernels",
      "build_id, kernel, lowered_name, registers, static_shared_bytes, spill_store_bytes, spill_load_bytes, "
      "stack_bytes, occupancy_ratio"};
  Insert evaluation_{
      connection_, &random_, "evaluations",
      "search_id, proposal_id, variant_id, build_id, device_id, depth, input_seed, request, status, "
      "stage, message, diagnostics, score_ns, occupancy_ratio, occupancy_limiter, cache_hit, queue_ms, "
      "build_ms, device_wait_ms, check_ms, time_ms, gpu_busy_ms, total_ms, started_at, ended_at, "
      "shared_bytes, gate"};
  Insert measurement_{
      connection_, &random_, "measurements",
      "evaluation_id, workload_id, role, label, method, cold, samples, launches_per_sample, truncated, "
      "median_ns, ci_low_ns, ci_high_ns, sm_clock_mhz, memory_clock_mhz, temperature_c, "
      "throttle_reasons, power_w, throttled"};
  Insert metric_{connection_, &random_, "metrics", "evaluation_id, workload_id, kernel, name, unit, value"};
  Insert prediction_{
      connection_, &random_, "predictions",
      "variant_id, workload_id, device_id, model, predicted_ns, evaluation_id, low_ns, high_ns, limiter"};
  Insert llm_call_{
      connection_, &random_, "llm_calls",
      "search_id, model, prompt_version, request, answer, status, input_tokens, output_tokens, cost_usd, "
      "started_at, ended_at, arm, raw, message, stop, tokens_reported, attempts, latency_ms, credited_arm, "
      "reward"};
  Insert insight_{
      connection_, &random_, "insights",
      "kind, text, evidence, created_at, algorithm, arch, device, device_kind, subject, bottleneck, ratio, "
      "tries, wins"};
};

}  // namespace

void make_synthetic_database(const std::filesystem::path& file, const SyntheticOptions& options) {
  if (std::filesystem::exists(file))
    fail(ExitCode::usage, "{} is there already: name a new file", file.string());
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  // No one else has the file, and one that was not finished is thrown away: no log, no waiting for the disk.
  connection.execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = "
      "-2000000");
  connection.execute("BEGIN");
  Writer(connection, options).run();
  connection.execute("COMMIT; PRAGMA journal_mode = WAL");
}

}  // namespace ak::db::test
