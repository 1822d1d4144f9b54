// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/agent/llm/fake_server.h"

namespace ak::agent::test {

/// What hostile servers repeat: with characters that JSON, addresses and base64 write differently.
inline const std::string kHostileKey = "ak9Qm3xZr9TbLw5Kd2/VnYc8Hf4+Gs6Jp";
/// Clears the screen, sets the title, C1's CSI, turns the direction.
inline const std::string kEscapes =
    "\x1b[2J\x1b]0;owned\x07\xC2\x9B"
    "31m\xE2\x80\xAE";

/// A way in which a provider of Chat Completions may behave, and how a request to it ends.
struct HostileMode {
  std::string name;
  std::vector<Script> scripts;  ///< connection by connection
  std::string_view ends;        ///< "ok", or the name of a fault
  bool silent = false;          ///< nothing comes for longer than a short limit on silence
  bool tls = false;             ///< asked with https
};
/// @param other address of another server, which nothing may reach
[[nodiscard]] std::vector<HostileMode> hostile_modes(const std::string& other);

}  // namespace ak::agent::test
