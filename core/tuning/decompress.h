// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak {

/// `bytes` unpacked where their first bytes say gzip or xz, else as they are. `name` is for
/// messages. Throws Error(bad_input): damaged, or more than 1 GiB unpacked. Of a file that is cut short, what
/// could be unpacked, and `cut_short` is set.
[[nodiscard]] std::string decompress(std::string bytes, const std::string& name, bool& cut_short);

}  // namespace ak
