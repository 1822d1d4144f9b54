// SPDX-License-Identifier: Apache-2.0
#include "tools/dashboard/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ak::tools::dashboard {
namespace {

struct Reason {
  int status;
  std::string_view text;
};
constexpr std::array kReasons{Reason{200, "OK"},
                              Reason{204, "No Content"},
                              Reason{303, "See Other"},
                              Reason{400, "Bad Request"},
                              Reason{403, "Forbidden"},
                              Reason{404, "Not Found"},
                              Reason{405, "Method Not Allowed"},
                              Reason{408, "Request Timeout"},
                              Reason{414, "URI Too Long"},
                              Reason{421, "Misdirected Request"},
                              Reason{431, "Request Header Fields Too Large"},
                              Reason{500, "Internal Server Error"},
                              Reason{501, "Not Implemented"},
                              Reason{503, "Service Unavailable"},
                              Reason{505, "HTTP Version Not Supported"}};

/// What RFC 9110 allows in a method and in the name of a header.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The text up to `separator`, which is taken away with it; all of it where there is none.
std::string_view take(std::string_view& rest, std::string_view separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + separator.size());
  return part;
}

bool read_query(std::string_view text, Fields& query) {
  while (!text.empty()) {
    std::string_view value = take(text, "&");
    if (value.empty()) continue;
    const std::string_view name = take(value, "=");
    std::optional<std::string> decoded_name = percent_decoded(name, true);
    std::optional<std::string> decoded_value = percent_decoded(value, true);
    if (!decoded_name || !decoded_value) return false;
    query.emplace_back(std::move(*decoded_name), std::move(*decoded_value));
  }
  return true;
}

/// 0, or the status that refuses it.
int read_request_line(std::string_view line, const HttpLimits& limits, HttpRequest& request) {
  if (std::ranges::any_of(line, is_control)) return 400;
  const std::string_view method = take(line, " ");
  std::string_view target = take(line, " ");
  if (!is_token(method)) return 400;
  if (target.size() > limits.target_bytes) return 414;
  if (!line.starts_with("HTTP/")) return 400;
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return 505;
  if (target.empty() || target.front() != '/') return 400;  // a proxy's absolute form is not for us
  if (target.find('#') != std::string_view::npos) return 400;
  request.method = method;
  request.keep_alive = line == "HTTP/1.1";
  std::optional<std::string> path = percent_decoded(take(target, "?"), false);
  if (!path || !read_query(target, request.query)) return 400;
  request.path = std::move(*path);
  return 0;
}

int read_header(std::string_view line, HttpRequest& request) {
  if (line.find(':') == std::string_view::npos) return 400;
  const std::string_view name = take(line, ":");
  const std::string_view value = trimmed(line);
  if (!is_token(name)) return 400;
  if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; })) return 400;
  std::string key = lower(name);
  // A second Host could be the one that another reader believes.
  if (key == "host" && find_field(request.headers, key)) return 400;
  if (key == "transfer-encoding" || (key == "content-length" && value != "0")) return 501;
  request.headers.emplace_back(std::move(key), value);
  return 0;
}

}  // namespace

std::optional<std::string_view> find_field(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  if (found == fields.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string> percent_decoded(std::string_view text, bool form) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && form) {
      c = ' ';
    }
    if (form ? c == '\0' : is_control(c)) return std::nullopt;
    result += c;
  }
  return result;
}

ParsedHead parse_head(std::string_view head, const HttpLimits& limits) {
  if (head.size() > limits.head_bytes) return {.status = 431};
  HttpRequest request;
  const int refused = read_request_line(take(head, "\r\n"), limits, request);
  if (refused != 0) return {.status = refused};
  while (!head.empty()) {
    const std::string_view line = take(head, "\r\n");
    if (line.empty()) break;
    if (request.headers.size() == limits.headers) return {.status = 431};
    if (const int status = read_header(line, request); status != 0) return {.status = status};
  }
  if (const auto connection = find_field(request.headers, "connection")) {
    if (lower(*connection) == "close") request.keep_alive = false;
  }
  return {.request = std::move(request)};
}

std::string_view reason_of(int status) {
  const auto found = std::ranges::find(kReasons, status, &Reason::status);
  return found == kReasons.end() ? "Status" : found->text;
}

std::string response_head(const HttpResponse& response, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  head += fmt::format("Content-Type: {}\r\n", response.type);
  if (!response.stream) head += fmt::format("Content-Length: {}\r\n", response.body.size());
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += keep_alive && !response.stream ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace ak::tools::dashboard
