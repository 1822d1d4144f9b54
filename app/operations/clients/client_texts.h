// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/operations/operation.h"

namespace ak::operations {

// What other languages know of the table of operations. These files are in the tree, and a test fails when
// they are not what these functions return.
[[nodiscard]] std::string cpp_header();       ///< include/alphakernel/operations.h
[[nodiscard]] std::string python_module();    ///< python/alphakernel/operations.py
[[nodiscard]] std::string operations_page();  ///< docs/operations.md

/// Fields under one name: of an object, of an event, or of what an operation answers.
struct NamedType {
  std::string name, help;
  std::vector<Field> fields;
};
/// Every object within the fields of answers and events, each after those that it holds.
[[nodiscard]] std::vector<NamedType> object_types();

/// "explain_failure" as "ExplainFailure".
[[nodiscard]] std::string type_name(std::string_view operation);
/// "Reads and writes the database; takes seconds or longer.", for people.
[[nodiscard]] std::string effects_text(const Effects& effects);
/// "time: ... (us)", without what could end a comment or a cell of a table.
[[nodiscard]] std::string help_text(const Field& field);
/// With bounds, choices and what applies where none is given.
[[nodiscard]] std::string help_text(const Parameter& parameter);

}  // namespace ak::operations
