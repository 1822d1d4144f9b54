// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "serve/dashboard/http_request.h"

namespace ak::dashboard {

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  Fields headers = {};
  bool stream = false;  ///< the connection stays open and is sent what HttpServer::broadcast() is given
};

/// "Not Found" for 404, as the title of a page.
[[nodiscard]] std::string_view reason_of(int status);

/// As it goes to the client, which learns that the connection serves no other request; without the body where
/// `head_only`. Asserts that no header holds a line break.
[[nodiscard]] std::string response_bytes(const HttpResponse& response, bool head_only);

}  // namespace ak::dashboard
