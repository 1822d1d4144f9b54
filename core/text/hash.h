// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ak {

/// SHA-256 of `bytes` in lower-case hexadecimal (64 characters): the key of sources, builds and definitions.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// 16 random bytes from the operating system: the `uid` of every mergeable database row.
[[nodiscard]] std::array<unsigned char, 16> random_uid();

/// Random 64-bit seed from the operating system.
[[nodiscard]] unsigned long long random_seed();

/// Standard base64 with padding, for binaries inside JSON messages.
[[nodiscard]] std::string base64_encode(std::string_view bytes);
/// Inverse of base64_encode; throws Error(bad_input) on anything else.
[[nodiscard]] std::string base64_decode(std::string_view text);

}  // namespace ak
