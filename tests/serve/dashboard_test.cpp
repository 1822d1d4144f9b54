// SPDX-License-Identifier: Apache-2.0
// The dashboard's server without its pages: who is let in, what is refused, and that no one can hold it up.
#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <thread>

#include "core/error.h"
#include "serve/dashboard/dashboard_server.h"
#include "tests/serve/http_client.h"
#include "tests/support/patience.h"

namespace ak::dashboard {
namespace {

using ak::testing::get;
using ak::testing::get_request;
using ak::testing::HttpClient;
using ak::testing::HttpReply;
using ak::testing::in_the_end;
using ak::testing::kPatience;
using namespace std::chrono_literals;
using Headers = std::map<std::string, std::string>;

constexpr const char* kToken = "00112233445566778899aabbccddeeff";
constexpr const char* kMetricsToken = "fedcba98765432100123456789abcdef";

std::atomic<bool> slow_page_under_way{false};

/// Shows what it was asked for; "/slow" takes half a second, "/broken" throws, "/long" is 32 MiB.
PageResponse sample_pages(const PageRequest& request) {
  if (request.path == "/slow") {
    slow_page_under_way = true;
    std::this_thread::sleep_for(500ms);
  }
  if (request.path == "/broken") fail(ExitCode::database, "the disk is <full>");
  // More than sockets hold of an answer that no one takes.
  if (request.path == "/long") return {.body = std::string(32 << 20, 'x')};
  if (request.path == "/missing") return {.status = 404, .body = "nothing"};
  std::string body = "page " + request.path;
  for (const auto& [name, value] : request.query) body += fmt::format(" {}={}", name, value);
  return {.body = body};
}

/// A server on a free port, running on its own thread.
class RunningServer {
 public:
  explicit RunningServer(ServerLimits limits = {})
      : service_({.pages = sample_pages,
                  .assets = {{"page.css", {.type = "text/css", .body = "a{}"}}},
                  .style_sources = "'sha256-abc'",
                  .token = kToken,
                  .metrics_token = kMetricsToken}),
        server_(service_, 0, limits) {
    service_.set_port(port());
    thread_ = std::thread([this] { server_.run(stop_); });
  }
  ~RunningServer() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return server_.port(); }
  HttpServer& server() { return server_; }
  std::string url() const { return service_.url(); }
  /// The headers of one who was let in.
  Headers cookie() const { return {{"Cookie", fmt::format("a=b; alphakernel_{}={}", port(), kToken)}}; }
  Headers cookie_and(const std::string& name, const std::string& value) const {
    Headers headers = cookie();
    headers[name] = value;
    return headers;
  }

