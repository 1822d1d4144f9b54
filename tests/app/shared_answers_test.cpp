// SPDX-License-Identifier: Apache-2.0
// What the search of one shape begins with when others of its set were searched before.
#include "app/sets/shared_answers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "agent/search/replay.h"

namespace ak::app {
namespace {

Workload shape_of(AxisValues axes) {
  Workload shape;
  shape.name = "shape";
  shape.axes = std::move(axes);
  return shape;
}

Candidate template_of(const std::string& source) {
  Candidate candidate;
  candidate.name = source;
  candidate.source = source;
  return candidate;
}

Completed ended(const Candidate& candidate, TunableValues point, Outcome outcome,
                std::optional<double> score_ns = {}) {
  Completed completed;
  completed.request.candidate = candidate;
  completed.request.candidate.tunables = std::move(point);
  completed.result.outcome = std::move(outcome);
  completed.result.score_ns = score_ns;
  return completed;
}
Completed passed(const Candidate& candidate, TunableValues point, double score_ns) {
  return ended(candidate, std::move(point),
               {.status = Status::ok, .stage = StageId::verdict, .message = "", .diagnostics = {}}, score_ns);
}

std::vector<double> times_of(const agent::EarlierSearch& search) {
  std::vector<double> times;
  for (const auto& answer : search.answers) times.push_back(answer.time_ns.value_or(0));
  return times;
}

TEST_CASE(
    "a search begins with the answers on all other shapes, the nearest first, and then with those of other "
    "runs") {
  const std::vector<Candidate> templates{template_of("one"), template_of("two")};
  SharedAnswers answers(templates);
  for (const std::int64_t n : {64, 4096, 256})
    answers.note(shape_of({{"N", n}}), "GPU", passed(templates[1], {{"X", 1}}, static_cast<double>(n)));
  const std::vector<agent::EarlierSearches> beyond{
      {}, {{.device = "other", .shape = "", .answers = {{{{"X", 2}}, 7.0}}}}};
  const auto earlier = answers.earlier(shape_of({{"N", 256}}), beyond);
  REQUIRE(earlier.size() == 2);
  REQUIRE(earlier[1].size() == 3);
  CHECK(times_of(earlier[1][0]) == std::vector{64.0});
  CHECK(times_of(earlier[1][1]) == std::vector{4096.0});
  CHECK(times_of(earlier[1][2]) == std::vector{7.0});
  // One that goes on measures the fastest again.
  answers.note(shape_of({{"N", 64}}), "GPU", passed(templates[1], {{"X", 1}}, 63));
  answers.note(shape_of({{"N", 64}}), "GPU", passed(templates[1], {{"X", 1}}, 65));
  CHECK(times_of(answers.earlier(shape_of({{"N", 256}}), {})[1][0]) == std::vector{63.0});
  const auto own = answers.known(shape_of({{"N", 256}}));
  REQUIRE(own[1].size() == 1);
  CHECK(own[1][0].score_ns == 256.0);
}

TEST_CASE("what does not build or is wrong is tried on no other shape; what may be of one shape alone is") {
  const std::vector<Candidate> templates{template_of("one")};
  SharedAnswers answers(templates);
  const Workload shape = shape_of({{"N", 64}});
  struct Ending {
    Status status;
    StageId stage;
    bool shared;
  };
  std::int64_t x = 0;
  for (const Ending& ending :
       {Ending{Status::compile_error, StageId::build, true}, Ending{Status::timeout, StageId::build, true},
        Ending{Status::incorrect, StageId::check, true}, Ending{Status::race, StageId::check, true},
        Ending{Status::timeout, StageId::check, false}, Ending{Status::launch_error, StageId::check, false},
        Ending{Status::out_of_memory, StageId::check, false},
        Ending{Status::resource_exceeded, StageId::resources, false},
        Ending{Status::duplicate, StageId::resources, false},
        Ending{Status::infrastructure_error, StageId::build, false}}) {
    CAPTURE(to_string(ending.status));
    const TunableValues point{{"X", x++}};
    answers.note(shape, "GPU",
                 ended(templates[0], point,
                       {.status = ending.status, .stage = ending.stage, .message = "", .diagnostics = {}}));
    CHECK(answers.failed()[0].contains(point) == ending.shared);
  }
  answers.note(shape, "GPU", passed(templates[0], {{"X", x}}, 5));
  CHECK_FALSE(answers.failed()[0].contains({{"X", x}}));
  // What a model wrote is no template of the other searches.
  answers.note(shape, "GPU", passed(template_of("written"), {{"X", x}}, 1));
  const auto earlier = answers.earlier(shape_of({{"N", 65}}), {});
  CHECK(std::ranges::count(times_of(earlier[0][0]), 0.0) == 8);
  CHECK(std::ranges::count(times_of(earlier[0][0]), 5.0) == 1);
  CHECK(std::ranges::count(times_of(earlier[0][0]), 1.0) == 0);
}

TEST_CASE("the shape in the middle is tuned first, and then always the nearest to those before it") {
  std::vector<Workload> shapes;
  for (const std::int64_t n : {1 << 20, 16, 1 << 9, 32, 1 << 12}) shapes.push_back(shape_of({{"N", n}}));
  CHECK(tuning_order(shapes) == std::vector<std::size_t>{2, 4, 3, 1, 0});
  CHECK(tuning_order({}).empty());
}

/// 61 points of one kernel on 90 shapes, as an H200 timed them.
class RecordedShapes {
 public:
  RecordedShapes() {
    std::map<std::string, std::map<std::string, TuningValue>> points;
    for (const auto& row : rows_of("points.csv")) {
      if (row[1] != "gemm_wgmma.cu") continue;
      std::istringstream tunables(row[2]);
      for (std::string one; tunables >> one;) {
        const auto at = one.find('=');
        points[row[0]][one.substr(0, at)] = std::int64_t{std::stoll(one.substr(at + 1))};
      }
    }
    const auto rows = rows_of("times.csv");
    for (std::size_t i = 1; i < rows.size(); ++i) {
      MeasuredSpaceBuilder builder;
      std::vector<TuningParameter> parameters;
      for (std::size_t column = 4; column < rows[0].size(); ++column) {
        const auto point = points.find(rows[0][column]);
        if (point == points.end()) continue;
        if (parameters.empty())
          for (const auto& [name, value] : point->second) parameters.push_back({name, {}});
        MeasuredSpaceBuilder::Row row{.values = point->second};
        row.result.time_ns = 1000 * std::stod(rows[i][column]);
        builder.add(std::move(row));
      }
      shapes.push_back(shape_of(
          {{"M", std::stoll(rows[i][0])}, {"N", std::stoll(rows[i][1])}, {"K", std::stoll(rows[i][2])}}));
      spaces.emplace_back(builder.finish(std::move(parameters)).value());
    }
  }

