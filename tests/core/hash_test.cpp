// SPDX-License-Identifier: Apache-2.0
#include "core/text/hash.h"

#include <catch2/catch.hpp>

#include "core/error.h"

using namespace ak;

TEST_CASE("sha256 gives the digests of FIPS 180-4") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
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
  for (const char* text : {"Zg", "Z===", "Zg==Zg==", "Z g=", "Zm9v!mFy"}) {
    INFO(text);
    CHECK_THROWS_AS(base64_decode(text), Error);
  }
}

TEST_CASE("uids and seeds differ from call to call") {
  CHECK(random_uid() != random_uid());
  CHECK(random_seed() != random_seed());
}
