// SPDX-License-Identifier: Apache-2.0
#include "app/sets/kernel_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "agent/seeds.h"
#include "app/evaluate/live_view.h"
#include "app/sets/choice_times.h"
#include "app/sets/drawn_shapes.h"
#include "app/sets/member_measurements.h"
#include "app/sets/set_points.h"
#include "app/sets/set_report.h"
#include "app/sets/set_time.h"
#include "app/sets/shape_tuning.h"
#include "codegen/problem/held_out.h"
#include "codegen/sets/member_shapes.h"
#include "core/error.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "core/tuning/plan_space.h"
#include "db/sets/set_rows.h"

namespace ak::app {
namespace {

// Shapes by which a candidate shows that it takes every legal one, of each range (chosen: the resolution of a plan takes
// microseconds).
constexpr std::uint32_t kTriedShapes = 64;
// Shapes never seen on which a set's choice is measured: the interval of their mean needs some (chosen).
constexpr std::size_t kHeldOutTimed = 16;
// Shapes that have estimates for times (as in experiments/results/2026-11-28_set_members).
constexpr int kGuessedShapes = 128;
// Sets that are made where what confirms them finds a member wrong: each takes a minute on a GPU (chosen).
constexpr int kTriedSets = 5;
// Starts that are built at the same time where there is a limit of time: compile workers have some each (chosen).
constexpr std::size_t kBuiltAtOnce = 16;
constexpr std::uint64_t kMemberShapesStream = 18, kRegretStream = 19, kTriedStream = 20, kDrawnStream = 21,
                        kGuessedStream = 22;

std::chrono::milliseconds since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
}

class SetMaking {
 public:
  SetMaking(const SearchRun& run, const Config& config, VariantStore& store, const std::atomic<bool>& stop)
      : run_(run),
        config_(config),
        store_(store),
        stop_(stop),
        set_(db::begin_set(run.per_shape->database, *run.problem)),
        seed_(run.one_by_one ? run.seed : random_seed() >> 1),
        time_(run.budgets.max_wall, run.spent_before),
        points_(*run.problem) {}

  SearchOutcome make() {
    if (run_.view != nullptr) run_.view->close();
    TunedShapes tuned = tune_shapes(run_, config_, store_, set_, stop_);
    points_.asked = std::move(tuned.shapes);
    spent_ = tuned.spent;
    stop_reason_ = tuned.stop_reason;
    go_on();
    report_.set = set_;
    report_.emulated = run_.target.kind == DeviceKind::emulator;
    {
      MemberMeasurements measurements(run_, config_, store_, set_, stop_);
      measure(measurements, tuned.candidates, starts_beside(tuned.candidates, measurements));
      choose_members(measurements);
    }
    SearchOutcome outcome = search_the_set();
    for (int tries = 1; tries < kTriedSets && !outcome.loop.best_variant && leave_out_faulty(outcome);
         ++tries) {
      choose_members_again();
      outcome = search_the_set();
    }
    return finish(std::move(outcome));
  }

 private:
  void choose_members(MemberMeasurements& measurements) {
    learn(measurements);
    notes_of_points_ = report_.notes.size();
    measure_regret(measurements);
  }
  /// With devices of its own, which are free again when the set is evaluated.
  void choose_members_again() {
    MemberMeasurements measurements(run_, config_, store_, set_, stop_);
    choose_members(measurements);
  }

  void go_on() const {
    if (stop_.load())
      fail(ExitCode::interrupted,
           "interrupted before there was a set; what the searches of its shapes found is in the database");
  }
  void tell(const std::string& line) const {
    if (!run_.quiet) print_stderr("{}\n", line);
  }

