// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "core/error.h"
#include "db/database.h"

namespace ak::db {

/// A query that met a row whose values its SQL cannot take, such as text that is no JSON: the SQL is right, and rows
/// before it were read.
class RowError : public Error {
 public:
  RowError(const std::string& message, Table before)
      : Error(ExitCode::bad_input, message), before_(std::move(before)) {}
  [[nodiscard]] const Table& before() const noexcept { return before_; }  ///< with all columns

 private:
  Table before_;
};

}  // namespace ak::db
