// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_protocol.h"

#include <catch2/catch.hpp>

namespace ak::runtime {

TEST_CASE("a message survives the line it is sent as, whatever bytes are in it") {
  WorkerMessage message{7, "compile", Json::object(), "line\nline"};
  message.body["source"] = "a\n\"b\"\t\x01";
  const std::string line = encode(message, "secret");
  CHECK(line.find('\n') == line.size() - 1);
  const auto decoded = decode(line, "secret");
  REQUIRE(decoded);
  CHECK(decoded->id == 7);
  CHECK(decoded->type == "compile");
  CHECK(decoded->body == message.body);
  CHECK(decoded->prints == message.prints);
}

TEST_CASE("a body is written as JSON writes it, key by key") {
  WorkerMessage message{1, "t", Json::object(), {}};
  message.body = Json{
      {"plain", "Zm9v+/=="}, {"quo\"te", "back\\slash"},     {"del", "\x7f"}, {"euro", "\xe2\x82\xac"},
      {"none", nullptr},     {"list", {1, -2, 0.5, "a"}},    {"empty", ""},   {"nothing", Json::object()},
      {"yes", true},         {"in", {{"deep", {{"er", 1}}}}}};
  CHECK(encode(message, "n") ==
        R"({"v":1,"id":1,"nonce":"n","type":"t","body":)" + message.body.dump() + "}\n");
}

TEST_CASE("a character that has to be escaped is, wherever it is in a string, and no other") {
  for (int c = 0; c < 128; ++c) {
    for (std::size_t at = 0; at < 19; ++at) {
      std::string text(19, 'a');
      text[at] = static_cast<char>(c);
      const Json body{{"in", text}, {"list", {text, Json::array(), {1, text}}}};
      const std::string line = encode({1, "t", body, {}}, "n");
      INFO(c << " at " << at);
      CHECK(line.find("\"body\":" + body.dump() + "}\n") != std::string::npos);
    }
  }
}

TEST_CASE("bytes that are not UTF-8 do not stop a message") {
  WorkerMessage message{1, "built", Json::object(), "\xff\xfe"};
  REQUIRE(decode(encode(message, "n"), "n"));
}

TEST_CASE("a line with a wrong nonce, version or shape is refused with the reason") {
  const std::string good = encode({1, "t", Json::object(), {}}, "right");
  CHECK(decode(good, "right"));
  CHECK(decode(good, "wrong").error().message == "wrong nonce");
  CHECK(
      decode("{\"v\":2,\"id\":1,\"nonce\":\"right\",\"type\":\"t\",\"body\":{}}", "right").error().message ==
      "a message between AlphaKernel and its worker has format 2; this AlphaKernel reads up to 1: update "
      "AlphaKernel");
  CHECK(decode("{\"id\":1,\"nonce\":\"right\",\"type\":\"t\",\"body\":{}}", "right").error().message ==
        "no protocol version");
  CHECK_FALSE(decode("{\"v\":1,\"id\":-1,\"nonce\":\"right\",\"type\":\"t\",\"body\":{}}", "right"));
  CHECK_FALSE(decode("{\"v\":1,\"id\":1,\"nonce\":\"right\",\"type\":\"t\",\"body\":[]}", "right"));
  CHECK_FALSE(decode("Segmentation fault", "right"));
  CHECK_FALSE(decode("", "right"));
}

TEST_CASE("lines are cut wherever the bytes were split, and a line above the limit ends the stream") {
  LineReader reader(8);
  REQUIRE(reader.feed("ab"));
  CHECK_FALSE(reader.next());
  REQUIRE(reader.feed("c\n\nde\nf"));
  CHECK(reader.next() == "abc");
  CHECK(reader.next() == "");
  CHECK(reader.next() == "de");
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.feed("123456789"));
}

}  // namespace ak::runtime
