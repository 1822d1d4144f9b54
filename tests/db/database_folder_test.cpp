// SPDX-License-Identifier: Apache-2.0
#include "db/database_folder.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/error.h"
#include "db/database.h"
#include "db/store/session_store.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {

TEST_CASE("a database that is named is made in a folder that is there, and in no other") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "no/such/x.db";
  const std::string words = "the folder " + (folder.path() / "no/such").string() +
                            " of the database x.db does not exist: make it, or give another --db";
  CHECK_THROWS_WITH(open_store(file), words);
  CHECK_THROWS_WITH(open_audit_store(file), words);
  CHECK_THROWS_WITH(SessionStore(file), words);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "no"));
  CHECK_NOTHROW(open_store(folder.path() / "x.db"));
}

TEST_CASE("the folder of the user's own database is made where it is missing, and named where it cannot be") {
  const TemporaryFolder folder;
  const char* before = std::getenv("XDG_DATA_HOME");
  const std::string kept = before ? before : "";
  ::setenv("XDG_DATA_HOME", (folder.path() / "data").c_str(), 1);
  CHECK_NOTHROW(SessionStore(user_database()));
  CHECK(std::filesystem::exists(folder.path() / "data/alphakernel/alphakernel.db"));
  std::ofstream(folder.path() / "file") << "x";
  ::setenv("XDG_DATA_HOME", (folder.path() / "file").c_str(), 1);
  CHECK_THROWS_WITH(SessionStore(user_database()), Catch::Contains("cannot make the folder"));
  before ? ::setenv("XDG_DATA_HOME", kept.c_str(), 1) : ::unsetenv("XDG_DATA_HOME");
}

}  // namespace ak::db::test
