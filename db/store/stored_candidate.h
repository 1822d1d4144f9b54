// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/store.h"
#include "core/text/json.h"

namespace ak::db {

/// A variant as it lies in the database.
struct StoredCandidate {
  std::string name, source;
  std::string headers;  ///< texts of the device headers that the source includes
  std::string problem;  ///< family: "softmax"
  Json params;          ///< of the definition: {"dtype": "bfloat16"}
  Json tunables;        ///< {"BM": 128}
};

/// Nothing when there is no such row. Throws Error(database) when the file is unusable.
[[nodiscard]] std::optional<StoredCandidate> find_candidate(const std::filesystem::path& file, RowId variant);

/// Name of what a variant computes; empty without such a row.
[[nodiscard]] std::string definition_of(const std::filesystem::path& file, RowId variant);

/// The latest variant with this key in the definition of this name, or of any where it is empty.
[[nodiscard]] std::optional<RowId> find_variant(const std::filesystem::path& file,
                                                const std::string& variant_hash,
                                                const std::string& definition);

}  // namespace ak::db