  /// The starts of the templates, too: they were chosen for many shapes together, where what is tuned here is fast on
  /// those asked for. Not on the CPU device, whose costs they were not chosen by.
  [[nodiscard]] std::vector<Candidate> starts_beside(const std::vector<Candidate>& candidates,
                                                     const MemberMeasurements& measurements) const {
    std::vector<Candidate> starts;
    if (measurements.device().kind != DeviceKind::cuda || !run_.tune) return starts;
    const Environment names = measurements.environment({});
    for (Candidate one : run_.templates)
      for (const TunableValues& start : one.plan.starts) {
        one.tunables = start;
        const auto same = [&](const Candidate& other) { return other.variant_hash() == one.variant_hash(); };
        const auto is_same = [&](const std::vector<Candidate>& list) {
          return std::ranges::any_of(list, same);
        };
        if (has_point(one.plan, names, start) && !is_same(candidates) && !is_same(starts))
          starts.push_back(one);
      }
    return starts;
  }

  /// As many starts as there is time for, on every timed shape.
  void measure_starts(MemberMeasurements& measurements, const std::vector<Candidate>& starts) {
    const std::size_t at_once = time_.left() ? kBuiltAtOnce : starts.size();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (!time_.is_before(SetTime::kStartsEnd)) {
        report_.notes.push_back(
            fmt::format("{} of {} starts of the templates were not tried: half of the time was over",
                        starts.size() - i, starts.size()));
        return;
      }
      const auto next = std::span(starts).subspan(i);
      if (i % at_once == 0) measurements.build(next.first(std::min(at_once, next.size())));
      add(measurements, starts[i]);
    }
  }

  /// Every candidate on every timed shape.
  void measure(MemberMeasurements& measurements, const std::vector<Candidate>& candidates,
               const std::vector<Candidate>& starts) {
    measurements.build(candidates);
    for (const Candidate& candidate : candidates) add(measurements, candidate);
    measure_starts(measurements, starts);
    // Somebody has to take what no other takes: the templates' own points are written for any shape.
    const bool any = std::ranges::any_of(points_.list, &SetPoint::takes_every_shape);
    for (const Candidate& own : run_.templates)
      if (!any) add(measurements, own);
    if (std::ranges::none_of(points_.list, &SetPoint::takes_every_shape)) {
      report_.notes.push_back(
          "no tuned point takes every legal shape: what the fallback refuses, the set refuses");
      let_widest_take_all();
    }
    if (points_.list.empty())
      fail(ExitCode::no_kernel, "no candidate passed on any of {} timed shapes", points_.asked.size());
    tell(fmt::format("{} points measured on {} shapes", points_.list.size(), points_.asked.size()));
    time_of_shape_ = time_of_points_ / static_cast<std::int64_t>(points_.asked.size());
    if (measurements.device().kind == DeviceKind::cuda) compare_in_turns(measurements);  // costs do not drift
    if (points_.list.size() > 1) measure_on_drawn(measurements);
  }

  /// In half of the time that is left, as members are checked after it. Nothing: in any time.
  [[nodiscard]] std::optional<std::size_t> most_drawn() const {
    if (!time_.left() || time_of_shape_ <= std::chrono::milliseconds(0)) return std::nullopt;
    return static_cast<std::size_t>(*time_.left() / 2 / time_of_shape_);
  }

  /// More times of a point on a shape that the same half has room for, by what the first ones took: drawn shapes are larger
  /// than those asked for, or smaller. Nothing: in any time.
  [[nodiscard]] static std::optional<std::size_t> most_times(std::optional<std::chrono::milliseconds> left,
                                                             std::chrono::milliseconds spent,
                                                             const DrawnTimes& drawn, std::size_t points) {
    if (!left) return std::nullopt;
    const auto taken =
        static_cast<double>(points * drawn.timed + (drawn.shapes.size() - drawn.timed));  // one has all
    const double time_ms = std::max(1.0, static_cast<double>(spent.count())) / taken;
    const double more_ms = static_cast<double>((*left / 2 - spent).count());
    return more_ms <= 0 ? 0 : static_cast<std::size_t>(more_ms / time_ms);
  }