 private:
  DashboardService service_;
  HttpServer server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Few connections, and as much time for each as it takes.
ServerLimits narrow() {
  return {.threads = 6, .streams = 2, .read_time = kPatience, .write_time = kPatience, .heartbeat = 200ms};
}

/// The same, with little time to send a request.
ServerLimits hurried() {
  ServerLimits limits = narrow();
  limits.read_time = 300ms;
  return limits;
}

/// A page is shown. Where this machine is too slow for the server's limits, the next request may be in time.
bool is_served(const RunningServer& running) {
  return in_the_end([&] { return get(running.port(), "/", running.cookie()).status == 200; });
}

TEST_CASE("the address with the token sets a cookie that scripts and other sites do not see, and is left") {
  RunningServer running;
  const HttpReply reply = get(running.port(), fmt::format("/?token={}", kToken));
  CHECK(reply.status == 303);
  CHECK(reply.headers.at("location") == "/");
  const std::string cookie = reply.headers.at("set-cookie");
  CHECK_THAT(cookie, Catch::StartsWith(fmt::format("alphakernel_{}={};", running.port(), kToken)));
  CHECK_THAT(cookie, Catch::Contains("HttpOnly") && Catch::Contains("SameSite=Strict"));
  CHECK(running.url() == fmt::format("http://127.0.0.1:{}/?token={}", running.port(), kToken));
}

TEST_CASE("a program reads /metrics with a token in its header, and nothing else") {
  RunningServer running;
  const auto bearer = [](const std::string& token) { return Headers{{"Authorization", "Bearer " + token}}; };
  for (const char* token : {kToken, kMetricsToken})
    CHECK(get(running.port(), "/metrics", bearer(token)).status == 200);
  CHECK(get(running.port(), "/metrics", running.cookie()).status == 200);
  for (const std::string& wrong : {std::string("fedcba98765432100123456789abcdee"), std::string()})
    CHECK(get(running.port(), "/metrics", bearer(wrong)).status == 403);
  CHECK(get(running.port(), "/metrics").status == 403);
  CHECK(get(running.port(), "/", bearer(kMetricsToken)).status == 403);
}

TEST_CASE("without the cookie nothing is shown, with it pages, files and events are") {
  RunningServer running;
  for (const char* path : {"/", "/search?search=1", "/assets/page.css", "/events", "/favicon.ico"})
    CHECK(get(running.port(), path).status == 403);
  CHECK(get(running.port(), "/?token=00112233445566778899aabbccddeefe").status == 403);
  CHECK(get(running.port(), "/?token=").status == 403);
  CHECK(get(running.port(), "/", {{"Cookie", fmt::format("alphakernel_{}=x", running.port())}}).status ==
        403);
  CHECK(get(running.port(), "/", {{"Cookie", fmt::format("xalphakernel_{}={}", running.port(), kToken)}})
            .status == 403);
  const HttpReply page = get(running.port(), "/search?search=1&q=a+%3Cb%3E&q=other", running.cookie());
  CHECK(page.status == 200);
  CHECK(page.body == "page /search q=a <b> search=1");
  CHECK(get(running.port(), "/assets/page.css", running.cookie()).headers.at("content-type") == "text/css");
  CHECK(get(running.port(), "/assets/../secret", running.cookie()).status == 404);
  CHECK(get(running.port(), "/missing", running.cookie()).status == 404);
}

TEST_CASE("a token is 128 random bits") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string token = random_token();
    CHECK(token.size() == 32);
    CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
    seen.insert(token);
  }
  CHECK(seen.size() == 100);
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abd"));
  CHECK_FALSE(equal_in_constant_time("abc", "ab"));
}

TEST_CASE("every page says that only its own scripts and styles may run, and that no one keeps it") {
  RunningServer running;
  for (const char* path : {"/", "/missing", "/broken"}) {
    const HttpReply page = get(running.port(), path, running.cookie());
    CHECK(page.headers.at("content-security-policy") ==
          "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-abc'; img-src 'self' data:; "
          "connect-src "
          "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    CHECK(page.headers.at("x-content-type-options") == "nosniff");
    CHECK(page.headers.at("referrer-policy") == "no-referrer");
    CHECK(page.headers.at("cache-control") == "no-store");
    CHECK(page.headers.at("cross-origin-opener-policy") == "same-origin");
    CHECK(page.headers.at("cross-origin-resource-policy") == "same-origin");
    CHECK_FALSE(page.headers.contains("access-control-allow-origin"));
  }
}

TEST_CASE("requests by another name or from another page are refused, also with the cookie") {
  RunningServer running;
  const std::uint16_t port = running.port();
  const auto status = [&](const std::string& name, const std::string& value) {
    return get(port, "/", running.cookie_and(name, value)).status;
  };
  CHECK(status("Host", fmt::format("localhost:{}", port)) == 200);
  CHECK(status("Host", "evil.example") == 421);
  CHECK(status("Host", fmt::format("evil.example:{}", port)) == 421);
  CHECK(status("Host", "127.0.0.1") == 421);
  CHECK(status("Host", fmt::format("127.0.0.1:{}", port + 1)) == 421);
  CHECK(status("Origin", fmt::format("http://127.0.0.1:{}", port)) == 200);
  CHECK(status("Origin", "http://evil.example") == 403);
  CHECK(status("Origin", "null") == 403);
  CHECK(status("Sec-Fetch-Site", "same-origin") == 200);
  Headers loading = running.cookie_and("Sec-Fetch-Site", "same-site");
  loading["Sec-Fetch-Mode"] = "no-cors";
  CHECK(get(port, "/", loading).status == 403);
  HttpClient nameless(port);
  nameless.send("GET / HTTP/1.1\r\n\r\n");
  CHECK(nameless.receive().status == 421);
}

TEST_CASE("only what reads is answered, and bodies are not taken") {
  RunningServer running;
  const std::string rest = fmt::format(" / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: alphakernel_{}={}\r\n",
                                       running.port(), running.port(), kToken);
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"}) {
    HttpClient client(running.port());
    client.send(method + rest + "\r\n");
    const HttpReply reply = client.receive();
    CHECK(reply.status == 405);
    CHECK(reply.headers.at("allow") == "GET, HEAD");
  }
  {
    // No one reads the body, and it is not taken for a request either.
    HttpClient client(running.port());
    client.send("POST" + rest + "Content-Length: 200\r\n\r\n" +
                get_request(running.port(), "/", running.cookie()));
    CHECK(client.receive().status == 405);
    CHECK(client.is_closed());
  }
  HttpClient client(running.port());
  client.send("HEAD" + rest + "\r\n");
  const HttpReply head = client.receive(true);
  CHECK(head.status == 200);
  CHECK(head.headers.at("content-length") == "6");
  CHECK(client.is_closed());
}

