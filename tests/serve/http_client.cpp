// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/http_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace ak::testing {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

HttpClient::HttpClient(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no one listens at port " + std::to_string(port));
}

void HttpClient::send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t size = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) return;  // the server has had enough: a test sees that where it reads
    sent += static_cast<std::size_t>(size);
  }
}

bool HttpClient::fill(milliseconds limit) {
  pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(std::max(milliseconds(0), limit).count())) <= 0) return false;
  char bytes[65536];
  const ssize_t size = recv(socket_.get(), bytes, sizeof bytes, 0);
  if (size <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(size));
  return true;
}

HttpReply HttpClient::receive(bool head_only) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill(kPatience)) return {};
  }
  HttpReply reply;
  reply.status = std::stoi(buffer_.substr(buffer_.find(' ') + 1));
  for (std::size_t at = buffer_.find("\r\n") + 2; at < end;) {
    const std::size_t line_end = buffer_.find("\r\n", at);
    const std::size_t colon = buffer_.find(": ", at);
    std::string name = buffer_.substr(at, colon - at);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = buffer_.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  buffer_.erase(0, end + 4);
  const auto length = reply.headers.find("content-length");
  if (head_only || length == reply.headers.end()) return reply;
  while (buffer_.size() < std::stoul(length->second)) {
    if (!fill(kPatience)) break;
  }
  reply.body = buffer_.substr(0, std::stoul(length->second));
  buffer_.erase(0, reply.body.size());
  return reply;
}

std::string HttpClient::read_until(const std::string& text, milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  while (buffer_.find(text) == std::string::npos) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0 || !fill(left)) break;
  }
  return std::exchange(buffer_, "");
}

bool HttpClient::is_closed() {
  const auto deadline = out_of_patience();
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return false;
    if (!fill(left)) return true;
  }
}

std::string get_request(std::uint16_t port, const std::string& path,
                        const std::map<std::string, std::string>& headers) {
  std::string request = fmt::format("GET {} HTTP/1.1\r\n", path);
  if (!headers.contains("Host")) request += fmt::format("Host: 127.0.0.1:{}\r\n", port);
  for (const auto& [name, value] : headers) request += fmt::format("{}: {}\r\n", name, value);
  return request + "\r\n";
}

HttpReply get(std::uint16_t port, const std::string& path,
              const std::map<std::string, std::string>& headers) {
  HttpClient client(port);
  client.send(get_request(port, path, headers));
  return client.receive();
}

}  // namespace ak::testing
