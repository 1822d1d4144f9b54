// SPDX-License-Identifier: Apache-2.0
#include "db/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <limits>

#include "db/read/table_rows.h"
#include "tests/db/store_fixture.h"
#include "tests/db/synthetic_rows.h"

namespace ak::db::test {
namespace {

using Catch::Contains;

/// The message of the SqliteError that `call` throws.
template <class Call>
std::string refused(const Call& call) {
  try {
    call();
  } catch (const SqliteError& error) {
    return error.what();
  }
  FAIL("nothing was thrown");
  return "";
}

constexpr std::array<unsigned char, 16> kUid{};

Connection with_table(const TemporaryFolder& folder) {
  Connection connection(folder.file(), OpenMode::create);
  connection.execute(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, b BLOB, n INTEGER NOT NULL) "
      "STRICT");
  return connection;
}

TEST_CASE("values of every type come back by the names of their columns, in any order") {
  const TemporaryFolder folder;
  Connection connection = with_table(folder);
  const std::vector<unsigned char> bytes{0, 255};
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const auto id =
      insert(connection, "t", {{"n", true}, {"s", "a\0b"}, {"b", bytes}, {"i", largest}, {"r", 0.5}});
  const auto empty = insert(connection, "t",
                            {{"b", std::vector<unsigned char>()},
                             {"s", std::string()},
                             {"n", 0},
                             {"r", std::optional<double>()},
                             {"i", nullptr}});
  Rows row = select(connection, "SELECT b, s, r, i, n FROM t ORDER BY id");
  REQUIRE(row.next());
  CHECK(row.integer("i") == largest);
  CHECK(row.known_integer("i") == largest);
  CHECK(row.real("r") == 0.5);
  CHECK(row.text("s") == "a");
  CHECK(row.bytes("b") == bytes);
  CHECK(row.flag("n"));
  REQUIRE(row.next());
  CHECK_FALSE(row.real("r"));
  CHECK_FALSE(row.known_integer("i"));
  CHECK(row.is_null("i"));
  CHECK_FALSE(row.is_null("s"));
  CHECK_FALSE(row.is_null("b"));
  CHECK(row.bytes("b").empty());
  CHECK_FALSE(row.next());
  CHECK(id + 1 == empty);
}

TEST_CASE("a row is found by some of its columns, and an update leaves the others as they are") {
  const TemporaryFolder folder;
  Connection connection = with_table(folder);
  const auto first = insert(connection, "t", {{"n", 1}, {"s", "x"}}),
             second = insert(connection, "t", {{"n", 2}});
  CHECK(find(connection, "t", {{"n", 1}, {"s", "x"}}) == first);
  CHECK_FALSE(find(connection, "t", {{"n", 2}, {"s", "x"}}));
  update(connection, "t", second, {{"s", "y"}, {"r", 1.5}});
  CHECK(find(connection, "t", {{"s", "y"}, {"n", 2}}) == second);
  CHECK(find(connection, "t", {{"s", "x"}, {"n", 1}}) == first);
  insert(connection, "t", {{"id", first}, {"n", 7}}, "ON CONFLICT DO NOTHING");
  CHECK(select_integers(connection, "SELECT n FROM t ORDER BY id") == std::vector<std::int64_t>{1, 2});
  CHECK_FALSE(select_integer(connection, "SELECT max(n) FROM t WHERE n > :n", {{"n", 2}}));
}

TEST_CASE("a SELECT that is left early holds no lock, and is asked again from its first row") {
  const TemporaryFolder folder;
  Connection connection = with_table(folder),
             other(folder.file(), OpenMode::create, std::chrono::milliseconds(0));
  for (int n = 0; n < 3; ++n) insert(connection, "t", {{"n", n}});
  for (int again = 0; again < 2; ++again) {
    Rows row = select(connection, "SELECT n FROM t ORDER BY n");
    REQUIRE(row.next());
    CHECK(row.integer("n") == 0);
  }
  CHECK_NOTHROW(insert(other, "t", {{"n", 4}}));
}

TEST_CASE("every column of every table: misspelt, it is refused by name when the statement is first run") {
  PreparedFile file;
  Rows column = select(file.connection,
                       "SELECT t.name AS \"table\", c.name AS name FROM pragma_table_list t, "
                       "pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'");
  int columns = 0;
  for (; column.next(); ++columns) {
    const std::string table = column.text("table"), wrong = column.text("name") + "z";
    INFO(table);
    CHECK_THAT(refused([&] {
                 insert(file.connection, table, {{wrong, 1}});
               }),
               Contains("no column named " + wrong));
    CHECK_THAT(refused([&] {
                 static_cast<void>(find(file.connection, table, {{wrong, 1}}));
               }),
               Contains(wrong));
    CHECK_THAT(refused([&] { update(file.connection, table, 1, {{wrong, 1}}); }), Contains(wrong));
  }
  CHECK(columns > 200);
}

TEST_CASE("every column that a row must have: left out, it is refused by name") {
  PreparedFile file;
  Rows column =
      select(file.connection,
             "SELECT t.name AS \"table\", c.name AS name FROM pragma_table_list t, "
             "pragma_table_info(t.name) c WHERE t.type = 'table' AND t.strict AND c.\"notnull\" AND "
             "c.dflt_value IS NULL");
  int columns = 0;
  for (; column.next(); ++columns) {
    const std::string table = column.text("table"), left_out = column.text("name");
    INFO(table << "." << left_out);
    std::vector<NamedValue> others;
    const auto names =
        select_texts(file.connection, "SELECT name FROM pragma_table_info(:table) WHERE name <> :left_out",
                     {{"table", table}, {"left_out", left_out}});
    const auto types =
        select_texts(file.connection, "SELECT type FROM pragma_table_info(:table) WHERE name <> :left_out",
                     {{"table", table}, {"left_out", left_out}});
    std::string marks;
    for (std::size_t i = 0; i < names.size(); ++i) {
      marks += (i == 0 ? ":" : ", :") + names[i];
      others.push_back({names[i], types[i] == "TEXT"   ? Value("{}")
                                  : types[i] == "BLOB" ? Value(kUid)
                                                       : Value(1)});
    }
    Statement statement(file.connection.get(),
                        fmt::format("INSERT INTO {} ({}) VALUES ({})", table, fmt::join(names, ", "), marks));
    CHECK_THAT(refused([&] { statement.bind(others).run(); }),
               Contains("NOT NULL constraint failed: " + table + "." + left_out));
  }
  CHECK(columns > 100);
}

/// SELECT with a column and a parameter for each name, in its own order.
struct Question {
  explicit Question(Random& random) {
    for (std::int64_t i = random.within(2, 30); i > 0; --i)
      names.push_back(fmt::format("{}_{}", random.pick(kWords), names.size()));
    std::string sql;
    for (const std::string& name : names)
      sql += fmt::format("{} :{} AS {}", sql.empty() ? "SELECT" : ",", name, name);
    statement.emplace(connection.get(), sql);
    for (std::size_t i = names.size(); i > 1; --i)
      std::swap(names[i - 1], names[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    for (std::size_t i = 0; i < names.size(); ++i) values.push_back({names[i], static_cast<std::int64_t>(i)});
  }

  static constexpr std::array<std::string_view, 4> kWords{"score", "status", "median", "uid"};
  Connection connection{":memory:", OpenMode::create};
  std::vector<std::string> names;
  std::vector<NamedValue> values;
  std::optional<Statement> statement;
};

TEST_CASE("values go to their parameters and columns are read by name, whatever the order") {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    Question question(random);
    Rows row(question.statement->bind(question.values));
    REQUIRE(row.next());
    for (const auto& [name, value] : question.values)
      CHECK(row.integer(name) == std::get<std::int64_t>(value.content()));
  }
}

TEST_CASE("a value that is missing, misspelt or given twice, and a column that is not there, are named") {
  Random random(2);
  for (int round = 0; round < 100; ++round) {
    Question question(random);
    const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(question.names.size())));
    const std::string name = question.names[at], wrong = name + "x";
    auto missing = question.values, misspelt = question.values, twice = question.values;
    missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(at));
    misspelt[at].name = wrong;
    twice.push_back(twice[at]);
    CHECK_THAT(refused([&] { question.statement->bind(missing); }),
               Contains("no value is given for '" + name + "'"));
    CHECK_THAT(
        refused([&] { question.statement->bind(misspelt); }),
        Contains("there is no parameter '" + wrong + "'") && Contains("there are: ") && Contains(name));
    CHECK_THAT(refused([&] { question.statement->bind(twice); }),
               Contains("two values are given for '" + name + "'"));
    Rows row(question.statement->bind(question.values));
    REQUIRE(row.next());
    CHECK_THAT(refused([&] { static_cast<void>(row.integer(wrong)); }),
               Contains("there is no column '" + wrong + "'") && Contains("SELECT") && Contains(name));
  }
}