TEST_CASE("requests that are too long or cannot be read are refused with nothing of ours in the answer") {
  RunningServer running;
  const auto reply = [&](const std::string& bytes) {
    HttpClient client(running.port());
    client.send(bytes);
    return client.receive();
  };
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", running.port());
  const HttpReply long_address = reply("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n" + host + "\r\n");
  CHECK(long_address.status == 414);
  CHECK(long_address.headers.at("content-security-policy").starts_with("default-src 'none'"));
  for (const std::string& bytes :
       {"GET / HTTP/1.1\r\n" + host + "A: " + std::string(20000, 'a') + "\r\n\r\n",
        std::string("GET /\r\n\r\n"), std::string("\r\n\r\n"), "GET / HTTP/2.0\r\n" + host + "\r\n",
        "GET /%00 HTTP/1.1\r\n" + host + "\r\n", "GET /%0a HTTP/1.1\r\n" + host + "\r\n",
        "GET / HTTP/1.1\r\n" + host + host + "\r\n"}) {
    CAPTURE(bytes.substr(0, 60));
    const int status = reply(bytes).status;
    CHECK((status == 0 || status >= 400));
  }
}

TEST_CASE("bytes that are no request never harm the server") {
  RunningServer running(hurried());
  std::mt19937 random(7);
  const std::string good = get_request(running.port(), "/a?b=c", running.cookie());
  for (int i = 0; i < 100; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (i % 3 == 0) bytes.resize(random() % bytes.size());
    HttpClient client(running.port());
    client.send(bytes);
  }
  CHECK(is_served(running));
}

TEST_CASE("a page that cannot be made is a sentence as text, never markup") {
  RunningServer running;
  const HttpReply reply = get(running.port(), "/broken", running.cookie());
  CHECK(reply.status == 503);
  CHECK(reply.body == "the disk is <full>\n");
  CHECK(reply.headers.at("content-type") == "text/plain; charset=utf-8");
}

TEST_CASE("clients that hold connections without a word are closed, and then others are served") {
  RunningServer running(hurried());
  std::vector<HttpClient> silent;
  for (int i = 0; i < 12; ++i) silent.emplace_back(running.port());
  for (std::size_t i = 0; i < silent.size(); i += 2) silent[i].send("GET / HT");
  CHECK(is_served(running));
  for (HttpClient& client : silent) CHECK(client.is_closed());
}

TEST_CASE("two hundred clients that never end their request hold up no one, and are closed in time") {
  RunningServer running;
  std::vector<HttpClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(running.port());
    slow.back().send("GET / HTTP/1.1\r\nX-Slow: ");
  }
  CHECK(is_served(running));
  for (HttpClient& client : slow) CHECK(client.is_closed());
}

TEST_CASE("where all connections are taken, the oldest without a request makes room") {
  ServerLimits limits = narrow();
  limits.connections = 20;
  RunningServer running(limits);
  HttpClient stream(running.port());
  stream.send(get_request(running.port(), "/events", running.cookie()));
  CHECK(stream.receive().status == 200);
  std::vector<HttpClient> slow;
  for (int i = 0; i < 40; ++i) {
    slow.emplace_back(running.port());
    slow.back().send("GET / HT");
  }
  CHECK(get(running.port(), "/", running.cookie()).status == 200);
  for (std::size_t i = 0; i < 20; ++i) CHECK(slow[i].is_closed());
  running.server().broadcast(change_event(6));
  CHECK_THAT(stream.read_until("data: 6\n\n"), Catch::Contains("event: change"));
}

