// SPDX-License-Identifier: Apache-2.0
#include "core/text/hash.h"

#include <sodium.h>

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

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  initialise_sodium();
  unsigned char digest[crypto_hash_sha256_BYTES];
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

std::string base64_encode(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), as_bytes(bytes), bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the terminating zero that libsodium counts
  return text;
}

std::string base64_decode(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  std::size_t length = 0;
  const int status =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL);
  if (status != 0) fail(ExitCode::bad_input, "malformed base64 of {} characters", text.size());
  bytes.resize(length);
  return bytes;
}

}  // namespace ak