  std::vector<Workload> shapes;
  std::vector<agent::ReplaySpace> spaces;

 private:
  static std::vector<std::vector<std::string>> rows_of(const char* name) {
    std::ifstream file(std::string(AK_SOURCE_DIR "/experiments/results/2026-11-27_h200_gemm_points/") + name);
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      for (rows.emplace_back(); std::getline(cells, line, ',');) rows.back().push_back(line);
    }
    return rows;
  }
};

constexpr std::size_t kBudget = 40;  // evaluations of a shape; the space has 61
constexpr double kNearBest = 0.98;
constexpr std::uint64_t kSeeds = 4;

/// Evaluations until 98 % of the best, and the share of the best after each, as means over searches.
struct Course {
  double reached = 0;
  std::vector<double> fractions = std::vector<double>(kBudget);
  void add(const agent::Replay& replay, double weight) {
    reached += weight * static_cast<double>(replay.reached.value_or(kBudget + 1));
    for (std::size_t i = 0; i < kBudget; ++i) fractions[i] += weight * replay.fractions[i];
  }
};

/// Searches of single shapes, each with what the searches of others left it.
class Searches {
 public:
  using Change = std::function<void(std::vector<agent::EarlierSearch::Answer>&)>;

  /// Of every ninth shape, after searches of the `known` others whose place in the order by distance begins at `from`.
  Course after(std::size_t known, std::size_t from = 0, const Change& change = {}) {
    Course course;
    const std::size_t stride = 9;
    const double weight = static_cast<double>(stride) / static_cast<double>(record_.shapes.size() * kSeeds);
    for (std::size_t shape = 0; shape < record_.shapes.size(); shape += stride)
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const auto earlier = beginning(shape, known, from, seed, change);
        course.add(agent::replay(record_.spaces[shape], *agent::find_strategy("portfolio"), seed,
                                 {.budget = kBudget, .target = kNearBest, .earlier = earlier}),
                   weight);
      }
    return course;
  }

