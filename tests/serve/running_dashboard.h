// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/serve/http_client.h"
#include "tests/support/sandbox.h"

namespace ak::testing {

/// The program `alphakernel dashboard`, serving the database of a sandbox; its visitor has the cookie. Ends
/// with the object.
class Dashboard {
 public:
  /// Returns when the program listens. Pages have the patience of tests, unless `extra` has a --timeout.
  explicit Dashboard(const Sandbox& box, const std::vector<std::string>& extra = {});
  ~Dashboard();
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  [[nodiscard]] HttpReply get(const std::string& path) const;
  /// A connection on which the server sends its events.
  [[nodiscard]] HttpClient stream() const;
  /// The exit status as waitpid() gives it.
  int end(int signal_number);
  /// The most memory that the process has used, in KiB.
  [[nodiscard]] long peak_kib() const;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  pid_t pid_ = 0;
  std::uint16_t port_ = 0;
  std::map<std::string, std::string> headers_;
};

}  // namespace ak::testing
