// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/dashboard_server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace ak::dashboard {
namespace {

constexpr std::string_view kAssets = "/assets/";

/// Sent with everything. Nothing of ours belongs into a page, a cache or a window of anyone else.
const Fields& common_headers() {
  static const Fields kFields{{"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"X-Frame-Options", "DENY"},
                              {"Cross-Origin-Opener-Policy", "same-origin"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"}};
  return kFields;
}

struct Refusal {
  int status;
  std::string_view sentence;
};
constexpr std::array kRefusals{
    Refusal{400, "The request could not be read."},
    Refusal{403,
            "This dashboard is private. Open the address that `alphakernel dashboard` printed when it "
            "started; if you came here from it, reload the page."},
    Refusal{404, "There is no such page. The first page is at /."},
    Refusal{405, "Only GET and HEAD are answered: nothing can be changed here."},
    Refusal{408, "The request took too long to arrive. Reload the page."},
    Refusal{414, "The address is too long. Ask for less text."},
    Refusal{421, "The dashboard answers only at 127.0.0.1 and localhost with its own port."},
    Refusal{431, "The request has more headers than a browser sends. Delete the cookies of this address."},
    Refusal{505, "The dashboard speaks HTTP/1.1."},
    Refusal{503, "Too many requests are in progress. Reload the page in a moment."}};

std::string_view sentence_of(int status) {
  for (const Refusal& entry : kRefusals) {
    if (entry.status == status) return entry.sentence;
  }
  return "The request was not answered.";
}

/// The value of a cookie in a Cookie header "a=1; b=2".
std::string_view cookie_value(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t end = header.find(';');
    std::string_view pair = header.substr(0, end);
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
      return pair.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail(ExitCode::environment, "drawing a random token: {}", std::strerror(errno));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;  // volatile: no comparison may end early
  for (std::size_t i = 0; i < left.size(); ++i)
    difference = static_cast<unsigned char>(difference | (left[i] ^ right[i]));
  return difference == 0;
}

std::string content_security_policy(std::string_view style_sources) {
  return fmt::format(
      "default-src 'none'; script-src 'self'; style-src 'self'{}{}; img-src 'self' data:; connect-src "
      "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      style_sources.empty() ? "" : " ", style_sources);
}

std::string change_event(std::int64_t version) { return fmt::format("event: change\ndata: {}\n\n", version); }

DashboardService::DashboardService(Parts parts)
    : parts_(std::move(parts)), policy_(content_security_policy(parts_.style_sources)) {}

void DashboardService::set_port(std::uint16_t port) { port_ = port; }

std::string DashboardService::url() const {
  return fmt::format("http://127.0.0.1:{}/?token={}", port_, parts_.token);
}

HttpResponse DashboardService::page(int status, std::string type, std::string body) const {
  HttpResponse response{.status = status, .type = std::move(type), .body = std::move(body)};
  response.headers = common_headers();
  response.headers.emplace_back("Content-Security-Policy", policy_);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

HttpResponse DashboardService::refusal(int status) {
  HttpResponse response = page(status, "text/plain; charset=utf-8", fmt::format("{}\n", sentence_of(status)));
  if (status == 405) response.headers.emplace_back("Allow", "GET, HEAD");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

/// 0, or the status for a request that came by another name (a name that someone else's DNS gave to this
/// machine) or from a page that is not ours.
int DashboardService::misdirected(const HttpRequest& request) const {
  const std::string_view host = find_field(request.headers, "host").value_or("");
  if (host != fmt::format("127.0.0.1:{}", port_) && host != fmt::format("localhost:{}", port_)) return 421;
  const auto origin = find_field(request.headers, "origin");
  if (origin && *origin != fmt::format("http://{}", host)) return 403;
  // Servers at other ports of this machine are of the same site, and the cookie goes with what they make the
  // browser load. They may link to a page, not load one.
  const std::string_view site = find_field(request.headers, "sec-fetch-site").value_or("none");
  const std::string_view mode = find_field(request.headers, "sec-fetch-mode").value_or("navigate");
  return site == "same-origin" || site == "none" || mode == "navigate" ? 0 : 403;
}

/// Cookies do not know ports: the name keeps dashboards on one machine apart.
bool DashboardService::has_cookie(const HttpRequest& request) const {
  const std::string name = fmt::format("alphakernel_{}", port_);
  return equal_in_constant_time(cookie_value(find_field(request.headers, "cookie").value_or(""), name),
                                parts_.token);
}

/// A program that collects metrics has no cookie.
bool DashboardService::may_read_metrics(const HttpRequest& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view said = find_field(request.headers, "authorization").value_or("");
  if (request.path != kMetricsPath || !said.starts_with(kBearer)) return false;
  said.remove_prefix(kBearer.size());
  return equal_in_constant_time(said, parts_.token) ||
         (!parts_.metrics_token.empty() && equal_in_constant_time(said, parts_.metrics_token));
}

HttpResponse DashboardService::let_in() const {
  HttpResponse response = page(303, "text/plain; charset=utf-8", "The dashboard is at /.\n");
  response.headers.emplace_back("Location", "/");
  response.headers.emplace_back(
      "Set-Cookie", fmt::format("alphakernel_{}={}; HttpOnly; SameSite=Strict; Path=/", port_, parts_.token));
  return response;
}

HttpResponse DashboardService::asset(std::string_view name) const {
  const auto found = parts_.assets.find(name);
  if (found == parts_.assets.end()) return page(404, "text/plain; charset=utf-8", "There is no such file.\n");
  HttpResponse response{.status = 200, .type = found->second.type, .body = std::string(found->second.body)};
  response.headers = common_headers();
  // The files are those of the program that serves: for another one the browser asks again after a minute.
  response.headers.emplace_back("Cache-Control", "private, max-age=60");
  return response;
}

HttpResponse DashboardService::make_page(const HttpRequest& request) {
  PageRequest wanted{.path = request.path, .query = {}};
  for (const auto& [name, value] : request.query) wanted.query.emplace(name, value);
  try {
    PageResponse made = parts_.pages(wanted);
    HttpResponse response = page(made.status, std::move(made.type), std::move(made.body));
    if (!made.location.empty()) response.headers.emplace_back("Location", std::move(made.location));
    return response;
  } catch (const std::exception& error) {
    return page(503, "text/plain; charset=utf-8", fmt::format("{}\n", error.what()));
  }
}

std::optional<HttpResponse> DashboardService::answer_at_once(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return refusal(405);
  if (const int status = misdirected(request); status != 0) return refusal(status);
  if (const auto token = find_field(request.query, "token"); token && request.path == "/")
    return equal_in_constant_time(*token, parts_.token) ? let_in() : refusal(403);
  if (!has_cookie(request) && !may_read_metrics(request)) return refusal(403);
  if (request.path == "/favicon.ico") return page(204, "image/x-icon", "");
  if (request.path == "/events") {
    HttpResponse response = page(200, "text/event-stream", "retry: 2000\n\n");
    response.stream = true;
    return response;
  }
  if (request.path.starts_with(kAssets)) return asset(std::string_view(request.path).substr(kAssets.size()));
  return std::nullopt;
}

}  // namespace ak::dashboard
