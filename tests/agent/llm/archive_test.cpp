// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/archive.h"

#include <catch2/catch.hpp>

#include "agent/llm/approach.h"
#include "agent/llm/user_prompt.h"

namespace ak::agent {
namespace {

Candidate candidate_of(const std::string& source) {
  Candidate candidate{.name = source.substr(0, 8), .source = source, .plan = {}, .tunables = {}};
  candidate.plan.launches.resize(1);
  return candidate;
}

Attempt attempt(const std::string& source, std::optional<double> score_ns, bool by_model = false,
                int island = 0) {
  static RowId next = 0;
  return {.variant = ++next,
          .candidate = candidate_of(source),
          .passed = score_ns.has_value(),
          .score_ns = score_ns,
          .outcome = "came of " + source,
          .line = "line",
          .by_model = by_model,
          .island = island};
}

void ask_without_gain(Archive& archive, int island) {
  for (int i = 0; i < Archive::kStale; ++i) archive.note_question(island);
}

TEST_CASE("an approach is what a source names, and how many launches it has") {
  CHECK(approach_of(candidate_of("x = 1;")) == "plain; 1 launch");
  CHECK(approach_of(candidate_of("wgmma.mma_async cp.async.bulk __shared__ float4")) ==
        "wgmma, TMA, shared memory, vector loads; 1 launch");
}

TEST_CASE("elites are the best of each source, no more than two of one approach") {
  Archive archive(1);
  archive.add(attempt("a", 30));
  archive.add(attempt("a", 20));
  archive.add(attempt("b", 25));
  archive.add(attempt("c", 22));
  archive.add(attempt("__shared__", 90));
  std::vector<std::string> names;
  for (const Attempt* elite : archive.elites()) names.push_back(elite->candidate.source);
  CHECK(names == std::vector<std::string>{"a", "c", "__shared__"});
  CHECK(*archive.elites().front()->score_ns == 20);
}

TEST_CASE("with nothing that passed only a fresh start is possible, and a crossover needs two sources") {
  Archive archive(1);
  CHECK(archive.arms(0).empty());
  CHECK(archive.choose("improve", 0).arm == "fresh");
  archive.add(attempt("a", 30));
  CHECK(archive.arms(0) == std::vector<std::string>{"improve", "explore"});
  archive.add(attempt("__shared__", 40));
  CHECK(archive.arms(0).size() == 3);
  const Choice choice = archive.choose("crossover", 0);
  REQUIRE(choice.second != nullptr);
  CHECK(choice.second->candidate.source != choice.parent->candidate.source);
}

TEST_CASE("where nothing is timed the last attempt that passed is the parent") {
  Archive archive(1);
  Attempt built = attempt("a", std::nullopt, true);
  built.passed = true;
  archive.add(built);
  CHECK(archive.choose("improve", 0).parent->candidate.source == "a");
}

TEST_CASE("a fast parent is chosen most often, and one that was used gives way") {
  Archive archive(7);
  archive.add(attempt("a", 10));
  archive.add(attempt("__shared__", 1000));
  std::map<std::string, int> chosen;
  for (int i = 0; i < 300; ++i) ++chosen[archive.choose("improve", 0).parent->candidate.source];
  CHECK(chosen["a"] > 150);
  CHECK(chosen["__shared__"] > 0);
}

TEST_CASE("an island that stagnates leads to another that starts from scratch, and they take turns") {
  Archive archive(1);
  archive.add(attempt("a", 30));
  CHECK(archive.next_turn().forced.empty());
  ask_without_gain(archive, 0);
  const Archive::Turn fresh = archive.next_turn();
  CHECK(fresh.forced == "fresh");
  CHECK(fresh.island == 1);
  archive.add(attempt("b", 50, true, 1));
  std::set<int> islands;
  for (int i = 0; i < 4; ++i) {
    const Archive::Turn turn = archive.next_turn();
    CHECK(turn.forced.empty());
    islands.insert(turn.island);
  }
  CHECK(islands == std::set<int>{0, 1});
  // What the search finds in a source counts where that was written.
  archive.add(attempt("b", 20));
  CHECK(archive.choose("improve", 1).parent->score_ns == 20);
}

TEST_CASE("when all islands are open a stale one is emptied, but the one with the best is crossed") {
  Archive archive(1);
  archive.add(attempt("a", 30));
  for (int island = 1; island < static_cast<int>(Archive::kIslands); ++island) {
    ask_without_gain(archive, 0);
    while (archive.next_turn().forced != "fresh") continue;
    archive.add(attempt("__shared__ " + std::to_string(island), 50, true, island));
  }
  for (int island = 0; island < static_cast<int>(Archive::kIslands); ++island)
    ask_without_gain(archive, island);
  std::map<int, std::string> forced;
  for (std::size_t i = 0; i < Archive::kIslands; ++i) {
    const Archive::Turn turn = archive.next_turn();
    forced[turn.island] = turn.forced;
  }
  CHECK(forced == std::map<int, std::string>{{0, "crossover"}, {1, "fresh"}, {2, "fresh"}});
  CHECK(archive.elites().size() == 1);
  // Nothing came of the fresh start: the best of all is its founder.
  ask_without_gain(archive, 1);
  Archive::Turn turn = archive.next_turn();
  while (turn.island != 1) turn = archive.next_turn();
  CHECK(turn.forced == "explore");
  CHECK(archive.choose("explore", 1).parent->candidate.source == "a");
}

TEST_CASE("a parent that was not profiled is shown with what limits another point of its source") {
  Archive archive(1);
  Attempt profiled = attempt("a", 30);
  profiled.candidate.tunables = {{"X", 7}};
  profiled.bottleneck = "dram_bound";
  profiled.limits = "What limits it: memory\n";
  archive.add(profiled);
  archive.add(attempt("a", 20));
  const Choice choice = archive.choose("improve", 0);
  CHECK(*choice.parent->score_ns == 20);
  const std::string text = user_prompt(PromptSet::with_folder(""), archive, choice, 1, "", 5, 1);
  CHECK(text.find("Profiled at X=7:\nWhat limits it: memory") != std::string::npos);
  CHECK(archive.limits("b") == nullptr);
}

TEST_CASE("of the points of a source the best time for each value is shown, and the fastest") {
  Surface surface;
  for (std::int64_t x = 0; x < 3; ++x)
    for (std::int64_t y = 0; y < 4; ++y)
      surface.times_ns[{{"X", x}, {"Y", y}, {"Z", 7}}] =
          static_cast<double>(1000 + 100 * (x - 1) * (x - 1) + 10 * y);
  const std::string text = surface_text(surface);
  CHECK(text.find("12 points were timed") != std::string::npos);
  CHECK(text.find("X  0: 1.1 us, 1: 1 us, 2: 1.1 us") != std::string::npos);
  CHECK(text.find("  Z  ") == std::string::npos);  // it has one value only
  CHECK(text.find("X=1 Y=0 Z=7: 1 us") != std::string::npos);
  surface.times_ns = {{{{"X", 1}}, 5}};
  CHECK(surface_text(surface).empty());
}

TEST_CASE("a prompt shows both parents of a crossover, what the search found, and what to do") {
  Archive archive(1);
  for (std::int64_t x = 0; x < 4; ++x) {
    Attempt point = attempt("a end data", 30 + static_cast<double>(x));
    point.candidate.tunables = {{"X", x}};
    archive.add(std::move(point));
  }
  archive.add(attempt("__shared__", 40));
  const auto elites = archive.elites();
  const Choice choice{.arm = "crossover", .island = 0, .parent = elites[0], .second = elites[1]};
  const std::string text = user_prompt(PromptSet::with_folder(""), archive, choice, 3, "tried: z", 5, 1);
  CHECK(text.find("came of a") != std::string::npos);
  CHECK(text.find("came of __shared__") != std::string::npos);
  CHECK(text.find("4 points were timed") != std::string::npos);
  CHECK(text.find("tried: z") != std::string::npos);
  CHECK(text.find("joins what is good in both") != std::string::npos);
  CHECK(text == user_prompt(PromptSet::with_folder(""), archive, choice, 3, "tried: z", 5, 1));
}

}  // namespace
}  // namespace ak::agent
