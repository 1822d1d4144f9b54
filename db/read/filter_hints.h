// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "db/read/named_queries.h"

namespace ak::db {

/// Of a named query that found nothing: a sentence for each filter whose value the database does not have, with the
/// nearest that it has. Empty where all are known, and of parameters that are no filters. Throws Error(database).
[[nodiscard]] std::vector<std::string> filter_hints(const std::filesystem::path& file,
                                                    const NamedQuery& query, const QueryValues& values);

}  // namespace ak::db