TEST_CASE("the time for a request is that of the whole head, not of its next bytes") {
  RunningServer running(hurried());
  HttpClient client(running.port());
  client.send("GET / HTTP/1.1\r\n");
  std::atomic<bool> closed{false};
  std::thread drip([&] {
    for (int i = 0; !closed; ++i) {
      client.send(fmt::format("X-{}: 1\r\n", i % 10));
      std::this_thread::sleep_for(20ms);
    }
  });
  // Its last bytes may reset the connection before the answer is read.
  const int status = client.receive().status;
  closed = true;
  drip.join();
  CHECK((status == 408 || status == 0));
}

TEST_CASE("headers without end are refused as soon as there are too many") {
  RunningServer running(narrow());
  HttpClient many(running.port());
  std::string head = fmt::format("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", running.port());
  for (int i = 0; i < 101; ++i) head += fmt::format("X-{}: 1\r\n", i);
  many.send(head + "\r\n");
  CHECK(many.receive().status == 431);
  HttpClient large(running.port());
  large.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 17; ++i) large.send("X: " + std::string(1024, 'a') + "\r\n");  // without its end
  CHECK(large.receive().status == 431);
  CHECK(large.is_closed());
}

TEST_CASE("clients that do not take their pages delay others for a while, and end nothing") {
  ServerLimits limits = narrow();
  limits.requests = 2;
  limits.write_time = 300ms;
  RunningServer running(limits);
  std::vector<HttpClient> idle;
  for (int i = 0; i < 2; ++i) {
    idle.emplace_back(running.port());
    idle.back().send(get_request(running.port(), "/long", running.cookie()));
  }
  CHECK(is_served(running));
  // What needs no page is answered always.
  CHECK(get(running.port(), "/assets/page.css", running.cookie()).status == 200);
}

TEST_CASE("streams hear of every change at once, no more than the limit are open, and pages still come") {
  RunningServer running(narrow());
  std::vector<HttpClient> streams;
  for (int i = 0; i < 3; ++i) {
    streams.emplace_back(running.port());
    streams.back().send(get_request(running.port(), "/events", running.cookie()));
    const HttpReply reply = streams.back().receive();
    CHECK(reply.status == (i < 2 ? 200 : 503));
    if (i < 2) CHECK(reply.headers.at("content-type") == "text/event-stream");
  }
  running.server().broadcast(change_event(5));
  for (int i = 0; i < 2; ++i)
    CHECK_THAT(streams[static_cast<std::size_t>(i)].read_until("data: 5\n\n"),
               Catch::Contains("event: change"));
  CHECK_THAT(streams[0].read_until("still here"), Catch::Contains("still here"));
  CHECK(get(running.port(), "/", running.cookie()).status == 200);
  CHECK(running.server().streams() == 2);
  streams.clear();
  CHECK(in_the_end([&] { return running.server().streams() == 0; }));
}

TEST_CASE("a stop closes open streams and pages in progress, and leaves no thread") {
  // None of the limits is waited for.
  RunningServer running({.read_time = 24h, .write_time = 24h, .heartbeat = 24h});
  HttpClient stream(running.port()), slow(running.port());
  stream.send(get_request(running.port(), "/events", running.cookie()));
  CHECK(stream.receive().status == 200);
  slow.send(get_request(running.port(), "/slow", running.cookie()));
  REQUIRE(in_the_end([] { return slow_page_under_way.load(); }));
  running.end();
  CHECK(stream.is_closed());
  CHECK(slow.is_closed());
  CHECK_THROWS(HttpClient(running.port()));
}

TEST_CASE("a port that is taken is an error with a way out") {
  RunningServer running;
  DashboardService service({.pages = sample_pages, .token = kToken});
  CHECK_THROWS_WITH(HttpServer(service, running.port()), Catch::Contains("--port 0 takes a free port"));
}

}  // namespace
}  // namespace ak::dashboard
