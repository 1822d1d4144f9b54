// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/http_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "core/error.h"

namespace ak::dashboard {

std::string_view reason_of(int status) {
  struct Reason {
    int status;
    std::string_view text;
  };
  static constexpr std::array kReasons{Reason{200, "OK"},
                                       Reason{204, "No Content"},
                                       Reason{303, "See Other"},
                                       Reason{308, "Permanent Redirect"},
                                       Reason{400, "Bad Request"},
                                       Reason{403, "Forbidden"},
                                       Reason{404, "Not Found"},
                                       Reason{405, "Method Not Allowed"},
                                       Reason{408, "Request Timeout"},
                                       Reason{414, "URI Too Long"},
                                       Reason{421, "Misdirected Request"},
                                       Reason{431, "Request Header Fields Too Large"},
                                       Reason{500, "Internal Server Error"},
                                       Reason{503, "Service Unavailable"},
                                       Reason{505, "HTTP Version Not Supported"}};
  const auto found = std::ranges::find(kReasons, status, &Reason::status);
  return found == kReasons.end() ? "Error" : found->text;
}

std::string response_bytes(const HttpResponse& response, bool head_only) {
  std::string bytes = fmt::format("HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: {}\r\n",
                                  response.status, reason_of(response.status), response.type);
  for (const auto& [name, value] : response.headers) {
    AK_ASSERT(value.find_first_of("\r\n") == std::string::npos, "a header is one line");
    fmt::format_to(std::back_inserter(bytes), "{}: {}\r\n", name, value);
  }
  constexpr int kNoContent = 204;  // has no length either
  if (!response.stream && response.status != kNoContent)
    fmt::format_to(std::back_inserter(bytes), "Content-Length: {}\r\n", response.body.size());
  bytes += "\r\n";
  return head_only ? bytes : bytes += response.body;
}

}  // namespace ak::dashboard
