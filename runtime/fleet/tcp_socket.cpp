// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/tcp_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace ak::runtime {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
// Workers that connect at the same moment; the others try again.
constexpr int kBacklog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses addresses_of(const FleetAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (status != 0)
    fail(ExitCode::environment, "{} is no address: {}", to_string(address), ::gai_strerror(status));
  return {found, ::freeaddrinfo};
}

void set(const FileDescriptor& socket, int level, int option, int value = 1) {
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

FileDescriptor open_socket(const addrinfo& address) {
  return FileDescriptor(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol));
}

/// Listens at one address; where that fails errno says why.
FileDescriptor listen_at(const addrinfo& address, bool shared) {
  FileDescriptor listening = open_socket(address);
  if (!listening) return listening;
  set(listening, SOL_SOCKET, SO_REUSEADDR);
  if (shared) set(listening, SOL_SOCKET, SO_REUSEPORT);
  // A connection may be gone again, or another process's, when it is accepted.
  ::fcntl(listening.get(), F_SETFL, O_NONBLOCK);
  if (::bind(listening.get(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(listening.get(), kBacklog) == 0)
    return listening;
  const int reason = errno;
  listening.reset();
  errno = reason;
  return listening;
}

/// This machine has no such address. One that another run listens at is not passed over.
bool has_no_such_address(int reason) { return reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT; }

bool is_port(const std::string& text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string::npos &&
         std::stoi(text) >= 1 && std::stoi(text) <= 65'535;
}

}  // namespace

FleetAddress parse_fleet_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  FleetAddress address{.host = colon == std::string::npos ? kLoopback : text.substr(0, colon),
                       .port = colon == std::string::npos ? text : text.substr(colon + 1)};
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty() || !is_port(address.port))
    fail(ExitCode::usage, "'{}' is no address: expected HOST:PORT, such as 127.0.0.1:7777, or a port", text);
  return address;
}

std::string to_string(const FleetAddress& address) {
  return address.host.find(':') == std::string::npos ? address.host + ":" + address.port
                                                     : "[" + address.host + "]:" + address.port;
}

FileDescriptor listen_on(const FleetAddress& address, bool shared) {
  const Addresses found = addresses_of(address, AI_PASSIVE);
  int reason = EADDRNOTAVAIL;
  for (const addrinfo* one = found.get(); one != nullptr && has_no_such_address(reason); one = one->ai_next) {
    FileDescriptor listening = listen_at(*one, shared);
    if (listening) return listening;
    reason = errno;
  }
  if (reason == EADDRINUSE)
    fail(ExitCode::environment,
         "listening on {}: the port is taken, by another search or another program: end that first, or name "
         "another port",
         to_string(address));
  fail(ExitCode::environment, "listening on {}: {}", to_string(address), std::strerror(reason));
}

// Whoever listens alone has the port, also of two that ask at once. What has then stopped listening is still bound to
// it, and lets in those alone that share it.
FileDescriptor claim_address(const FleetAddress& address) {
  FileDescriptor claim = listen_on(address, false);
  set(claim, SOL_SOCKET, SO_REUSEPORT);
  set(claim, SOL_SOCKET, SO_REUSEADDR, 0);
  ::shutdown(claim.get(), SHUT_RD);
  return claim;
}

FileDescriptor accept_at(const FileDescriptor& listening) {
  FileDescriptor socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket) set(socket, IPPROTO_TCP, TCP_NODELAY);
  return socket;
}

std::string peer_of(const FileDescriptor& connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> host{};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(connection.get(), generic, &size) != 0 ||
      ::getnameinfo(generic, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return host.data();
}

FileDescriptor connect_to(const FleetAddress& address) {
  const Addresses found = addresses_of(address, 0);
  int reason = 0;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    FileDescriptor socket = open_socket(*one);
    if (socket && ::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) {
      set(socket, IPPROTO_TCP, TCP_NODELAY);
      return socket;
    }
    reason = errno;
  }
  fail(ExitCode::environment, "connecting to {}: {}", to_string(address), std::strerror(reason));
}

int port_of(const FileDescriptor& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  AK_ASSERT(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
            "a listening socket has an address");
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace ak::runtime
