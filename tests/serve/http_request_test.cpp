// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/http_request.h"

#include <catch2/catch.hpp>
#include <string>

namespace ak::dashboard {
namespace {

constexpr int kUnanswered = 0, kAccepted = 200;

/// 200 for a request, the status that refuses it, or 0 where more bytes are waited for.
int status_of(std::string_view bytes) {
  RequestReader reader;
  const auto read = reader.feed(bytes);
  if (!read) return kUnanswered;
  const int* refused = std::get_if<int>(&*read);
  return refused ? *refused : kAccepted;
}

std::string with_headers(const std::string& headers) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}

}  // namespace

TEST_CASE("a request is read as soon as its head is whole") {
  CHECK(status_of(with_headers("")) == kAccepted);
  CHECK(status_of(with_headers("Content-Length: 0\r\n")) == kAccepted);
  CHECK(status_of(with_headers("Content-Length: 5\r\n") + "12345") == kAccepted);
  CHECK(status_of(with_headers("") + "a body\nwith lines") == kAccepted);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r") == kUnanswered);
  CHECK(status_of("GET /") == kUnanswered);
}

TEST_CASE("a request whose length cannot be known is refused") {
  for (const char* headers :
       {"Content-Length: -1\r\n", "Content-Length:\r\n", "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n",
        "Content-Length: 0x10\r\n", "Content-Length: 99999999999999999999\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5\r\ncontent-length: 6\r\n",
        "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\nContent-Length: 5\r\n"}) {
    INFO(headers);
    CHECK(status_of(with_headers(headers)) == 400);
  }
}

TEST_CASE("a line that ends without a carriage return is refused at once") {
  for (const char* bytes : {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\nHost: a\n\n",
                            "GET / HTTP/1.1\r\nHost: a\nX: b", "GET / HTTP/1.1\r\nHost: a\r\n\n"}) {
    INFO(bytes);
    CHECK(status_of(bytes) == 400);
  }
  RequestReader reader;
  CHECK_FALSE(reader.feed("GET / HTTP/1.1\r"));  // the pair may come in two pieces
  CHECK_FALSE(reader.feed("\nHost: a\r"));
  CHECK(reader.feed("\n\r\n"));
}

TEST_CASE("what is no request of HTTP is refused with the status that says so") {
  const std::string rest = " HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const auto& [bytes, status] : std::initializer_list<std::pair<std::string, int>>{
           {"get /" + rest, 400},
           {"GET  /" + rest, 400},
           {"GET a" + rest, 400},
           {"GET /%0" + rest, 400},
           {"GET /%00" + rest, 400},
           {"GET http://a/" + rest, 400},
           {"GET / HTTP/9.9\r\n\r\n", 505},
           {"GET / HTTQ/1.1\r\n\r\n", 400},
           {"GET /\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
           {"GET / HTTP/1.1\r\nA\x01: b\r\n\r\n", 400},
           {"GET /" + std::string(kMaxRequestLineBytes, 'a'), 414},
           {"GET / HTTP/1.1\r\nA: " + std::string(kMaxHeadBytes, 'a'), 431}}) {
    INFO(bytes.substr(0, 60));
    CHECK(status_of(bytes) == status);
  }
}

}  // namespace ak::dashboard
