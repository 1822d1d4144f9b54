// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/text/file.h"

namespace ak::runtime {

/// Where a controller listens for workers.
struct FleetAddress {
  std::string host, port;
};

/// "HOST:PORT", "[::1]:7777", or a port alone: of this machine's loopback. Port 0, which no other end would know, is
/// none. Throws Error(usage) saying what was expected.
[[nodiscard]] FleetAddress parse_fleet_address(const std::string& text);
[[nodiscard]] std::string to_string(const FleetAddress& address);

/// A socket that listens there, at the first of the host's addresses that this machine has. @param shared others of this
/// user may listen there, too, and each connection goes to one of them. Throws Error(environment) with the system's
/// reason, and with what to do where the port is taken.
[[nodiscard]] FileDescriptor listen_on(const FleetAddress& address, bool shared);

/// Keeps an address for those who listen there `shared` on this process's behalf, until it is closed: of those who claim
/// it one gets it. It takes no connection itself. Throws as listen_on() does.
[[nodiscard]] FileDescriptor claim_address(const FleetAddress& address);

/// A connection that waits at a listening socket; none where it has gone again. Never blocks.
[[nodiscard]] FileDescriptor accept_at(const FileDescriptor& listening);

/// The address of who is at the other end of a connection, without its port; empty where it has gone.
[[nodiscard]] std::string peer_of(const FileDescriptor& connection);

/// A connected socket. Throws Error(environment) with the system's reason.
[[nodiscard]] FileDescriptor connect_to(const FleetAddress& address);

/// The port that a listening socket was given, where it asked for any (0).
[[nodiscard]] int port_of(const FileDescriptor& listening);

}  // namespace ak::runtime
