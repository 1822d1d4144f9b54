// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ak::tools::dashboard {

using Fields = std::vector<std::pair<std::string, std::string>>;  ///< name and value, in the order they came

/// The value of the first field of that name; nothing without one.
[[nodiscard]] std::optional<std::string_view> find_field(const Fields& fields, std::string_view name);

/// A request without a body: the server answers only what reads.
struct HttpRequest {
  std::string method;
  std::string path;     ///< decoded, begins with '/', no control characters
  Fields query = {};    ///< decoded
  Fields headers = {};  ///< names in lower case
  bool keep_alive = true;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  Fields headers = {};
  bool stream = false;  ///< the connection stays open and is sent what HttpServer::broadcast() is given
};

struct HttpLimits {
  std::size_t target_bytes = 4'096;  ///< of the request's address; a form's search text is far below it
  std::size_t head_bytes = 16'384;   ///< of the whole head; browsers send one or two kilobytes
  std::size_t headers = 64;
};

/// A head that was read, or why it is refused.
struct ParsedHead {
  std::optional<HttpRequest> request = {};
  int status = 0;  ///< where there is no request: 400, 414, 431, 501 or 505
};

/// Reads a head up to and with its empty line. Strict: bytes that two readers could understand differently
/// are refused, and so is a body, which would otherwise be read as the next request.
[[nodiscard]] ParsedHead parse_head(std::string_view head, const HttpLimits& limits);

/// Decodes %XX; '+' means a blank where `form`. Nothing for a broken escape, a zero byte, and in a path for
/// any control character: a form may ask for whatever a name in the database holds.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, bool form);

/// "Not Found" for 404.
[[nodiscard]] std::string_view reason_of(int status);

/// Status line and headers, with the empty line. The length is that of the body, also where none is sent.
[[nodiscard]] std::string response_head(const HttpResponse& response, bool keep_alive);

}  // namespace ak::tools::dashboard
