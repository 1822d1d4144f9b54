// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "serve/dashboard/http_server.h"

namespace ak::dashboard {

/// Where programs read figures of what runs (metrics.h).
inline constexpr std::string_view kMetricsPath = "/metrics";

/// A page that is asked for.
struct PageRequest {
  std::string path;                          ///< "/" or "/search": without the query
  std::map<std::string, std::string> query;  ///< values of the form and of links; the first of each name
};

/// A page, or a sentence why there is none.
struct PageResponse {
  int status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body = {};
  std::string location = {};  ///< where the page is, for status 308
};

/// Makes a page; called on several threads at once. May throw ak::Error, whose message is then shown as text.
using PageHandler = std::function<PageResponse(const PageRequest& request)>;

/// A file that pages refer to as /assets/NAME, by NAME.
struct Asset {
  std::string type;
  std::string_view body;  ///< outlives the service
};
using Assets = std::map<std::string, Asset, std::less<>>;

/// 128 bits from the system's source of randomness as 32 hexadecimal digits. Throws Error(environment).
[[nodiscard]] std::string random_token();

/// Compares in a time that says nothing of where two texts of one length differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view left, std::string_view right);

/// What the browser may load for a page. `style_sources`: "'sha256-...' ..." of inline styles that scripts
/// of ours add.
[[nodiscard]] std::string content_security_policy(std::string_view style_sources);

/// Who may ask, and for what: the pages of a database, to the one who has the token.
class DashboardService : public HttpService {
 public:
  struct Parts {
    PageHandler pages;
    Assets assets = {};
    std::string style_sources = {};
    std::string token;
    std::string metrics_token = {};  ///< lets a program ask for /metrics; empty: only `token` does
  };
  explicit DashboardService(Parts parts);

  /// Requests have to be addressed to 127.0.0.1 or localhost at this port. Set before the server runs.
  void set_port(std::uint16_t port);
  /// What opens the dashboard; holds the token.
  [[nodiscard]] std::string url() const;

  std::optional<HttpResponse> answer_at_once(const HttpRequest& request) override;
  HttpResponse make_page(const HttpRequest& request) override;
  HttpResponse refusal(int status) override;

 private:
  [[nodiscard]] int misdirected(const HttpRequest& request) const;
  [[nodiscard]] bool has_cookie(const HttpRequest& request) const;
  [[nodiscard]] bool may_read_metrics(const HttpRequest& request) const;
  [[nodiscard]] HttpResponse let_in() const;
  [[nodiscard]] HttpResponse asset(std::string_view name) const;
  [[nodiscard]] HttpResponse page(int status, std::string type, std::string body) const;

  const Parts parts_;
  const std::string policy_;
  std::uint16_t port_ = 0;
};

/// What the server sends to every stream when the database has changed.
[[nodiscard]] std::string change_event(std::int64_t version);

}  // namespace ak::dashboard
