// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "runtime/fleet/secure_stream.h"

namespace ak::runtime {

/// A sign of life goes out this often while nothing else does, and an end that has heard nothing for so long gives the
/// connection up.
inline constexpr std::chrono::milliseconds kRelayHeartbeat{1'000}, kRelaySilence{10'000};

/// Why a relay ended.
enum class RelayEnd {
  local,  ///< nothing more comes from here
  gone,   ///< the connection was closed; SecureStream::last() says whether in order
  silent
};

/// Moves bytes between a connection and this process's `in` and `out` until one of them ends; what came before that
/// arrives. Either may be slow: no more is taken than goes on. Throws Error(environment) for a frame that was not made
/// with the token.
[[nodiscard]] RelayEnd relay(SecureStream& stream, int in, int out);

}  // namespace ak::runtime
