// SPDX-License-Identifier: Apache-2.0
#include "core/text/hash.h"

#include <sodium.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "core/error.h"

namespace ak {
namespace {

void initialise_sodium() {
  static const int status = sodium_init();
  AK_ASSERT(status >= 0, "libsodium could not be initialised");
}

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

#if defined(__x86_64__)

bool has_sha_instructions() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool sse41 = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_1) != 0;
    return sse41 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
  }();
  return has;
}

constexpr std::size_t kBlockBytes = 64;
// FIPS 180-4, sections 4.2.2 and 5.3.3.
alignas(16) constexpr std::uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
// The words that the instructions want together: A, B, E and F, and C, D, G and H, each from the last on.
constexpr std::uint32_t kFirstState[8] = {0x9b05688c, 0x510e527f, 0xbb67ae85, 0x6a09e667,
                                          0x5be0cd19, 0x1f83d9ab, 0xa54ff53a, 0x3c6ef372};

__m128i load_words(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

/// One block of 64 bytes, four rounds at a time (Intel, SHA extensions, 2013).
__attribute__((target("sha,sse4.1"))) void add_block(__m128i& abef, __m128i& cdgh,
                                                     const unsigned char* block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i abef_before = abef, cdgh_before = cdgh;
  __m128i words[4];  // of the message, the last 16
  for (std::size_t i = 0; i < 4; ++i) words[i] = _mm_shuffle_epi8(load_words(block + 16 * i), big_endian);
  for (std::size_t i = 0; i < 16; ++i) {
    __m128i& now = words[i % 4];
    if (i >= 4) {
      const __m128i &second = words[(i + 1) % 4], &third = words[(i + 2) % 4], &last = words[(i + 3) % 4];
      now = _mm_sha256msg2_epu32(
          _mm_add_epi32(_mm_sha256msg1_epu32(now, second), _mm_alignr_epi8(last, third, 4)), last);
    }
    const __m128i sums = _mm_add_epi32(now, load_words(&kRoundConstants[4 * i]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
  }
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
}

/// libsodium has SHA-256 in C alone, which takes about six times as long.
void hash_with_instructions(std::string_view bytes, unsigned char* digest) {
  __m128i abef = load_words(kFirstState), cdgh = load_words(kFirstState + 4);
  const std::size_t whole = bytes.size() / kBlockBytes * kBlockBytes, rest = bytes.size() - whole;
  for (std::size_t at = 0; at < whole; at += kBlockBytes) add_block(abef, cdgh, as_bytes(bytes) + at);
  // The rest, a bit, zeros, and the number of bits.
  unsigned char tail[2 * kBlockBytes] = {};
  const std::size_t tail_bytes = rest + 9 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
  std::copy_n(as_bytes(bytes) + whole, rest, tail);
  tail[rest] = 0x80;
  for (std::size_t i = 0; i < 8; ++i)
    tail[tail_bytes - 1 - i] = static_cast<unsigned char>(std::uint64_t{bytes.size()} * 8 >> (8 * i));
  for (std::size_t at = 0; at < tail_bytes; at += kBlockBytes) add_block(abef, cdgh, tail + at);
  std::uint32_t state[8];
  std::memcpy(state, &abef, sizeof abef);
  std::memcpy(state + 4, &cdgh, sizeof cdgh);
  constexpr std::size_t kPlaces[8] = {3, 2, 7, 6, 1, 0, 5, 4};  // of A to H in `state`
  for (std::size_t i = 0; i < 32; ++i)
    digest[i] = static_cast<unsigned char>(state[kPlaces[i / 4]] >> (24 - 8 * (i % 4)));
}

#else

bool has_sha_instructions() { return false; }
void hash_with_instructions(std::string_view, unsigned char*) {}

#endif

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> make_base64_values() {
  std::array<std::uint8_t, 256> values{};
  for (std::uint8_t& value : values) value = kNoDigit;
  for (std::size_t i = 0; i < kBase64Digits.size(); ++i)
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> kBase64Values = make_base64_values();

/// The two digits of every twelve bits.
constexpr auto kBase64Pairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kBase64Digits[i >> 6], kBase64Digits[i & 63]};
  return pairs;
}();

/// Bytes of whole groups of four digits without padding; how many digits there were before anything else.
std::size_t decode_groups(std::string_view text, char* bytes) {
  std::size_t at = 0;
  for (; at + 4 <= text.size(); at += 4) {
    std::uint32_t group = 0, worst = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t value = kBase64Values[static_cast<unsigned char>(text[at + i])];
      worst |= value;
      group = group << 6 | value;
    }
    if ((worst & kNoDigit) != 0) break;
    for (int shift = 16; shift >= 0; shift -= 8) *bytes++ = static_cast<char>(group >> shift & 0xFF);
  }
  return at;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  initialise_sodium();
  unsigned char digest[crypto_hash_sha256_BYTES];
  if (has_sha_instructions())
    hash_with_instructions(bytes, digest);
  else
    crypto_hash_sha256(digest, as_bytes(bytes), bytes.size());
  char hex[2 * sizeof digest + 1];
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  return hex;
}

std::array<unsigned char, 16> random_uid() {
  initialise_sodium();
  std::array<unsigned char, 16> uid{};
  randombytes_buf(uid.data(), uid.size());
  return uid;
}

unsigned long long random_seed() {
  initialise_sodium();
  unsigned long long seed = 0;
  randombytes_buf(&seed, sizeof seed);
  return seed;
}

// libsodium takes a time that does not depend on the bytes, many times as long: what is encoded here is no secret.
std::string base64_encode(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* to = text.data();
  const unsigned char* from = as_bytes(bytes);
  for (std::size_t left = bytes.size() / 3; left > 0; --left, from += 3, to += 4) {
    std::memcpy(to, kBase64Pairs[from[0] << 4 | from[1] >> 4].data(), 2);
    std::memcpy(to + 2, kBase64Pairs[(from[1] & 15) << 8 | from[2]].data(), 2);
  }
  const std::size_t rest = bytes.size() % 3;
  if (rest == 0) return text;
  const std::uint32_t second = rest == 2 ? from[1] : 0u;
  std::memcpy(to, kBase64Pairs[from[0] << 4 | second >> 4].data(), 2);
  if (rest == 2) to[2] = kBase64Digits[(second & 15) << 2];
  return text;
}

std::string base64_decode(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  const std::size_t digits = decode_groups(text, bytes.data());
  // What is left has padding, or is wrong.
  std::size_t length = 0;
  const int status = sodium_base642bin(
      reinterpret_cast<unsigned char*>(bytes.data()) + digits / 4 * 3, bytes.size() - digits / 4 * 3,
      text.data() + digits, text.size() - digits, nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL);
  if (status != 0) fail(ExitCode::bad_input, "malformed base64 of {} characters", text.size());
  bytes.resize(digits / 4 * 3 + length);
  return bytes;
}

}  // namespace ak