 private:
  agent::EarlierSearches beginning(std::size_t shape, std::size_t known, std::size_t from, std::uint64_t seed,
                                   const Change& change) {
    SharedAnswers answers(templates_);
    const auto order = by_distance(shape);
    for (std::size_t i = from; i < from + known; ++i) {
      auto found = agent::answers_of(record_.spaces[order[i]], *agent::find_strategy("portfolio"),
                                     100 * seed + i, kBudget / 2);
      if (change) change(found.answers);
      for (const auto& answer : found.answers)
        answers.note(record_.shapes[order[i]], "GPU", passed(templates_[0], answer.point, *answer.time_ns));
    }
    return answers.earlier(record_.shapes[shape], {}).front();
  }
  [[nodiscard]] std::vector<std::size_t> by_distance(std::size_t shape) const {
    std::vector<std::pair<double, std::size_t>> others;
    for (std::size_t i = 0; i < record_.shapes.size(); ++i) {
      double far = 0;
      for (const auto& [axis, size] : record_.shapes[i].axes)
        far += std::abs(
            std::log2(static_cast<double>(size) / static_cast<double>(record_.shapes[shape].axes.at(axis))));
      if (i != shape) others.emplace_back(far, i);
    }
    std::ranges::sort(others);
    std::vector<std::size_t> order;
    for (const auto& [far, index] : others) order.push_back(index);
    return order;
  }

  const RecordedShapes record_;
  const std::vector<Candidate> templates_{template_of("wgmma")};
};

TEST_CASE("on recorded shapes, the more were searched before, the sooner the next reaches 98 % of its best") {
  Searches searches;
  const double cold = searches.after(0).reached, one = searches.after(1).reached,
               three = searches.after(3).reached, six = searches.after(6).reached;
  CAPTURE(cold, one, three, six);
  CHECK(one < 0.9 * cold);
  CHECK(three < 0.7 * cold);
  CHECK(six < 0.85 * cold);
}

TEST_CASE("on recorded shapes, an earlier one that misleads costs at most 5 %, whatever the budget") {
  Searches searches;
  const Course cold = searches.after(0);
  const Course reversed = searches.after(1, 0, [](auto& answers) {
    for (auto& answer : answers) answer.time_ns = 1e9 / *answer.time_ns;
  });
  const Course shuffled = searches.after(3, 0, [](auto& answers) {
    const auto first = answers.front().time_ns;
    for (std::size_t i = 0; i + 1 < answers.size(); ++i) answers[i].time_ns = answers[i + 1].time_ns;
    answers.back().time_ns = first;
  });
  const Course farthest = searches.after(1, 88);
  for (std::size_t at = 5; at <= kBudget; at += 5) {
    CAPTURE(at, cold.fractions[at - 1]);
    CHECK(reversed.fractions[at - 1] > 0.95 * cold.fractions[at - 1]);
    CHECK(shuffled.fractions[at - 1] > 0.95 * cold.fractions[at - 1]);
    CHECK(farthest.fractions[at - 1] > 0.95 * cold.fractions[at - 1]);
  }
}

}  // namespace
}  // namespace ak::app
