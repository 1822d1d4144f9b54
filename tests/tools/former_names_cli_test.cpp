// SPDX-License-Identifier: Apache-2.0
// Searches were called sessions until schema version 18: old words and old files still work, with a note.
#include <catch2/catch.hpp>

#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

/// A database of an older version with searches, and without queues of them.
void unpack_old_database(const Sandbox& box) {
  const std::string packed = AK_SOURCE_DIR "/experiments/results/2026-11-22_h200_llm_sessions/sessions.db.gz";
  const std::string file = (box.folder / "ak.db").string();
  REQUIRE(run_program({"/bin/sh", "-c", "gunzip -c '" + packed + "' > '" + file + "'"}).exit_code == 0);
}

}  // namespace

TEST_CASE("what only reads a file of an older schema says that it reads a copy, until the file is upgraded") {
  Sandbox box;
  unpack_old_database(box);
  const ProgramResult first = box.run({"query", "searches"});
  INFO(first.err);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.err, Contains("written by schema version 16") && Contains("alphakernel db upgrade"));
  REQUIRE(box.run({"db", "upgrade"}).exit_code == 0);
  CHECK(box.run({"query", "searches"}).out == first.out);
  CHECK(box.run({"query", "searches"}).err.empty());
}

TEST_CASE("words of the time when searches were called sessions are understood, with a note") {
  Sandbox box;
  unpack_old_database(box);
  REQUIRE(box.run({"db", "upgrade"}).exit_code == 0);

  const ProgramResult compared = box.run({"compare", "session:1", "search:2"});
  INFO(compared.err);
  CHECK(compared.exit_code == 0);
  CHECK(compared.out == box.run({"compare", "search:1", "search:2"}).out);
  CHECK_THAT(compared.err, Contains("session:1 is called search:1 now"));

  const ProgramResult reported =
      box.run({"report", "--session", "1", "--format", "csv", "--output", (box.folder / "old").string()});
  CHECK(reported.exit_code == 0);
  CHECK_THAT(reported.err, Contains("--session is called --search now"));

  const ProgramResult progress = box.run({"query", "progress", "session=1"});
  CHECK(progress.exit_code == 0);
  CHECK(progress.out == box.run({"query", "progress", "search=1"}).out);
  CHECK_THAT(progress.err, Contains("search=1"));
  CHECK(box.run({"query", "fast_p", "by=session"}).out == box.run({"query", "fast_p", "by=search"}).out);

  const ProgramResult space = box.run({"space", (box.folder / "ak.db").string(), "--session", "1"});
  CHECK(space.out == box.run({"space", (box.folder / "ak.db").string(), "--search", "1"}).out);
  CHECK_THAT(space.err, Contains("--session is called --search now"));
}

TEST_CASE("the query of queues says where searches are when there is no queue") {
  Sandbox box;
  unpack_old_database(box);
  const ProgramResult queues = box.run({"query", "sessions"});
  CHECK(queues.exit_code == 0);
  CHECK_THAT(queues.err, Contains("alphakernel query searches"));
}