  /// A rule that knows the timed shapes alone is a guess everywhere else, so it learns from drawn ones, too.
  void measure_on_drawn(MemberMeasurements& measurements) {
    const std::vector<Candidate> points = points_.candidates();
    const Drawing drawing{.seed = agent::derive_seed(seed_, kDrawnStream), .most = most_drawn()};
    const auto began = std::chrono::steady_clock::now();
    const std::optional<std::chrono::milliseconds> left = time_.left();
    DrawnTimes drawn = time_on_drawn(measurements, *run_.problem, points_.axes(), points,
                                     points_.widest_and_fastest(), drawing, [&] { go_on(); });
    if (!drawn.note.empty()) report_.notes.push_back(std::move(drawn.note));
    if (drawn.shapes.empty()) {
      if (drawn.note.empty() && !time_.is_before(SetTime::kStartsEnd))
        report_.notes.push_back("the rule knows the timed shapes alone: there was no time for drawn ones");
      return;
    }
    points_.keep(drawn);
    if (drawn.timed < drawn.shapes.size()) {
      points_.estimate(measurements);
      time_near(measurements, points, points_.estimated_on_drawn(),
                most_times(left, since(began), drawn, points.size()), drawn, [&] { go_on(); });
      points_.keep(drawn);
    }
    const std::size_t more = drawn.shapes.size() - drawn.timed;
    tell(fmt::format("{} points timed on {} drawn shapes{}", points.size(), drawn.timed,
                     more == 0 ? "" : fmt::format(", those near the fastest on {} more", more)));
    leave_out_wrong(drawn);
    // On the CPU device four shapes are drawn: too few for what estimates say of others.
    if (measurements.device().kind == DeviceKind::cuda)
      points_.guessed = codegen::sample_to_time(*run_.problem, DeviceKind::cuda, kGuessedShapes,
                                                agent::derive_seed(seed_, kGuessedStream));
  }

