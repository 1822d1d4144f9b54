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
#include "app/sets/set_report.h"
#include "app/sets/set_time.h"
#include "app/sets/shape_tuning.h"
#include "codegen/problem/held_out.h"
#include "codegen/sets/member_shapes.h"
#include "codegen/sets/time_terms.h"
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
constexpr int kTriedSets = 3;
// Starts that are built at the same time where there is a limit of time: compile workers have some each (chosen).
constexpr std::size_t kBuiltAtOnce = 16;
constexpr std::uint64_t kMemberShapesStream = 18, kRegretStream = 19, kTriedStream = 20, kDrawnStream = 21,
                        kGuessedStream = 22;

/// A tuned point, and what is known of it.
struct KnownCandidate {
  Candidate candidate;
  MemberTimes times;
  std::vector<double> drawn_ns = {};  ///< on drawn shapes, as times.times_ns
  bool takes_every_shape = true;
  std::string layout;
  std::vector<std::int64_t> ps = {};      ///< by term of its time: the estimate of it on any shape
  std::vector<double> estimated_ns = {};  ///< what that says of timed shapes and then drawn ones
};

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
        time_(run.budgets.max_wall, run.spent_before) {}

  SearchOutcome make() {
    if (run_.view != nullptr) run_.view->close();
    TunedShapes tuned = tune_shapes(run_, config_, store_, set_, stop_);
    shapes_ = std::move(tuned.shapes);
    spent_ = tuned.spent;
    stop_reason_ = tuned.stop_reason;
    go_on();
    report_.set = set_;
    report_.emulated = run_.target.kind == DeviceKind::emulator;
    {
      MemberMeasurements measurements(run_, config_, store_, set_, stop_);
      measure(measurements, tuned.candidates, starts_beside(tuned.candidates, measurements));
      learn(measurements);
      measure_regret(measurements);
    }
    SearchOutcome outcome = search_the_set();
    for (int tries = 1; tries < kTriedSets && !outcome.loop.best_variant && leave_out_faulty(outcome);
         ++tries) {
      MemberMeasurements measurements(run_, config_, store_, set_, stop_);
      learn(measurements);
      measure_regret(measurements);
      outcome = search_the_set();
    }
    return finish(std::move(outcome));
  }

 private:
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
    const bool any = std::ranges::any_of(known_, &KnownCandidate::takes_every_shape);
    for (const Candidate& own : run_.templates)
      if (!any) add(measurements, own);
    if (std::ranges::none_of(known_, &KnownCandidate::takes_every_shape)) {
      report_.notes.push_back(
          "no tuned point takes every legal shape: what the fallback refuses, the set refuses");
      widest_takes_all();
    }
    if (known_.empty())
      fail(ExitCode::no_kernel, "no candidate passed on any of {} timed shapes", shapes_.size());
    tell(fmt::format("{} points measured on {} shapes", known_.size(), shapes_.size()));
    time_of_shape_ = time_of_points_ / static_cast<std::int64_t>(shapes_.size());
    if (measurements.device().kind == DeviceKind::cuda) compare_in_turns(measurements);  // costs do not drift
    if (known_.size() > 1) measure_on_drawn(measurements);
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
    std::vector<Candidate> points;
    for (const KnownCandidate& one : known_) points.push_back(one.candidate);
    const Drawing drawing{.seed = agent::derive_seed(seed_, kDrawnStream), .most = most_drawn()};
    const auto began = std::chrono::steady_clock::now();
    const std::optional<std::chrono::milliseconds> left = time_.left();
    DrawnTimes drawn = time_on_drawn(measurements, *run_.problem, axes(), points, widest_and_fastest(),
                                     drawing, [&] { go_on(); });
    if (!drawn.note.empty()) report_.notes.push_back(std::move(drawn.note));
    if (drawn.shapes.empty()) {
      if (drawn.note.empty() && !time_.is_before(SetTime::kStartsEnd))
        report_.notes.push_back("the rule knows the timed shapes alone: there was no time for drawn ones");
      return;
    }
    keep(drawn);
    if (drawn.timed < drawn.shapes.size()) {
      estimate(measurements);
      std::vector<std::vector<double>> estimated_ns;
      for (const KnownCandidate& one : known_)
        estimated_ns.emplace_back(one.estimated_ns.begin() + static_cast<std::ptrdiff_t>(shapes_.size()),
                                  one.estimated_ns.end());
      time_near(measurements, points, estimated_ns, most_times(left, since(began), drawn, points.size()),
                drawn, [&] { go_on(); });
      keep(drawn);
    }
    const std::size_t more = drawn.shapes.size() - drawn.timed;
    tell(fmt::format("{} points timed on {} drawn shapes{}", points.size(), drawn.timed,
                     more == 0 ? "" : fmt::format(", those near the fastest on {} more", more)));
    leave_out_wrong(drawn);
    // On the CPU device four shapes are drawn: too few for what estimates say of others.
    if (measurements.device().kind == DeviceKind::cuda)
      guessed_ = codegen::sample_to_time(*run_.problem, DeviceKind::cuda, kGuessedShapes,
                                         agent::derive_seed(seed_, kGuessedStream));
  }

  void keep(const DrawnTimes& drawn) {
    drawn_ = drawn.shapes;
    for (std::size_t i = 0; i < known_.size(); ++i) known_[i].drawn_ns = drawn.times_ns[i];
  }

  void leave_out_wrong(const DrawnTimes& drawn) {
    for (std::size_t i = known_.size(); i-- > 0;) {
      if (drawn.faults[i].empty()) continue;
      report_.notes.push_back(fmt::format("{} is no member: on a drawn shape it ended as {}",
                                          codegen::point_text(known_[i].candidate), drawn.faults[i]));
      known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Without those that the widest fallback does not take: a set of it alone has to be possible, also after points were
  /// left out.
  void keep_drawn_that_are_taken(const MemberMeasurements& measurements) {
    if (drawn_.empty()) return;
    const auto takes = [&](const KnownCandidate& one, const Workload& shape) {
      return measurements.takes(one.candidate, shape.axes);
    };
    const auto widest = std::ranges::max_element(known_, {}, [&](const KnownCandidate& one) {
      const auto taken =
          std::ranges::count_if(drawn_, [&](const Workload& shape) { return takes(one, shape); });
      return one.takes_every_shape ? taken : -1;
    });
    keep_shapes(
        drawn_, [&](std::size_t shape) { return takes(*widest, drawn_[shape]); },
        [](KnownCandidate & one) -> auto& { return one.drawn_ns; });
  }

  /// A fallback has to have an estimate on each, or a time where it was drawn. No time is 0: such a sum lacks a term that no
  /// timed shape has.
  void keep_where_estimates_say_something() {
    const auto known_on = [&](const KnownCandidate& one, std::size_t place) {
      const double ns = one.estimated_ns[place];
      return std::isfinite(time_on(one, place)) || (ns > 0 && (std::isfinite(ns) || !one.takes_every_shape));
    };
    for (std::size_t place = shape_count(); place-- > shapes_.size();) {
      const bool guessed = place >= shapes_.size() + drawn_.size();
      const auto lacks = [&](const KnownCandidate& one) {
        return (guessed || one.takes_every_shape) && !known_on(one, place);
      };
      if (std::ranges::none_of(known_, lacks)) continue;
      for (KnownCandidate& one : known_) {
        one.estimated_ns.erase(one.estimated_ns.begin() + static_cast<std::ptrdiff_t>(place));
        if (!guessed)
          one.drawn_ns.erase(one.drawn_ns.begin() + static_cast<std::ptrdiff_t>(place - shapes_.size()));
      }
      std::vector<Workload>& shapes = guessed ? guessed_ : drawn_;
      const std::size_t before = shapes_.size() + (guessed ? drawn_.size() : 0);
      shapes.erase(shapes.begin() + static_cast<std::ptrdiff_t>(place - before));
    }
  }

  /// Without the shapes that are not to be kept, for all candidates; which they were. @param times of a candidate
  template <class Keeps, class Times>
  std::vector<Workload> keep_shapes(std::vector<Workload>& shapes, Keeps keeps, Times times) {
    std::vector<Workload> left_out;
    for (std::size_t shape = shapes.size(); shape-- > 0;) {
      if (keeps(shape)) continue;
      const auto at = static_cast<std::ptrdiff_t>(shape);
      left_out.push_back(std::move(shapes[shape]));
      shapes.erase(shapes.begin() + at);
      for (KnownCandidate& other : known_) times(other).erase(times(other).begin() + at);
    }
    return left_out;
  }

  /// What was measured minutes apart differs by clocks and temperature, too, and 2 % decide. So each point is timed
  /// again in turns with one of them, and its times become those of that one times the ratios of pairs: on shapes where it
  /// comes near the fastest, as no member may be further behind.
  void compare_in_turns(MemberMeasurements& measurements) {
    const KnownCandidate one = known_[widest_and_fastest()];
    const std::vector<double> fastest = fastest_times();
    std::size_t pairs = 0;
    std::vector<KnownCandidate> compared;
    for (KnownCandidate& other : known_) {
      go_on();
      if (other.times.variant != one.times.variant) {
        const std::vector<std::size_t> near = shapes_near(other, fastest);
        pairs += near.size();
        if (!near.empty() && !take_turns(measurements, other, one, near)) continue;
      }
      compared.push_back(std::move(other));
    }
    known_ = std::move(compared);
    tell(fmt::format("{} times near the fastest taken again in turns with {}", pairs,
                     codegen::point_text(one.candidate)));
  }

  [[nodiscard]] std::vector<double> fastest_times() const {
    std::vector<double> fastest(shapes_.size(), std::numeric_limits<double>::infinity());
    for (const KnownCandidate& known : known_)
      for (std::size_t shape = 0; shape < shapes_.size(); ++shape)
        fastest[shape] = std::min(fastest[shape], known.times.times_ns[shape]);
    return fastest;
  }

  [[nodiscard]] std::vector<std::size_t> shapes_near(const KnownCandidate& known,
                                                     const std::vector<double>& fastest) const {
    std::vector<std::size_t> near;
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape)
      if (std::isfinite(known.times.times_ns[shape]) &&
          known.times.times_ns[shape] <= SetLimits().worst_ratio * fastest[shape])
        near.push_back(shape);
    return near;
  }

  /// Of those with the most shapes, a fallback before others, the one of the least mean time: all others share shapes with it.
  [[nodiscard]] std::size_t widest_and_fastest() const {
    const auto rank = [](const KnownCandidate& known) {
      std::ptrdiff_t shapes = 0;
      double sum = 0;
      for (const double ns : known.times.times_ns)
        if (std::isfinite(ns)) ++shapes, sum += std::log(ns);
      return std::tuple(!known.takes_every_shape, -shapes, sum);
    };
    return static_cast<std::size_t>(std::ranges::min_element(known_, {}, rank) - known_.begin());
  }

  /// False where it turned out to be wrong. Where there is no answer its times stay as they are.
  bool take_turns(MemberMeasurements& measurements, KnownCandidate& known, const KnownCandidate& with,
                  const std::vector<std::size_t>& near) {
    const auto turns =
        measurements.time_in_turns(known.candidate, with.candidate, with.times.variant, shapes_, near);
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
    const auto times = measurements.time(candidate, shapes_, TimeQuality::coarse);
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
    known_.push_back({.candidate = candidate,
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

  void widest_takes_all() {
    const auto widest = std::ranges::max_element(known_, {}, [](const KnownCandidate& one) {
      return std::ranges::count_if(one.times.times_ns, [](double ns) { return std::isfinite(ns); });
    });
    if (widest == known_.end()) return;
    widest->takes_every_shape = true;
    const auto left_out = keep_shapes(
        shapes_, [&](std::size_t shape) { return std::isfinite(widest->times.times_ns[shape]); },
        [](KnownCandidate & one) -> auto& { return one.times.times_ns; });
    for (const Workload& shape : left_out)
      report_.notes.push_back(fmt::format("{} is left out: the fallback does not take it", shape.name));
  }

  /// The smallest set whose members pass on corners, edges, borders and drawn shapes of what the rule gives to them.
  void learn(MemberMeasurements& measurements) {
    keep_one_list_of_options();
    SetLimits limits{.max_layouts = run_.per_shape->prepared_copies};
    limits.max_members = std::min(limits.max_members, most_members_);
    for (;;) {
      keep_in_time(limits);
      keep_drawn_that_are_taken(measurements);
      estimate(measurements);
      keep_where_estimates_say_something();
      choice_ = choose(limits);
      report_.kernels = kernels_of(choice_);
      const Result<Candidate> set = codegen::set_candidate(*run_.problem, report_.kernels);
      if (!set) {
        no_set(
            fmt::format("{} members cannot be one program: {}", choice_.members.size(), set.error().message),
            limits);
        continue;
      }
      candidate_ = *set;
      chosen_.clear();
      const auto wrong = first_wrong_member(measurements, limits);
      if (!wrong) return;
      if (*wrong < choice_.members.size()) drop(choice_.members[*wrong]);
    }
  }

  /// Also after a member was wrong, as all are checked again then.
  void keep_in_time(SetLimits& limits) {
    const std::size_t most = time_.most_members(limits.max_members);
    if (most == limits.max_members || known_.size() <= most) return;
    limits.max_members = most;
    report_.notes.push_back(fmt::format("{} members at most: there was no time to check more", most));
  }

  /// One program is compiled with one list of options: that of the fastest points.
  void keep_one_list_of_options() {
    std::set<std::vector<std::string>> lists;
    for (const KnownCandidate& one : known_) lists.insert(one.candidate.plan.options);
    if (lists.size() < 2) return;
    const auto mean_of = [&](const std::vector<std::string>& options) {
      double sum = 0;
      for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
        double best = std::numeric_limits<double>::infinity();
        for (const KnownCandidate& one : known_)
          if (one.candidate.plan.options == options) best = std::min(best, one.times.times_ns[shape]);
        sum += std::log(best);
      }
      const bool any = std::ranges::any_of(known_, [&](const KnownCandidate& one) {
        return one.candidate.plan.options == options && one.takes_every_shape;
      });
      return any ? sum : std::numeric_limits<double>::infinity();
    };
    const auto options = *std::ranges::min_element(lists, {}, mean_of);
    std::erase_if(known_, [&](const KnownCandidate& one) { return one.candidate.plan.options != options; });
    report_.notes.push_back("points with other compiler options than its members' are no members");
  }

  /// Of all shapes: those asked for, drawn ones, guessed ones.
  [[nodiscard]] std::size_t shape_count() const { return shapes_.size() + drawn_.size() + guessed_.size(); }
  [[nodiscard]] const AxisValues& sizes_of(std::size_t shape) const {
    if (shape < shapes_.size()) return shapes_[shape].axes;
    const std::size_t other = shape - shapes_.size();
    return other < drawn_.size() ? drawn_[other].axes : guessed_[other - drawn_.size()].axes;
  }
  /// Infinite where it was not timed.
  [[nodiscard]] double time_on(const KnownCandidate& one, std::size_t shape) const {
    if (shape < shapes_.size()) return one.times.times_ns[shape];
    const std::size_t drawn = shape - shapes_.size();
    return drawn < drawn_.size() ? one.drawn_ns[drawn] : std::numeric_limits<double>::infinity();
  }

  /// What the terms of a candidate's time are on every shape; nothing on one that it does not take.
  struct ShapeAmounts {
    std::vector<Expression> terms;
    std::vector<std::optional<std::vector<std::int64_t>>> by_shape;
    TimedAmounts timed;  ///< of the shapes that it was timed on
  };

  /// Nothing where it does not take the shape.
  [[nodiscard]] static std::optional<std::vector<std::int64_t>> amounts_on(
      const MemberMeasurements& measurements, const Candidate& candidate,
      const std::vector<Expression>& terms, const AxisValues& sizes) {
    if (!measurements.takes(candidate, sizes)) return std::nullopt;
    return codegen::amounts_of(terms, candidate, measurements.environment(sizes));
  }

  [[nodiscard]] ShapeAmounts amounts_of(const MemberMeasurements& measurements,
                                        const KnownCandidate& one) const {
    ShapeAmounts amounts{
        .terms = codegen::time_terms(*run_.problem, one.candidate), .by_shape = {}, .timed = {}};
    for (std::size_t shape = 0; shape < shape_count(); ++shape) {
      amounts.by_shape.push_back(amounts_on(measurements, one.candidate, amounts.terms, sizes_of(shape)));
      const double ns = time_on(one, shape);
      if (!amounts.by_shape.back() || !std::isfinite(ns)) continue;
      amounts.timed.amounts.push_back(*amounts.by_shape.back());
      amounts.timed.times_ns.push_back(ns);
    }
    return amounts;
  }

  /// Times of all candidates as sums of terms, and what these say of every shape. Points of one template are fitted together.
  void estimate(const MemberMeasurements& measurements) {
    std::vector<ShapeAmounts> amounts;
    std::map<std::vector<std::string>, std::vector<std::size_t>> alike;  // by source and terms
    for (KnownCandidate& one : known_) {
      one.ps.clear();
      one.estimated_ns.assign(shape_count(), std::numeric_limits<double>::infinity());
      std::vector<std::string> terms{one.candidate.source};
      amounts.push_back(amounts_of(measurements, one));
      for (const Expression& term : amounts.back().terms) terms.push_back(term.text());
      if (!amounts.back().timed.times_ns.empty()) alike[terms].push_back(amounts.size() - 1);
    }
    for (const auto& [terms, places] : alike) {
      std::vector<TimedAmounts> timed;
      for (const std::size_t place : places) timed.push_back(amounts[place].timed);
      const std::vector<std::vector<std::int64_t>> ps = fit_alike(timed);
      for (std::size_t i = 0; i < places.size(); ++i) estimate(known_[places[i]], amounts[places[i]], ps[i]);
    }
  }

  static void estimate(KnownCandidate& one, const ShapeAmounts& amounts,
                       const std::vector<std::int64_t>& ps) {
    one.ps = ps;
    for (std::size_t shape = 0; shape < amounts.by_shape.size(); ++shape)
      if (amounts.by_shape[shape]) one.estimated_ns[shape] = ak::estimated_ns(ps, *amounts.by_shape[shape]);
  }

  [[nodiscard]] SetChoice choose(const SetLimits& limits) const {
    std::vector<SetCandidate> candidates;
    std::vector<std::string> layouts;
    for (const KnownCandidate& one : known_) {
      auto layout = std::ranges::find(layouts, one.layout);
      if (layout == layouts.end()) layout = layouts.insert(layouts.end(), one.layout);
      std::vector<double> times_ns;
      for (std::size_t shape = 0; shape < shape_count(); ++shape) times_ns.push_back(time_on(one, shape));
      // Of shapes without an answer nothing better is known.
      for (std::size_t shape = shapes_.size(); shape < times_ns.size(); ++shape)
        if (!std::isfinite(times_ns[shape]) && one.estimated_ns[shape] > 0)
          times_ns[shape] = one.estimated_ns[shape];
      candidates.push_back(
          {.times_ns = std::move(times_ns),
           .estimated_ns = one.estimated_ns,
           .takes_every_shape = one.takes_every_shape,
           .layout = one.layout.empty() ? 0 : static_cast<std::size_t>(layout - layouts.begin()) + 1});
    }
    SetShapes shapes{.weights = {}, .asked = shapes_.size(), .guessed = guessed_.size()};
    for (const Workload& shape : shapes_) shapes.weights.push_back(shape.weight);
    shapes.weights.resize(shape_count(), 1);
    return choose_set(candidates, shapes, limits);
  }

  /// Of the timed shapes.
  [[nodiscard]] std::vector<AxisValues> axes() const {
    std::vector<AxisValues> list;
    for (const Workload& shape : shapes_) list.push_back(shape.axes);
    return list;
  }

  [[nodiscard]] TimeEstimate estimate_of(const KnownCandidate& one) const {
    const std::vector<Expression> terms = codegen::time_terms(*run_.problem, one.candidate);
    TimeEstimate estimate;
    for (std::size_t term = 0; term < one.ps.size(); ++term)
      if (one.ps[term] > 0) estimate.terms.push_back({one.ps[term], terms[term].text()});
    return estimate;
  }

  [[nodiscard]] codegen::KernelSet kernels_of(const SetChoice& choice) const {
    codegen::KernelSet set{
        .name = run_.problem->definition.name + ".set.cu",
        .members = {},
        .rule = {
            .rows = {}, .estimates = {}, .in_rows_alone = choice.in_rows_alone, .fallback = choice.fallback}};
    for (const std::size_t member : choice.members) {
      set.members.push_back({known_[member].candidate, known_[member].takes_every_shape});
      set.rule.estimates.push_back(estimate_of(known_[member]));
    }
    for (const OwnRow& row : choice.rows) set.rule.rows.push_back({shapes_[row.shape].axes, row.member});
    return set;
  }

  /// These members are too many for one program, or one of them does not go with the others: a smaller set of them is
  /// tried. A single kernel is no worse than without this.
  void no_set(const std::string& why, SetLimits& limits) {
    if (choice_.members.size() == 1) fail(ExitCode::no_kernel, "{}", why);
    limits.max_members = choice_.members.size() * 3 / 4;
    report_.notes.push_back(fmt::format("{}; {} at most are tried", why, limits.max_members));
  }

  /// A member that is wrong on its shapes; one past the last where the set is no program; nothing where all is right.
  [[nodiscard]] std::optional<std::size_t> first_wrong_member(MemberMeasurements& measurements,
                                                              SetLimits& limits) {
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
                           outcome.message),
               limits);
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
        codegen::member_shapes(*run_.problem, is_its, member + 1, measurements.device().kind, axes(),
                               agent::derive_seed(seed_, kMemberShapesStream));
    std::erase_if(shapes, [&](const Workload& shape) {
      return !fallback_takes_all() && !measurements.takes(candidate_, shape.axes);
    });
    return shapes;
  }

  [[nodiscard]] bool fallback_takes_all() const {
    return report_.kernels.members[choice_.fallback].takes_every_shape;
  }

  void drop(std::size_t index) {
    known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(index));
    if (std::ranges::none_of(known_, &KnownCandidate::takes_every_shape)) widest_takes_all();
    if (known_.empty()) fail(ExitCode::no_kernel, "no candidate was right on all of its shapes");
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
    std::vector<Workload> shapes = codegen::sample_to_time(*run_.problem, measurements.device().kind,
                                                           static_cast<int>(kHeldOutTimed + drawn_.size()),
                                                           agent::derive_seed(seed_, kRegretStream));
    std::erase_if(shapes, [&](const Workload& shape) {
      return std::ranges::find(drawn_, shape.axes, &Workload::axes) != drawn_.end();
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
      const bool in_rows_alone = report_.kernels.rule.is_in_rows_alone(i);
      question.estimated_ns.push_back(
          in_time && !in_rows_alone
              ? std::vector(shapes.size(), kMayBeFastest)
              : estimates_of(measurements, known_[choice_.members[i]], shapes, in_rows_alone));
    }
    regret_shapes_ = time_choice(measurements, members, question, [&] { go_on(); });
    std::vector<double> ratios;
    for (const SetShapeRecord& shape : regret_shapes_) ratios.push_back(shape.member_ns / shape.best_ns);
    if (!ratios.empty()) report_.record.regret = regret_of(ratios);
  }

  /// Infinite where it does not take a shape, or takes nothing but its rows.
  [[nodiscard]] std::vector<double> estimates_of(const MemberMeasurements& measurements,
                                                 const KnownCandidate& one,
                                                 const std::vector<Workload>& shapes,
                                                 bool in_rows_alone) const {
    std::vector<double> ns(shapes.size(), std::numeric_limits<double>::infinity());
    const std::vector<Expression> terms = codegen::time_terms(*run_.problem, one.candidate);
    for (std::size_t shape = 0; shape < shapes.size() && !in_rows_alone; ++shape) {
      const auto amounts = amounts_on(measurements, one.candidate, terms, shapes[shape].axes);
      if (amounts) ns[shape] = ak::estimated_ns(one.ps, *amounts);
    }
    return ns;
  }

  void complete_record() {
    notes_before_record_ = report_.notes.size();
    SetRecord& record = report_.record;
    record.mean_ratio = choice_.mean_ratio;
    record.worst_ratio = choice_.worst_ratio;
    record.within_limits = choice_.within_limits;
    if (!drawn_.empty())
      report_.notes.push_back(
          fmt::format("the rule was also learned from {} drawn shapes, on which it is {:.1f} % slower than "
                      "the best point known there",
                      drawn_.size(), 100 * (choice_.drawn_ratio - 1)));
    if (!guessed_.empty())
      report_.notes.push_back(
          fmt::format("by estimates it is {:.1f} % slower than the best point known on {} more shapes, where "
                      "nothing was timed",
                      100 * (choice_.guessed_ratio - 1), guessed_.size()));
    std::set<std::string> layouts;
    for (std::size_t i = 0; i < choice_.members.size(); ++i) {
      const KnownCandidate& member = known_[choice_.members[i]];
      if (!member.layout.empty()) layouts.insert(member.layout);
      record.members.push_back({.variant = member.times.variant,
                                .condition = codegen::shapes_of_member(report_.kernels, i),
                                .fallback = i == choice_.fallback});
    }
    record.prepared_copies = layouts.size();
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      const std::size_t member = choice_.chosen[shape];
      const auto best = std::ranges::min_element(
          known_, {}, [&](const KnownCandidate& one) { return one.times.times_ns[shape]; });
      record.shapes.push_back({.workload = shapes_[shape],
                               .member = member + 1,
                               .member_ns = known_[choice_.members[member]].times.times_ns[shape],
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

  /// What was found wrong where the set was confirmed: the member that the finding names, else all but one. False where
  /// there is nothing to leave out: nothing was wrong, or nothing would be left.
  [[nodiscard]] bool leave_out_faulty(const SearchOutcome& outcome) {
    const std::vector<std::string>& faults = outcome.loop.held_out.faults;
    if (outcome.loop.interrupted || faults.empty()) return false;
    const std::size_t members = choice_.members.size();
    const std::optional<std::size_t> named =
        members == 1 ? std::optional<std::size_t>(0) : codegen::member_named_in(faults.back(), members);
    if (named && known_.size() == 1) return false;
    report_.record = {};
    report_.notes.resize(notes_before_record_);
    report_.notes.push_back(
        named ? fmt::format("{} is no member: {}",
                            codegen::point_text(known_[choice_.members[*named]].candidate), faults.back())
              : fmt::format("one kernel is tried alone: of a set of {} {}", members, faults.back()));
    tell(report_.notes.back());
    if (named)
      drop(choice_.members[*named]);
    else
      most_members_ = 1;
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
  std::chrono::milliseconds time_of_points_{0};  ///< on all timed shapes
  std::chrono::milliseconds time_of_shape_{0};   ///< that all points took on a timed shape
  std::vector<Workload> shapes_;
  std::vector<Workload> drawn_;    ///< what the rule is learned from next to them
  std::vector<Workload> guessed_;  ///< where estimates alone say who is fast
  agent::Progress spent_;          ///< on single shapes
  std::size_t most_members_ = std::numeric_limits<std::size_t>::max();
  std::size_t notes_before_record_ = 0;  ///< of the report
  std::string stop_reason_;              ///< of these searches
  std::vector<KnownCandidate> known_;
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
