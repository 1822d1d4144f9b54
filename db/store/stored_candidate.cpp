// SPDX-License-Identifier: Apache-2.0
#include "db/store/stored_candidate.h"

#include "db/rows.h"
#include "db/upgrade.h"

namespace ak::db {

std::optional<StoredCandidate> find_candidate(const std::filesystem::path& file, RowId variant) {
  Connection connection = open_to_read(file);
  Rows row = select(connection,
                    "SELECT v.name AS name, s.text AS source, s.headers AS headers, d.problem AS problem, "
                    "d.params AS params, "
                    "v.tunables AS tunables FROM variants v JOIN sources s ON s.id = v.source_id "
                    "JOIN definitions d ON d.id = v.definition_id WHERE v.id = :variant",
                    {{"variant", variant}});
  if (!row.next()) return std::nullopt;
  return StoredCandidate{.name = row.text("name"),
                         .source = row.text("source"),
                         .headers = row.text("headers"),
                         .problem = row.text("problem"),
                         .params = parse_json(row.text("params")),
                         .tunables = parse_json(row.text("tunables"))};
}

std::string definition_of(const std::filesystem::path& file, RowId variant) {
  Connection connection = open_to_read(file);
  Rows row = select(connection,
                    "SELECT d.name AS definition FROM variants v JOIN definitions d ON d.id = "
                    "v.definition_id WHERE v.id = :variant",
                    {{"variant", variant}});
  return row.next() ? row.text("definition") : "";
}

std::optional<RowId> find_variant(const std::filesystem::path& file, const std::string& variant_hash,
                                  const std::string& definition) {
  Connection connection = open_to_read(file);
  return select_integer(connection,
                        "SELECT v.id FROM variants v JOIN definitions d ON d.id = v.definition_id WHERE "
                        "v.variant_hash = :hash AND (d.name = :definition OR :definition = '') "
                        "ORDER BY v.id DESC",
                        {{"hash", variant_hash}, {"definition", definition}});
}

}  // namespace ak::db
