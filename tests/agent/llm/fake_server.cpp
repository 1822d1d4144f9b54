// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/llm/fake_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <charconv>

namespace ak::agent::test {
namespace {

constexpr int kPollMs = 10;

/// Bytes that follow the head, by its content-length.
std::size_t body_length(const std::string& head) {
  const std::string name = "Content-Length: ";
  const std::size_t at = head.find(name);
  std::size_t length = 0;
  if (at != std::string::npos)
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), length);
  return length;
}

std::string read_request(int connection, const std::atomic<bool>& stop) {
  std::string request;
  std::array<char, 65536> buffer;
  while (!stop.load()) {
    const std::size_t head = request.find("\r\n\r\n");
    if (head != std::string::npos && request.size() >= head + 4 + body_length(request.substr(0, head))) break;
    pollfd ready{connection, POLLIN, 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t got = recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    request.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return request;
}

bool send_all(int connection, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = send(connection, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool client_is_there(int connection) {
  pollfd ready{connection, POLLIN | POLLRDHUP, 0};
  return poll(&ready, 1, kPollMs) == 0;
}

}  // namespace

FakeServer::FakeServer(std::vector<Script> scripts)
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), scripts_(std::move(scripts)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener_.get(), 8) == 0);
  REQUIRE(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FakeServer::~FakeServer() {
  stop_ = true;
  thread_.join();
}

std::string FakeServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<std::string> FakeServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeServer::serve() {
  for (std::size_t number = 0; !stop_.load();) {
    pollfd ready{listener_.get(), POLLIN, 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    const FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const Script& script = scripts_[std::min(number++, scripts_.size() - 1)];
    std::string request = script.at_once ? "" : read_request(connection.get(), stop_);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    answer(connection.get(), script);
  }
}

void FakeServer::answer(int connection, const Script& script) {
  bool there = true;
  const auto deliver = [&](const Piece& piece) {
    const auto until = std::chrono::steady_clock::now() + piece.pause;
    while (there && !stop_.load() && std::chrono::steady_clock::now() < until)
      there = client_is_there(connection);
    there = there && send_all(connection, piece.bytes);
  };
  for (const Piece& piece : script.pieces) deliver(piece);
  while (script.endless && there && !stop_.load()) deliver(script.pieces.back());
  while (script.end == Script::End::hold && there && !stop_.load()) there = client_is_there(connection);
  if (script.end == Script::End::reset) {
    const linger at_once{1, 0};
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
}

std::string response(int status, const std::string& body, const std::string& extra_headers,
                     const std::string& type) {
  return fmt::format(
      "HTTP/1.1 {} Status\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}", status,
      type, body.size(), extra_headers, body);
}

std::string stream_head() {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nrequest-id: req_42\r\n"
         "Connection: close\r\n\r\n";
}

std::string body_of(const std::string& request) {
  const std::size_t head = request.find("\r\n\r\n");
  return head == std::string::npos ? "" : request.substr(head + 4);
}

}  // namespace ak::agent::test