TEST_CASE("of two columns with one name neither is read by it") {
  Connection connection(":memory:", OpenMode::create);
  Rows row = select(connection, "SELECT 1 AS name, 2 AS name, 3 AS other");
  REQUIRE(row.next());
  CHECK_THAT(refused([&] { static_cast<void>(row.integer("name")); }), Contains("name (twice)"));
  CHECK(row.integer("other") == 3);
}

TEST_CASE("a column that is named twice in an insert is refused") {
  const TemporaryFolder folder;
  Connection connection = with_table(folder);
  CHECK_THAT(refused([&] {
               insert(connection, "t", {{"n", 1}, {"n", 2}});
             }),
             Contains("two values are given for 'n'"));
}

TEST_CASE("the rows of a table are read by the names of their columns, in whatever order these are") {
  const Table table{.columns = {"name", "score", "count", "nothing"},
                    .rows = {{std::string("a"), 1.5, std::int64_t{7}, std::monostate{}},
                             {std::monostate{}, std::int64_t{2}, 0.5, std::monostate{}}}};
  const std::vector<TableRow> rows = rows_of(table);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].integer("count") == 7);
  CHECK(rows[0].text("name") == "a");
  CHECK(rows[0].real("score") == 1.5);
  CHECK(rows[0].known_real("count") == 7.0);
  CHECK_FALSE(rows[0].known_real("nothing"));
  // What is not of the type is nothing of it.
  CHECK(rows[1].text("name").empty());
  CHECK(rows[1].known_real("score") == 2.0);
  CHECK(rows[1].integer("count") == 0);
}

}  // namespace
}  // namespace ak::db::test
