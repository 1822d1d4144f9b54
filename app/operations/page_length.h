// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/text/json.h"

namespace ak::operations {

/// How much of a page of text an answer holds.
struct PageLength {
  bool whole = false;  ///< a program wants everything; else a model reads it

  /// `text` without characters that hide others, cut where it is longer than a model reads with profit.
  [[nodiscard]] std::string shown(const std::string& text) const;
};

/// As the request's `detail` says.
[[nodiscard]] PageLength page_length(const Json& request);

}  // namespace ak::operations
