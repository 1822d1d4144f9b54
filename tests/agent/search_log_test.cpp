// SPDX-License-Identifier: Apache-2.0
#include "agent/search_log.h"

#include <catch2/catch.hpp>

#include "tests/agent/search_parts.h"

namespace ak::agent {
namespace {

using test::same_result;
using test::SearchParts;
using test::timed;
using test::World;

TEST_CASE("evaluations are numbered in the order in which they are begun, or else committed") {
  World world(same_result);
  SearchParts parts(world);
  const Completed completed = test::completed_at(parts.context, 1, timed(1'000));
  const int begun = parts.record.next_iteration();
  parts.record.commit(completed, {.arm = "profile"});
  parts.record.commit(completed, {.arm = "start", .iteration = begun});
  REQUIRE(world.store.rows.size() == 2);
  CHECK(world.store.rows[0].iteration == 1);
  CHECK(world.store.rows[1].iteration == 0);
  CHECK(world.store.rows[1].arm == "start");
}

TEST_CASE("a row names its proposer: the source's model, the search next to it, or the search's own") {
  World world(same_result);
  test::ListSource source;
  SearchParts alone(world);
  const Completed completed = test::completed_at(alone.context, 1, timed(1'000));
  world.options.search.proposer = "user";
  alone.record.commit(completed, {.arm = "start"});
  world.options.source = &source;
  alone.record.commit(completed, {.arm = "start"});
  const Origin origin{.proposer = "model", .arm = "improve", .parents = {5, 6}, .llm_call = 9};
  alone.record.commit(completed, {.arm = "improve", .origin = &origin});
  const auto& rows = world.store.rows;
  CHECK(rows[0].proposer == "user");
  CHECK(rows[1].proposer == "search");
  CHECK(rows[2].proposer == "model");
  CHECK(rows[2].parents == std::vector<RowId>{5, 6});
  CHECK(rows[2].llm_call == 9);
  CHECK_FALSE(rows[1].llm_call);
}

TEST_CASE("a proposal's row names the member of the portfolio that asked for it") {
  World world(same_result);
  SearchParts parts(world);
  PredictedProposal item;
  item.proposal.member = "tabu";
  parts.record.commit(test::completed_at(parts.context, 1, timed(1'000)), {.arm = "a", .item = &item});
  CHECK(world.store.rows[0].member == "tabu");
}

TEST_CASE("a search ends with its status, its reason and its best variant") {
  World world(same_result);
  SearchParts parts(world);
  CHECK(world.store.begun == 1);
  CHECK(parts.record.search() == 7);
  parts.record.end("stopped", "interrupted", 1001);
  CHECK(world.store.status == "stopped");
  CHECK(world.store.reason == "interrupted");
  CHECK(world.store.best_variant == 1001);
}

}  // namespace
}  // namespace ak::agent
