// SPDX-License-Identifier: Apache-2.0
#include "db/merge/verify.h"

#include <fmt/format.h>

#include <array>

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

/// A table that triggers keep, and the view that says what it holds.
struct DerivedTable {
  std::string_view table, view, key;
};
constexpr std::array kDerived{
    DerivedTable{"scores", "scores_defined", "evaluation_id"},
    DerivedTable{"search_figures", "search_figures_defined", "search_id"},
};

/// Adds the rows of `have` that `lack` has not; an example of them.
void add_difference(Connection& connection, const DerivedTable& derived, std::string_view have,
                    std::string_view lack, const char* words, std::vector<std::string>& wrong) {
  Rows row =
      select(connection, fmt::format("SELECT count(*) AS number, min({0}) AS first FROM (SELECT * FROM {1} "
                                     "EXCEPT SELECT * FROM {2})",
                                     derived.key, have, lack));
  if (row.next() && row.flag("number"))
    wrong.push_back(fmt::format("{}: {} rows {}, the first of {} {}", derived.table, row.integer("number"),
                                words, derived.key, row.integer("first")));
}

}  // namespace

std::vector<std::string> verify(const std::filesystem::path& file) {
  Connection connection = open_to_read(file);
  std::vector<std::string> wrong;
  for (const std::string& line : select_texts(connection, "SELECT * FROM pragma_integrity_check"))
    if (line != "ok") wrong.push_back(line);
  for (const std::string& line : select_texts(connection,
                                              "SELECT format('row %d of %s refers to a row of %s that is not "
                                              "there', rowid, \"table\", parent) FROM "
                                              "pragma_foreign_key_check"))
    wrong.push_back(line);
  Rows source = select(connection, "SELECT id, content_hash, text, headers FROM sources");
  while (source.next())
    if (sha256_hex(source.text("text") + source.text("headers")) != source.text("content_hash"))
      wrong.push_back(fmt::format("source {} is not the text of its hash", source.integer("id")));
  for (const DerivedTable& derived : kDerived) {
    add_difference(connection, derived, derived.table, derived.view, "should not be there", wrong);
    add_difference(connection, derived, derived.view, derived.table, "are missing", wrong);
  }
  return wrong;
}

}  // namespace ak::db
