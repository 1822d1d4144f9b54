// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/http_request.h"

#include <algorithm>

namespace ak::dashboard {
namespace {

using std::string_view;

constexpr string_view kLineEnd = "\r\n", kHeadEnd = "\r\n\r\n";

constexpr std::size_t kMaxLengthDigits = 18;  // fits into 64 bits

constexpr int kBadRequest = 400, kAddressTooLong = 414, kHeadTooLarge = 431, kVersionUnknown = 505;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool has_control(string_view text) { return std::ranges::any_of(text, is_control); }

/// The text before the first `end`, which is taken off with it; all of it without one.
string_view take_until(string_view& text, string_view end) {
  const std::size_t at = text.find(end);
  const string_view taken = text.substr(0, at);
  text = at == string_view::npos ? string_view() : text.substr(at + end.size());
  return taken;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Without its percent signs; nothing where one is not followed by two digits.
std::optional<std::string> decoded(string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

/// "a=1&b=2"; false where it cannot be read.
bool read_query(string_view text, Fields& query) {
  while (!text.empty()) {
    string_view value = take_until(text, "&");
    const string_view name = take_until(value, "=");
    auto plain_name = decoded(name, true), plain_value = decoded(value, true);
    if (!plain_name || !plain_value || query.size() == kMaxHeadFields) return false;
    if (!plain_name->empty()) query.emplace_back(*std::move(plain_name), *std::move(plain_value));
  }
  return true;
}

/// "/path?query"; false where it cannot be read.
bool read_address(string_view address, HttpRequest& request) {
  const bool printable = std::ranges::all_of(address, [](char c) { return c > ' ' && c < 0x7f; });
  if (!address.starts_with('/') || !printable) return false;
  auto path = decoded(take_until(address, "?"), false);
  if (!path || has_control(*path)) return false;
  request.path = *std::move(path);
  return read_query(address, request.query);
}

/// "GET /path?query HTTP/1.1"; 0, or the status of what is wrong.
int read_request_line(string_view line, HttpRequest& request) {
  const string_view method = take_until(line, " "), address = take_until(line, " ");
  const bool word = std::ranges::all_of(method, [](char c) { return c >= 'A' && c <= 'Z'; });
  if (method.empty() || !word || !read_address(address, request)) return kBadRequest;
  request.method = method;
  if (line == "HTTP/1.1" || line == "HTTP/1.0") return 0;
  return line.starts_with("HTTP/") ? kVersionUnknown : kBadRequest;
}

/// The characters of a token in RFC 9110.
bool is_token(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || string_view("!#$%&'*+-.^_`|~").find(c) != string_view::npos;
}

std::string lower(string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// "Name: value"; false where it cannot be read, also where it continues the line before.
bool read_header(string_view line, Fields& headers) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == string_view::npos) return false;
  const string_view name = line.substr(0, colon);
  string_view value = line.substr(colon + 1);
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!value.empty() && blank(value.front())) value.remove_prefix(1);
  while (!value.empty() && blank(value.back())) value.remove_suffix(1);
  const bool plain = std::ranges::all_of(value, [](char c) { return c == '\t' || !is_control(c); });
  if (!plain || !std::ranges::all_of(name, is_token)) return false;
  headers.emplace_back(lower(name), value);
  return true;
}

/// No request has a body that is read; one whose length cannot be known is none of HTTP, or hides another request.
bool says_length_plainly(const Fields& headers) {
  if (find_field(headers, "transfer-encoding")) return false;
  if (std::ranges::count(headers, "content-length", &Fields::value_type::first) > 1) return false;
  const std::string_view length = find_field(headers, "content-length").value_or("0");
  return !length.empty() && length.size() <= kMaxLengthDigits &&
         std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; });
}

/// A line that ends without its carriage return, so that the head might never end.
bool has_bare_line_end(string_view head) {
  for (std::size_t at = head.find('\n'); at != string_view::npos; at = head.find('\n', at + 1))
    if (at == 0 || head[at - 1] != '\r') return true;
  return false;
}

/// A whole head, without the empty line at its end.
ReadRequest read_head(string_view head) {
  HttpRequest request;
  if (const int status = read_request_line(take_until(head, kLineEnd), request); status != 0) return status;
  while (!head.empty()) {
    if (request.headers.size() == kMaxHeadFields) return kHeadTooLarge;
    if (!read_header(take_until(head, kLineEnd), request.headers)) return kBadRequest;
  }
  const auto hosts = std::ranges::count(request.headers, "host", &Fields::value_type::first);
  if (hosts > 1 || !says_length_plainly(request.headers)) return kBadRequest;
  return request;
}

}  // namespace

std::optional<string_view> find_field(const Fields& fields, string_view name) {
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  return found == fields.end() ? std::nullopt : std::optional<string_view>(found->second);
}

std::optional<ReadRequest> RequestReader::feed(string_view bytes) {
  const std::size_t room = kMaxHeadBytes - head_.size();
  head_ += bytes.substr(0, room);
  const std::size_t line = head_.find(kLineEnd), end = head_.find(kHeadEnd);
  if (std::min(line, head_.size()) > kMaxRequestLineBytes) return kAddressTooLong;
  if (has_bare_line_end(string_view(head_).substr(0, end))) return kBadRequest;
  if (end != std::string::npos) return read_head(string_view(head_).substr(0, end));
  if (bytes.size() >= room) return kHeadTooLarge;
  return std::nullopt;
}

}  // namespace ak::dashboard
