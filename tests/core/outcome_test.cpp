// SPDX-License-Identifier: Apache-2.0
#include "core/outcome.h"

#include <catch2/catch.hpp>
#include <set>

using namespace ak;

TEST_CASE("every status has a row with a name of its own and a meaning") {
  std::set<std::string_view> names;
  const auto last = static_cast<std::size_t>(Status::infrastructure_error);
  REQUIRE(statuses().size() == last + 1);
  for (std::size_t i = 0; i <= last; ++i) {
    const auto status = static_cast<Status>(i);
    INFO(i);
    CHECK(info(status).status == status);
    CHECK(names.insert(to_string(status)).second);
    CHECK_FALSE(info(status).meaning.empty());
    CHECK(info(status).meaning.find('\n') == std::string_view::npos);
    CHECK(parse_status(to_string(status)) == status);
  }
}

TEST_CASE("what passed and a duplicate of it are verified, and nothing else") {
  for (const StatusInfo& row : statuses()) {
    INFO(row.name);
    CHECK(is_verified(row.status) == (row.name == "ok" || row.name == "duplicate"));
  }
}

TEST_CASE("stored names of statuses and stages never change") {
  CHECK(to_string(Status::ok) == "ok");
  CHECK(to_string(Status::resource_exceeded) == "resource_exceeded");
  CHECK(to_string(Status::integrity_violation) == "integrity_violation");
  CHECK(to_string(StageId::pre_check) == "pre_check");
  CHECK(to_string(StageId::recheck) == "recheck");
  CHECK(to_string(StageId::verdict) == "verdict");
}

TEST_CASE("every stage has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(StageId::verdict); ++i) {
    const std::string_view name = to_string(static_cast<StageId>(i));
    CHECK_FALSE(name.empty());
    CHECK(names.insert(name).second);
  }
}

TEST_CASE("only the candidate's own failures are its fault") {
  for (const Status status :
       {Status::compile_error, Status::incorrect, Status::hang, Status::integrity_violation}) {
    CHECK(info(status).candidate_fault);
  }
  for (const Status status :
       {Status::ok, Status::interrupted, Status::infrastructure_error, Status::invalid_reference}) {
    CHECK_FALSE(info(status).candidate_fault);
  }
}

TEST_CASE("statuses map only to statuses that FlashInfer-Bench has") {
  const std::set<std::string_view> known{
      "",        "PASSED",        "INCORRECT_SHAPE", "INCORRECT_NUMERICAL", "INCORRECT_DTYPE",
      "TIMEOUT", "RUNTIME_ERROR", "COMPILE_ERROR"};
  for (const StatusInfo& entry : statuses()) CHECK(known.count(entry.flashinfer_bench) == 1);
  CHECK(info(Status::ok).flashinfer_bench == "PASSED");
}

TEST_CASE("an unknown status name is nothing") { CHECK_FALSE(parse_status("fine").has_value()); }

TEST_CASE("an explanation says the status, the message and what the message leaves out, each once") {
  const Outcome outcome{.status = Status::race,
                        .stage = StageId::check,
                        .message = "k.cu:3:1: first (workload n1)",
                        .diagnostics = {{"error", "k.cu:3:1: first", 3, 1, "{}"},
                                        {"error", "k.cu:4:1: second", 4, 1, "{}"},
                                        {"warning", "unused \x1b[31m variable", 9, 0}}};
  CHECK(explain(outcome) ==
        "race: threads used the same memory without synchronisation\n"
        "k.cu:3:1: first (workload n1)\n"
        "  error: k.cu:4:1: second\n"
        "  warning (line 9): unused ?[31m variable\n");
}
