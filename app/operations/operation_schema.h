// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "app/operations/operation.h"

namespace ak::operations {

/// JSON Schema (2020-12) of a request, whose members are all that it may have.
[[nodiscard]] Json request_schema(std::span<const Parameter> parameters);
/// JSON Schema of an answer or of an event's data.
[[nodiscard]] Json fields_schema(std::span<const Field> fields);

/// A row of the table: name, title, summary, both schemas, events and effects.
[[nodiscard]] Json to_json(const Operation& operation);
/// The whole table: {"operations": [...], "events": [...]}.
[[nodiscard]] Json operations_json();

}  // namespace ak::operations
