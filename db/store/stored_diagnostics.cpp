// SPDX-License-Identifier: Apache-2.0
#include "db/store/stored_diagnostics.h"

#include "core/text/json.h"

namespace ak::db {

std::vector<Diagnostic> stored_diagnostics(const std::string& stored) {
  std::vector<Diagnostic> list;
  for (const Json& one : parse_json(stored.empty() ? "[]" : stored)) {
    list.push_back({.severity = one.value("severity", ""),
                    .message = one.value("message", ""),
                    .line = one.value("line", 0),
                    .column = one.value("column", 0),
                    .details = one.contains("details") ? one["details"].dump() : ""});
  }
  return list;
}

}  // namespace ak::db
