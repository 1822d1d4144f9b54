// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/search_view.h"
#include "app/evaluate/figure_texts.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace ak;
using namespace ak::app;

namespace {

/// Half of 100 evaluations in 60 s, the first of which ended after 10 s.
SearchView halfway() {
  SearchView view{.phase = SearchPhase::search, .elapsed_s = 59, .first_ended_s = 10, .search_s = 55};
  view.budgets.max_evaluations = 100;
  view.progress.evaluated = 50;
  view.progress.verified = 45;
  view.progress.failed = 5;
  view.progress.space_points = 112;
  view.progress.best_ns = 25'000;
  view.baseline_ns = 50'000;
  view.baseline_label = "naive";
  view.limit_ns = 20'000;
  return view;
}

std::string all_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("the view says the phase, how far it is, the best against baseline and limit, and what is left") {
  SearchView view = halfway();
  view.ends_with_space = true;
  const std::string text = all_lines(view_lines(view, 100, false));
  INFO(text);
  for (const char* words :
       {"search", "50 %", "[###", "59 s", "about 50 s left", "50 of 112 tried, 45 passed, 5 failed",
        "best 25 us", "2.00x naive", "80 % of the limit 20 us"})
    CHECK(text.find(words) != std::string::npos);
}

TEST_CASE("the view says what may still be gained, once that is known") {
  SearchView view = halfway();
  CHECK(view_line(view).find("to gain") == std::string::npos);
  view.progress.gain = RemainingGain{.expected = 0.004, .low = 0, .high = 0.012};
  CHECK(view_line(view).find("still to gain: 0.4 % expected, 0 to 1.2 % with 90 % confidence") !=
        std::string::npos);
}

TEST_CASE("the budget that is used up first decides how far a search is") {
  SearchView view = halfway();
  view.budgets.max_wall = std::chrono::seconds(60);
  CHECK(done_share(view).value() == Approx(55.0 / 60));
  CHECK(left_s(view).value() == Approx(5));
  view.budgets = {};
  view.budgets.max_cost_usd = 2;
  view.progress.cost_usd = 0.5;
  CHECK(done_share(view).value() == Approx(0.25));
  CHECK_FALSE(left_s(view));
}

TEST_CASE("without a bound nothing is estimated, and the end of a space is one") {
  SearchView view = halfway();
  view.budgets = {};
  CHECK_FALSE(done_share(view));
  CHECK_FALSE(left_s(view));
  view.ends_with_space = true;
  CHECK(done_share(view).value() == Approx(50.0 / 112));
  CHECK(left_s(view).value() == Approx(62));
}

TEST_CASE("before the first kernel ran only the phase is shown") {
  const SearchView view{.phase = SearchPhase::references, .elapsed_s = 3};
  CHECK(view_lines(view, 80, false) ==
        std::vector<std::string>{"compiling headers, references and the first kernels  3 s"});
  CHECK(view_line(view) == "compiling headers, references and the first kernels, 3 s");
}

TEST_CASE("of a search whose models write points nobody says how many there are") {
  SearchView view = halfway();
  view.progress.space_points = view.progress.evaluated = view.progress.verified = 1;
  CHECK(all_lines(view_lines(view, 100, false)).find("  1 tried, 1 passed") != std::string::npos);
}

TEST_CASE("models' calls and money are shown, and a price that is not known is no price") {
  SearchView view = halfway();
  view.progress.calls = 12;
  view.progress.cost_usd = 0.1234;
  CHECK(all_lines(view_lines(view, 100, false)).find("models: 12 calls, 0.1234 US dollars") !=
        std::string::npos);
  view.progress.cost_usd = 0;
  view.progress.price_known = false;
  CHECK(view_line(view).find("models: 12 calls, price unknown") != std::string::npos);
}

TEST_CASE("no line is as wide as the terminal, however narrow that is") {
  SearchView view = halfway();
  view.progress.calls = 12;
  view.detail = "those close to the best";
  for (const int columns : {21, 30, 40, 60, 80, 200}) {
    for (const std::string& line : view_lines(view, columns, false)) {
      INFO(columns << ": " << line);
      CHECK(static_cast<int>(line.size()) < columns);
    }
  }
}

TEST_CASE("a narrow terminal has the time, and no half of a remark") {
  SearchView view{.phase = SearchPhase::references, .elapsed_s = 123};
  CHECK(view_lines(view, 40, false) == std::vector<std::string>{"compiling headers, references ..  2m03s"});
  view = halfway();
  view.progress.best_predicted_ns = 70'050;
  CHECK(view_lines(view, 40, false).back() == "  best predicted 70.05 us");
  CHECK(view_lines(view, 80, false).back() == "  best predicted 70.05 us (not measured)");
}

TEST_CASE("colour changes no letter, and without it there are no sequences") {
  const std::string plain = all_lines(view_lines(halfway(), 80, false));
  std::string coloured = all_lines(view_lines(halfway(), 80, true));
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(coloured.find("\x1b[32m") != std::string::npos);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  CHECK(coloured == plain);
}

TEST_CASE(
    "the view says how many devices of a pool are there, what they do an hour, and which one rests and why") {
  SearchView view = halfway();
  PoolPlace works{.place = "cuda:0", .device = std::make_shared<const DeviceFacts>(), .doing = "evaluates"};
  works.answers = 30;
  works.present = std::chrono::minutes(30);
  const PoolPlace rests{
      .place = "ssh gpu7", .doing = "rests", .breaker = BreakerState::open, .reason = "it has drifted"};
  view.pool = {works, rests};
  CHECK(all_lines(view_lines(view, 120, false))
            .find("pool: 1 of 2 devices, 60 evaluations an hour, ssh gpu7 rests: it has drifted") !=
        std::string::npos);
  CHECK(view_line(view).find("1 of 2 devices") != std::string::npos);
}

TEST_CASE("before the first evaluation the view says that no device of a pool is there, and why") {
  SearchView view;
  view.phase = SearchPhase::first_check;
  view.pool = {{.place = "a worker at 127.0.0.1:7777", .doing = "joins"}};
  CHECK_THAT(view_line(view), Catch::Contains(": pool: 0 of 1 devices"));
  view.pool.front().doing = "rests";
  view.pool.front().reason = "the worker ended with exit code 255";
  CHECK_THAT(view_line(view), Catch::Contains("7777 rests: the worker ended with exit code 255"));
  view.pool.front().device = std::make_shared<const DeviceFacts>();
  CHECK_THAT(view_line(view), !Catch::Contains("pool"));
}

TEST_CASE("text of others in the view moves no cursor") {
  SearchView view = halfway();
  view.baseline_label = "naive\x1b[2J\n";
  CHECK(all_lines(view_lines(view, 100, false)).find('\x1b') == std::string::npos);
}

TEST_CASE("durations are short") {
  CHECK(duration_text(4.9) == "4 s");
  CHECK(duration_text(123) == "2m03s");
  CHECK(duration_text(3'900) == "1h05m");
}
