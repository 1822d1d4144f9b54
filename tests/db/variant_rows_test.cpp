// SPDX-License-Identifier: Apache-2.0
#include "db/store/variant_rows.h"

#include <catch2/catch.hpp>

#include "db/merge/verify.h"
#include "db/rows.h"
#include "db/store/catalogue_rows.h"
#include "db/store/stored_candidate.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

/// A search with a request and its result, stored by nothing yet.
struct Proposed {
  Proposed() : store(open_store(folder.file())), run(*store), connection(folder.file(), OpenMode::create) {
    definition = put_definition(connection, *run.problem);
    record.search = run.search;
    record.request = &request;
    record.result = &result;
  }
  RowId variant(int block) {
    request = run.request(block);
    return put_variant(connection, definition, request.candidate, Json::object());
  }
  std::int64_t count(const std::string& what) {
    return select_integer(connection, "SELECT count(*) FROM " + what).value();
  }

  TemporaryFolder folder;
  std::unique_ptr<VariantStore> store;
  Run run;
  Connection connection;
  RowId definition = 0;
  EvaluationRequest request;
  EvaluationResult result = Run::result(Status::ok, 1000);
  EvaluationRecord record;
};

TEST_CASE("points of one candidate are variants of one source") {
  Proposed proposed;
  const RowId first = proposed.variant(128), second = proposed.variant(256);
  CHECK(first != second);
  CHECK(proposed.variant(128) == first);
  CHECK(proposed.count("sources") == 1);
  CHECK(proposed.count("variants") == 2);
}

TEST_CASE("a variant keeps the device headers that it was measured with") {
  Proposed proposed;
  Candidate candidate = proposed.run.request(128).candidate;
  candidate.source += "#include <ak/vectors.cuh>\n";
  candidate.headers = "// ---- ak/vectors.cuh\nthe text of another version\n";
  const RowId variant = put_variant(proposed.connection, proposed.definition, candidate, Json::object());
  Candidate other = candidate;
  other.headers += "\n";
  CHECK(put_variant(proposed.connection, proposed.definition, other, Json::object()) != variant);
  const auto stored = find_candidate(proposed.folder.file(), variant);
  REQUIRE(stored);
  CHECK(stored->source == candidate.source);
  CHECK(stored->headers == candidate.headers);
  CHECK(verify(proposed.folder.file()).empty());
}

TEST_CASE("a proposal has its parents once, and who chose it where that is known") {
  Proposed proposed;
  const RowId parent = proposed.variant(128), variant = proposed.variant(256);
  AskRecord asked{.member = "", .asked_ms = 2, .ask_ns = 3};
  proposed.record.parents = {parent, parent};
  put_proposal(proposed.connection, proposed.record, variant);
  proposed.record.asked = &asked;
  put_proposal(proposed.connection, proposed.record, variant);
  asked.member = "forest";
  put_proposal(proposed.connection, proposed.record, variant);
  CHECK(proposed.count("variant_parents") == 1);
  CHECK(proposed.count("proposals WHERE member IS NULL AND asked_ms IS NULL") == 1);
  CHECK(proposed.count("proposals WHERE member IS NULL AND asked_ms = 2 AND ask_ns = 3") == 1);
  CHECK(proposed.count("proposals WHERE member = 'forest'") == 1);
}

TEST_CASE("a build is there once with its kernels; occupancy is that of the only kernel that is launched") {
  Proposed proposed;
  const RowId variant = proposed.variant(128);
  proposed.result.build->kernels.push_back(proposed.result.build->kernels[0]);
  proposed.result.build->kernels[1].expression = "other";
  proposed.result.build->drop_ptx();
  const auto build = put_build(proposed.connection, proposed.record, variant);
  REQUIRE(build);
  CHECK(put_build(proposed.connection, proposed.record, variant) == build);
  CHECK(proposed.count("build_kernels") == 2);
  CHECK(proposed.count("build_kernels WHERE kernel = 'add' AND occupancy_ratio = 0.5") == 1);
  CHECK(proposed.count("build_kernels WHERE kernel = 'other' AND occupancy_ratio IS NULL") == 1);
  CHECK(proposed.count("builds WHERE cubin_bytes = 5 AND ptx_bytes = 3") == 1);
  proposed.result.build->cubin.clear();
  proposed.result.build->key = "failed";
  CHECK(put_build(proposed.connection, proposed.record, variant) != build);
  CHECK(proposed.count("builds WHERE cubin_hash IS NULL AND cubin_bytes IS NULL") == 1);
  proposed.result.build.reset();
  CHECK_FALSE(put_build(proposed.connection, proposed.record, variant));
}

TEST_CASE("when a strategy heard of an evaluation is written to its proposal alone") {
  Proposed proposed;
  proposed.run.commit(128);
  const RowId evaluation = proposed.run.commit(256).evaluation;
  put_told(proposed.connection, evaluation, {.told_ms = 4, .tell_ns = 5});
  CHECK(proposed.count("proposals WHERE told_ms = 4 AND tell_ns = 5 AND iteration = 1") == 1);
  CHECK(proposed.count("proposals WHERE told_ms IS NULL AND iteration = 0") == 1);
}

}  // namespace
}  // namespace ak::db::test
