// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ak::runtime {

/// Runs `action` once on every other thread of the process, in a signal handler, and returns when all have
/// done so: what the kernel offers for one thread at a time is had for all of them this way. To be called by
/// one thread at a time; the last real-time signal is used for it from then on.
/// @param action async-signal-safe; true when it did what it should.
/// @return threads where it was not done: they block the signal, did not answer within a second, or the
/// action failed.
[[nodiscard]] int run_on_other_threads(bool (*action)());

}  // namespace ak::runtime
