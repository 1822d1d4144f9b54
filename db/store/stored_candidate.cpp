// SPDX-License-Identifier: Apache-2.0
#include "db/store/stored_candidate.h"

#include "db/sqlite.h"

namespace ak::db {

std::optional<StoredCandidate> find_candidate(const std::filesystem::path& file, RowId variant) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(
      "SELECT v.name, s.text, d.problem, d.params, v.tunables FROM variants v JOIN sources s ON s.id = "
      "v.source_id "
      "JOIN definitions d ON d.id = v.definition_id WHERE v.id = ?");
  row.bind(1, variant);
  if (!row.step()) return std::nullopt;
  return StoredCandidate{.name = row.text(0),
                         .source = row.text(1),
                         .problem = row.text(2),
                         .params = parse_json(row.text(3)),
                         .tunables = parse_json(row.text(4))};
}

std::string definition_of(const std::filesystem::path& file, RowId variant) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(
      "SELECT d.name FROM variants v JOIN definitions d ON d.id = v.definition_id WHERE v.id = ?");
  row.bind(1, variant);
  return row.step() ? row.text(0) : "";
}

std::optional<RowId> find_variant(const std::filesystem::path& file, const std::string& variant_hash,
                                  const std::string& definition) {
  Connection connection(file, OpenMode::read_only);
  Statement& row = connection.prepare(
      "SELECT v.id FROM variants v JOIN definitions d ON d.id = v.definition_id WHERE v.variant_hash = ?1 "
      "AND (d.name = ?2 OR ?2 = '') "
      "ORDER BY v.id DESC");
  row.bind(1, variant_hash).bind(2, definition);
  return row.step() ? std::optional(row.integer(0)) : std::nullopt;
}

}  // namespace ak::db
