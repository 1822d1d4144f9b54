// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/text/json.h"

namespace ak::app {

/// What is wrong with a value in a JSON text.
struct SchemaFault {
  std::string pointer;  ///< JSON pointer (RFC 6901) to the value, or to where one is missing
  std::string message;  ///< what was expected, and what is there
};
using SchemaFaults = std::vector<SchemaFault>;

// The rules of FlashInfer-Bench's files (docs/exchange.md). No faults: the value follows them. Unknown keys
// are no fault, as readers of the format pass over them.
[[nodiscard]] SchemaFaults check_definition(const Json& json);
[[nodiscard]] SchemaFaults check_workload(const Json& json);
[[nodiscard]] SchemaFaults check_solution(const Json& json);
[[nodiscard]] SchemaFaults check_trace(const Json& json);

/// With the definition they are of, too: axes and inputs have to be those that it has.
[[nodiscard]] SchemaFaults check_workload_of(const Json& workload, const Json& definition);

/// "/axes/N: expected ...; /inputs: ...", the first few.
[[nodiscard]] std::string faults_text(const SchemaFaults& faults);

}  // namespace ak::app
