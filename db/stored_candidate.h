// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/store.h"

namespace ak::db {

/// A variant as it lies in the database.
struct StoredCandidate {
  std::string name, source;
  std::string problem;  ///< family: "softmax"
  Json params;          ///< of the definition: {"dtype": "bfloat16"}
  Json tunables;        ///< {"BM": 128}
};

/// Nothing when there is no such row. Throws Error(database) when the file is unusable.
[[nodiscard]] std::optional<StoredCandidate> find_candidate(const std::filesystem::path& file, RowId variant);

}  // namespace ak::db
