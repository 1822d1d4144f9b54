// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ak::runtime {

/// From now on time() and localtime_r() of this process, NVRTC's calls included, say 1970-01-01 12:00 UTC, so that
/// `__DATE__` and `__TIME__` are the same in every build: NVRTC lets no one define them, and what a source is built to
/// must follow from the source. Other clocks run on. For compile workers.
void stop_the_clock();

}  // namespace ak::runtime
