// SPDX-License-Identifier: Apache-2.0
#include "core/text/hash.h"

#include <catch2/catch.hpp>

#include "core/error.h"

using namespace ak;

TEST_CASE("sha256 gives the digests of FIPS 180-4") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 of texts that end anywhere in a block is what hashlib of Python says") {
  std::string digests;
  for (std::size_t length = 0; length < 200; ++length) digests += sha256_hex(std::string(length, 'a'));
  CHECK(sha256_hex(digests) == "019f2b9f1af27a53a1f046da7e98af2c179f431e4b5bebb000e74040917a4123");
}

TEST_CASE("base64 gives the strings of RFC 4648 and reads them back") {
  CHECK(base64_encode("") == "");
  CHECK(base64_encode("f") == "Zg==");
  CHECK(base64_encode("foobar") == "Zm9vYmFy");
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    CHECK(base64_decode(base64_encode(bytes)) == bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST_CASE("what is not base64 is refused as bad input") {
  for (const char* text :
       {"Zg", "Z===", "Zg==Zg==", "Z g=", "Zm9v!mFy", "Zm9vYmFyZ", "Zm9v\nZm9v", "Zg==Zm9v"}) {
    INFO(text);
    CHECK_THROWS_AS(base64_decode(text), Error);
  }
}

TEST_CASE("uids and seeds differ from call to call") {
  CHECK(random_uid() != random_uid());
  CHECK(random_seed() != random_seed());
}
