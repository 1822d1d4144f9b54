// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/error.h"
#include "serve/dashboard/dashboard_server.h"
#include "serve/dashboard/http_request.h"
#include "serve/dashboard/http_response.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

using namespace dashboard;

// Those that the corpus names.
constexpr const char* kToken = "00112233445566778899aabbccddeeff";
constexpr std::uint16_t kPort = 8765;

/// Says what it was asked for.
PageResponse echo(const PageRequest& request) {
  std::string body = request.path;
  for (const auto& [name, value] : request.query) body += fmt::format(" {}={}", name, value);
  return {.body = body};
}

/// What came of the bytes in pieces of this size.
std::optional<ReadRequest> read_in_pieces(std::string_view input, std::size_t piece) {
  RequestReader reader;
  while (!input.empty()) {
    if (auto read = reader.feed(input.substr(0, piece))) return read;
    input.remove_prefix(std::min(piece, input.size()));
  }
  return std::nullopt;
}

void check_request(const HttpRequest& request) {
  AK_ASSERT(request.path.starts_with('/'), "a path begins at the root");
  for (const char c : request.path)
    AK_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a path has no control characters");
  for (const auto& [name, value] : request.headers)
    AK_ASSERT(value.find_first_of("\r\n") == std::string::npos, "a header is one line");
}

}  // namespace

void answer_dashboard_request(std::string_view input) {
  constexpr std::size_t kPiece = 7;  // any that divides nothing
  const auto whole = read_in_pieces(input, input.size() + 1);
  const auto pieces = read_in_pieces(input, kPiece);
  const HttpRequest* request = whole ? std::get_if<HttpRequest>(&*whole) : nullptr;
  if (request != nullptr)
    AK_ASSERT(pieces && std::holds_alternative<HttpRequest>(*pieces), "where a head is cut does not matter");
  if (request == nullptr) return;
  check_request(*request);
  DashboardService service({.pages = echo, .assets = {}, .style_sources = "", .token = kToken});
  service.set_port(kPort);
  auto response = service.answer_at_once(*request);
  if (!response) response = service.make_page(*request);
  const std::string bytes = response_bytes(*response, request->method == "HEAD");
  AK_ASSERT(bytes.starts_with("HTTP/1.1 "), "every answer is one of HTTP");
  AK_ASSERT(response->status >= 300 || input.find(kToken) != std::string_view::npos,
            "nothing is shown without the token");
}

}  // namespace ak::fuzz