  void leave_out_wrong(const DrawnTimes& drawn) {
    for (std::size_t i = points_.list.size(); i-- > 0;) {
      if (drawn.faults[i].empty()) continue;
      report_.notes.push_back(fmt::format("{} is no member: on a drawn shape it ended as {}",
                                          codegen::point_text(points_.list[i].candidate), drawn.faults[i]));
      points_.list.erase(points_.list.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// What was measured minutes apart differs by clocks and temperature, too, and 2 % decide. So each point is timed
  /// again in turns with one of them, and its times become those of that one times the ratios of pairs: on shapes where it
  /// comes near the fastest, as no member may be further behind.
  void compare_in_turns(MemberMeasurements& measurements) {
    const SetPoint one = points_.list[points_.widest_and_fastest()];
    const std::vector<double> fastest = points_.fastest_times();
    std::size_t pairs = 0;
    std::vector<SetPoint> compared;
    for (SetPoint& other : points_.list) {
      go_on();
      if (other.times.variant != one.times.variant) {
        const std::vector<std::size_t> near = SetPoints::shapes_near(other, fastest);
        pairs += near.size();
        if (!near.empty() && !take_turns(measurements, other, one, near)) continue;
      }
      compared.push_back(std::move(other));
    }
    points_.list = std::move(compared);
    tell(fmt::format("{} times near the fastest taken again in turns with {}", pairs,
                     codegen::point_text(one.candidate)));
  }

  /// False where it turned out to be wrong. Where there is no answer its times stay as they are.
  bool take_turns(MemberMeasurements& measurements, SetPoint& known, const SetPoint& with,
                  const std::vector<std::size_t>& near) {
    const auto turns =
        measurements.time_in_turns(known.candidate, with.candidate, with.times.variant, points_.asked, near);
    if (!turns) return true;
    if (info(turns->outcome.status).candidate_fault) {
      report_.notes.push_back(fmt::format("{} is no member: when it was compared it ended as {}: {}",
                                          codegen::point_text(known.candidate),
                                          to_string(turns->outcome.status), turns->outcome.message));
      return false;
    }
    for (const std::size_t shape : near)
      if (std::isfinite(turns->times_ns[shape]))
        known.times.times_ns[shape] = turns->times_ns[shape] * with.times.times_ns[shape];
    return true;
  }

  void add(MemberMeasurements& measurements, const Candidate& candidate) {
    go_on();
    const auto began = std::chrono::steady_clock::now();
    const auto times = measurements.time(candidate, points_.asked, TimeQuality::coarse);
    time_of_points_ += since(began);
    go_on();
    if (!times) return;
    const bool timed = std::ranges::any_of(times->times_ns, [](double ns) { return std::isfinite(ns); });
    if (!is_verified(times->outcome.status) || !timed) {
      report_.notes.push_back(fmt::format("{} is no member: on all shapes together it ended as {}: {}",
                                          codegen::point_text(candidate), to_string(times->outcome.status),
                                          times->outcome.message));
      return;
    }
    points_.list.push_back({.candidate = candidate,
                            .times = *times,
                            .takes_every_shape = takes_every_shape(measurements, candidate),
                            .layout = codegen::prepared_layout(*run_.problem, candidate)});
  }

  [[nodiscard]] bool takes_every_shape(const MemberMeasurements& measurements,
                                       const Candidate& candidate) const {
    const auto takes = [&](const AxisValues& sizes) { return measurements.takes(candidate, sizes); };
    for (const Workload& workload : run_.problem->workloads)
      if (!takes(workload.axes)) return false;
    for (const HeldOutRange& range : run_.problem->held_out)
      for (std::uint32_t i = 0; i < kTriedShapes; ++i) {
        const auto shape =
            codegen::draw_shape(*run_.problem, range, agent::derive_seed(seed_, kTriedStream), i);
        if (shape && !takes(*shape)) return false;
      }
    return true;
  }

  /// The smallest set whose members pass on corners, edges, borders and drawn shapes of what the rule gives to them.
  void learn(MemberMeasurements& measurements) {
    if (points_.keep_one_list_of_options())
      report_.notes.push_back("points with other compiler options than its members' are no members");
    limits_.max_layouts = run_.per_shape->prepared_copies;
    for (;;) {
      keep_in_time();
      points_.keep_drawn_that_are_taken(measurements);
      points_.estimate(measurements);
      points_.keep_where_estimates_say_something();
      choice_ = points_.choose(limits_);
      report_.kernels = kernels_of(choice_);
      const Result<Candidate> set = codegen::set_candidate(*run_.problem, report_.kernels);
      if (!set) {
        no_set(
            fmt::format("{} members cannot be one program: {}", choice_.members.size(), set.error().message));
        continue;
      }
      candidate_ = *set;
      chosen_.clear();
      const auto wrong = first_wrong_member(measurements);
      if (!wrong) return;
      if (*wrong < choice_.members.size()) drop(choice_.members[*wrong]);
    }
  }

  /// Also after a member was wrong, as all are checked again then; but a set that is made again keeps the others.
  void keep_in_time() {
    const std::size_t most =
        std::max(time_.most_members(limits_.max_members), std::min(kept_members_, limits_.max_members));
    if (most == limits_.max_members || points_.list.size() <= most) return;
    limits_.max_members = most;
    report_.notes.push_back(fmt::format("{} members at most: there was no time to check more", most));
  }

  [[nodiscard]] codegen::KernelSet kernels_of(const SetChoice& choice) const {
    codegen::KernelSet set{
        .name = run_.problem->definition.name + ".set.cu",
        .members = {},
        .rule = {
            .rows = {}, .estimates = {}, .in_rows_alone = choice.in_rows_alone, .fallback = choice.fallback}};
    for (const std::size_t member : choice.members) {
      set.members.push_back({points_.list[member].candidate, points_.list[member].takes_every_shape});
      set.rule.estimates.push_back(points_.estimate_of(points_.list[member]));
    }
    for (const OwnRow& row : choice.rows)
      set.rule.rows.push_back({points_.asked[row.shape].axes, row.member});
    return set;
  }

  /// These members are too many for one program, or one of them does not go with the others: a smaller set of them is
  /// tried. A single kernel is no worse than without this.
  void no_set(const std::string& why) {
    if (choice_.members.size() == 1) fail(ExitCode::no_kernel, "{}", why);
    limits_.max_members = choice_.members.size() * 3 / 4;
    report_.notes.push_back(fmt::format("{}; {} at most are tried", why, limits_.max_members));
  }

  /// A member that is wrong on its shapes; one past the last where the set is no program; nothing where all is right.
  [[nodiscard]] std::optional<std::size_t> first_wrong_member(MemberMeasurements& measurements) {
    for (std::size_t member = 0; member < choice_.members.size(); ++member) {
      const std::vector<Workload> shapes = shapes_of(measurements, member);
      if (shapes.empty()) continue;
      tell(fmt::format("checking member {} on {} of its shapes", member + 1, shapes.size()));
      const auto checked = measurements.check(candidate_, shapes, "examination");
      go_on();
      if (!checked) {
        report_.notes.push_back(
            fmt::format("member {} was not checked on its shapes: there was no answer", member + 1));
        continue;
      }
      const Outcome& outcome = checked->outcome;
      if (!info(outcome.status).candidate_fault) continue;
      if (outcome.status == Status::compile_error) {
        no_set(fmt::format("{} members do not compile as one program: {}", choice_.members.size(),
                           outcome.message));
        return choice_.members.size();
      }
      report_.notes.push_back(fmt::format("{} is no member: on its shapes it ended as {}: {}",
                                          codegen::point_text(report_.kernels.members[member].candidate),
                                          to_string(outcome.status), outcome.message));
      return member;
    }
    return std::nullopt;
  }

  /// Those that the set takes: what its fallback refuses is said in a note.
  [[nodiscard]] std::vector<Workload> shapes_of(const MemberMeasurements& measurements, std::size_t member) {
    const auto is_its = [&](const AxisValues& sizes) { return member_on(measurements, sizes) == member; };
    std::vector<Workload> shapes =
        codegen::member_shapes(*run_.problem, is_its, member + 1, measurements.device().kind, points_.axes(),
                               agent::derive_seed(seed_, kMemberShapesStream));
    std::erase_if(shapes, [&](const Workload& shape) {
      return !fallback_takes_all() && !measurements.takes(candidate_, shape.axes);
    });
    return shapes;
  }

  [[nodiscard]] bool fallback_takes_all() const {
    return report_.kernels.members[choice_.fallback].takes_every_shape;
  }

  void let_widest_take_all() {
    for (const Workload& shape : points_.let_widest_take_all())
      report_.notes.push_back(fmt::format("{} is left out: the fallback does not take it", shape.name));
  }

  void drop(std::size_t index) {
    points_.list.erase(points_.list.begin() + static_cast<std::ptrdiff_t>(index));
    if (std::ranges::none_of(points_.list, &SetPoint::takes_every_shape)) let_widest_take_all();
    if (points_.list.empty()) fail(ExitCode::no_kernel, "no candidate was right on all of its shapes");
  }

  /// The member that the set's own launch plan names. Shapes are drawn hundreds of times before they are given up, for every
  /// member the same ones, and a rule of many estimates takes longer than a draw: so it is kept.
  [[nodiscard]] std::size_t member_on(const MemberMeasurements& measurements, const AxisValues& sizes) {
    const auto known = chosen_.find(sizes);
    if (known != chosen_.end()) return known->second;
    const auto chosen = codegen::chosen_member(candidate_, measurements.environment(sizes));
    return chosen_.emplace(sizes, chosen.value_or(choice_.fallback)).first->second;
  }

  /// On shapes never seen: what the rule chooses, over the best that it could have chosen.
  void measure_regret(MemberMeasurements& measurements) {
    regret_shapes_.clear();
    std::vector<Workload> shapes = codegen::sample_to_time(
        *run_.problem, measurements.device().kind, static_cast<int>(kHeldOutTimed + points_.drawn.size()),
        agent::derive_seed(seed_, kRegretStream));
    std::erase_if(shapes, [&](const Workload& shape) {
      return std::ranges::find(points_.drawn, shape.axes, &Workload::axes) != points_.drawn.end();
    });
    if (shapes.size() > kHeldOutTimed) shapes.resize(kHeldOutTimed);
    if (shapes.empty()) return;
    tell(fmt::format("measuring the choice on {} shapes never seen", shapes.size()));
    const bool in_time = time_.is_before(1);
    if (!in_time && report_.kernels.members.size() > 1)
      report_.notes.push_back(
          "on held-out shapes only members whose estimates come near the least were timed: the time was "
          "over");
    ChoiceQuestion question{.shapes = shapes, .chosen = {}, .estimated_ns = {}};
    for (const Workload& shape : shapes) question.chosen.push_back(member_on(measurements, shape.axes));
    std::vector<Candidate> members;
    for (std::size_t i = 0; i < report_.kernels.members.size(); ++i) {
      members.push_back(report_.kernels.members[i].candidate);
      question.estimated_ns.push_back(may_be_chosen_on(measurements, i, shapes, in_time));
    }
    regret_shapes_ = time_choice(measurements, members, question, [&] { go_on(); });
    std::vector<double> ratios;
    for (const SetShapeRecord& shape : regret_shapes_) ratios.push_back(shape.member_ns / shape.best_ns);
    if (!ratios.empty()) report_.record.regret = regret_of(ratios);
  }

  /// What the rule says of a member there; that it may be the fastest, where there is time to measure it.
  [[nodiscard]] std::vector<double> may_be_chosen_on(const MemberMeasurements& measurements,
                                                     std::size_t member, const std::vector<Workload>& shapes,
                                                     bool in_time) const {
    if (report_.kernels.rule.is_in_rows_alone(member))
      return std::vector(shapes.size(), std::numeric_limits<double>::infinity());
    if (in_time) return std::vector(shapes.size(), kMayBeFastest);
    return points_.estimated_on(measurements, points_.list[choice_.members[member]], shapes);
  }

  void complete_record() {
    SetRecord& record = report_.record;
    record.mean_ratio = choice_.mean_ratio;
    record.worst_ratio = choice_.worst_ratio;
    record.within_limits = choice_.within_limits;
    if (!points_.drawn.empty())
      report_.notes.push_back(
          fmt::format("the rule was also learned from {} drawn shapes, on which it is {:.1f} % slower than "
                      "the best point known there",
                      points_.drawn.size(), 100 * (choice_.drawn_ratio - 1)));
    if (!points_.guessed.empty())
      report_.notes.push_back(
          fmt::format("by estimates it is {:.1f} % slower than the best point known on {} more shapes, where "
                      "nothing was timed",
                      100 * (choice_.guessed_ratio - 1), points_.guessed.size()));
    std::set<std::string> layouts;
    for (std::size_t i = 0; i < choice_.members.size(); ++i) {
      const SetPoint& member = points_.list[choice_.members[i]];
      if (!member.layout.empty()) layouts.insert(member.layout);
      record.members.push_back({.variant = member.times.variant,
                                .condition = codegen::shapes_of_member(report_.kernels, i),
                                .fallback = i == choice_.fallback});
    }
    record.prepared_copies = layouts.size();
    for (std::size_t shape = 0; shape < points_.asked.size(); ++shape) {
      const std::size_t member = choice_.chosen[shape];
      const auto best = std::ranges::min_element(
          points_.list, {}, [&](const SetPoint& one) { return one.times.times_ns[shape]; });
      record.shapes.push_back({.workload = points_.asked[shape],
                               .member = member + 1,
                               .member_ns = points_.list[choice_.members[member]].times.times_ns[shape],
                               .best_ns = best->times.times_ns[shape],
                               .best_variant = best->times.variant});
    }
    std::ranges::move(regret_shapes_, std::back_inserter(record.shapes));
  }

  /// The set as any candidate: evaluated, checked on held-out shapes, examined, measured again, written.
  [[nodiscard]] SearchRun last_run() const {
    SearchRun last = run_;
    last.templates = {candidate_};
    last.tune = false;
    last.first_points.clear();
    last.earlier.clear();  // of other templates
    last.models.clear();
    last.proposer = "search";
    last.port.reset();
    last.budgets = {};
    last.when_exhausted = stop_reason_;
    last.own_kernel = false;
    last.resume = false;
    last.view = nullptr;
    last.per_shape.reset();
    if (again_) last.target.notice.clear();  // it was said
    last.set = SetPart{.set = set_, .role = "set"};
    for (const SetMemberRecord& member : report_.record.members)
      if (report_.record.members.size() > 1) last.parents.push_back(member.variant);
    last.set_section = set_section(report_);
    if (run_.on_progress)
      last.on_progress = [this](const agent::Progress& progress, const codegen::RunSummary& summary) {
        run_.on_progress(together(spent_, progress), summary);
      };
    return last;
  }

  [[nodiscard]] SearchOutcome search_the_set() {
    complete_record();
    return run_search(last_run(), config_, store_, stop_);
  }

  /// How the set was wrong, when it was evaluated or when it was confirmed; empty: it was not, or nobody knows.
  [[nodiscard]] static std::string fault_of(const SearchOutcome& outcome) {
    if (outcome.loop.interrupted) return "";
    if (!outcome.loop.held_out.faults.empty()) return outcome.loop.held_out.faults.back();
    if (!outcome.loop.start) return "";
    const Outcome& start = outcome.loop.start->result.outcome;
    return info(start.status).candidate_fault ? fmt::format("{}: {}", to_string(start.status), start.message)
                                              : "";
  }

  /// The member whose code the fault names; where it names none, all but one. False where there is nothing to leave out:
  /// nothing was wrong, or nothing would be left.
  [[nodiscard]] bool leave_out_faulty(const SearchOutcome& outcome) {
    const std::string fault = fault_of(outcome);
    if (fault.empty()) return false;
    const std::size_t members = choice_.members.size();
    const std::optional<std::size_t> named =
        members == 1 ? std::optional<std::size_t>(0) : codegen::member_named_in(candidate_, fault, members);
    if (named && points_.list.size() == 1) return false;
    spent_ = together(spent_, outcome.loop.progress);
    report_.record = {};
    report_.notes.resize(notes_of_points_);
    report_.notes.push_back(
        named ? fmt::format("{} is no member: {}",
                            codegen::point_text(points_.list[choice_.members[*named]].candidate), fault)
              : fmt::format("one kernel is tried alone: of a set of {} {}", members, fault));
    tell(report_.notes.back());
    kept_members_ = members - 1;
    again_ = true;
    if (named)
      drop(choice_.members[*named]);
    else
      limits_.max_members = 1;
    return true;
  }

  SearchOutcome finish(SearchOutcome outcome) {
    outcome.loop.progress = together(spent_, std::move(outcome.loop.progress));
    if (outcome.loop.best_variant) {
      report_.record.variant = *outcome.loop.best_variant;
      db::store_set(run_.per_shape->database, set_, *run_.problem, report_.record);
    }
    outcome.set = std::make_shared<const SetReport>(std::move(report_));
    return outcome;
  }

  const SearchRun& run_;
  const Config& config_;
  VariantStore& store_;
  const std::atomic<bool>& stop_;
  RowId set_;
  std::uint64_t seed_;
  SetTime time_;
  SetPoints points_;
  std::chrono::milliseconds time_of_points_{0};  ///< on all timed shapes
  std::chrono::milliseconds time_of_shape_{0};   ///< that all points took on a timed shape
  agent::Progress spent_;                        ///< on single shapes
  SetLimits limits_;
  std::size_t kept_members_ = 0;     ///< of a set that is made again: so many may be checked in any time
  std::size_t notes_of_points_ = 0;  ///< so many notes stay true when the set is made again
  bool again_ = false;               ///< a set before this one was wrong
  std::string stop_reason_;          ///< of these searches
  SetChoice choice_;
  Candidate candidate_;                       ///< the set
  std::map<AxisValues, std::size_t> chosen_;  ///< by it, of shapes asked about
  SetReport report_;
  std::vector<SetShapeRecord> regret_shapes_;
};

}  // namespace

SearchOutcome find_kernel(const SearchRun& run, const Config& config, VariantStore& store,
                          const std::atomic<bool>& stop) {
  return run.per_shape ? SetMaking(run, config, store, stop).make() : run_search(run, config, store, stop);
}

}  // namespace ak::app
