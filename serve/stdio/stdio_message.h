// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <variant>

#include "app/operations/operation.h"
#include "core/error.h"

namespace ak::stdio {

/// A request for an operation, checked.
struct OperationRequest {
  Json id;  ///< a string or an integer
  const operations::Operation* operation = nullptr;
  Json request;
};

/// A client that does not want to wait for the end of a request any more.
struct StopRequest {
  Json id;
};

/// What cannot be understood or done, and which request to blame: null where even that is not known.
struct BadRequest {
  Json id;
  std::string message;
};

/// What a line of the client asks for. Never throws for what the line holds.
[[nodiscard]] std::variant<OperationRequest, StopRequest, BadRequest> read_request(std::string_view line);

// The lines of the server. docs/library.md shows them.
[[nodiscard]] Json answer_message(const Json& id, const operations::Answer& answer);
[[nodiscard]] Json event_message(const Json& id, std::string_view event, const Json& data);
[[nodiscard]] Json error_message(const Json& id, ExitCode code, std::string_view message);

}  // namespace ak::stdio
