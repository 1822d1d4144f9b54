// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/redact.h"

#include <catch2/catch.hpp>

#include "agent/llm/api/dialect.h"
#include "tests/agent/llm/secret_forms.h"

namespace ak::agent {
namespace {

const std::string kPlainKey = "ak9Qm3xZr9TbLw5Kd2/VnYc8Hf4+Gs6Jp";
const Redactor kPlainRedactor({kPlainKey});

/// The longest part of the key that is in `text`.
std::size_t longest_part(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0; at < kPlainKey.size(); ++at)
    while (at + longest < kPlainKey.size() &&
           text.find(kPlainKey.substr(at, longest + 1)) != std::string::npos)
      ++longest;
  return longest;
}

TEST_CASE("a key is found in every form that a server may give it") {
  for (const std::string& form : secret_forms(kPlainKey)) {
    CAPTURE(form);
    CHECK(kPlainRedactor("a " + form + " b").find(form) == std::string::npos);
    CHECK(kPlainRedactor.finds(std::string_view("x" + form + "y")));
  }
  // echo -n 'key=ak9Qm3xZr9TbLw5Kd2/VnYc8Hf4+Gs6Jp;' | base64
  const std::string encoded = "a2V5PWFrOVFtM3hacjlUYkx3NUtkMi9WblljOEhmNCtHczZKcDs=";
  CHECK(kPlainRedactor(encoded).size() < encoded.size() / 2);
  CHECK(kPlainRedactor("ak9Qm3xZr9TbLw5Kd2%2FVnYc8Hf4%2BGs6Jp") == "[redacted]");
  CHECK(kPlainRedactor("ak9Qm3xZr9TbLw5Kd2\\/VnYc8Hf4+Gs6Jp") == "[redacted]");
}

TEST_CASE("a key that a cut has shortened is found, wherever the cut is") {
  for (std::size_t length = 0; length <= kPlainKey.size(); ++length) {
    CAPTURE(length);
    const std::string head = kPlainKey.substr(0, length), tail = kPlainKey.substr(kPlainKey.size() - length);
    for (const std::string& text : {"your key " + head, tail + " is wrong", "key " + head + "... is wrong",
                                    "key " + head + "****" + tail + " is wrong", "is \xE2\x80\xA6" + tail})
      CHECK(longest_part(kPlainRedactor(text)) < 6);
    CHECK(longest_part(kPlainRedactor("in the middle (" + kPlainKey.substr(3, length) + ") of a text")) < 12);
  }
}

TEST_CASE("a line is redacted before it is cut, and holds nothing that a terminal obeys") {
  for (std::size_t before = 340; before <= 400; ++before) {
    const ForeignText text(std::string(before, '.') + " " + kPlainKey + "\x1b]0;title\x07\nmore");
    CHECK(longest_part(text.line(kPlainRedactor)) < 6);
    CHECK(text.line(kPlainRedactor).find('\x1b') == std::string::npos);
    CHECK(text.line(kPlainRedactor).find('\n') == std::string::npos);
    CHECK(text.line(kPlainRedactor).size() < 420);
  }
}

TEST_CASE("users and passwords in addresses are redacted, and addresses stay") {
  CHECK(redact("see https://me:pa55@host/x and http://token@[::1]:80/") ==
        "see https://[redacted]@host/x and http://[redacted]@[::1]:80/");
  CHECK(redact("https://host/a@b mail@host ssh://x") == "https://host/a@b mail@host ssh://x");
  CHECK(redact("https://a:b@c@host?d@e") == "https://[redacted]@host?d@e");
}

TEST_CASE("what looks like a key of any service is redacted, and identifiers stay") {
  const std::string upper = "ABCDEFGH23456789", part = "aB3dE5gH7jK9mN1p", letters = part + part;
  const std::string token = "eyJ" + part + ".eyJ" + part + "." + part + "-_" + part;
  for (const std::string& key : {"sk-" + letters, "AIza" + letters, "hf_" + letters, "ghp_" + letters,
                                 "gho_" + letters, "github_pat_" + part + "_" + letters, "gsk_" + letters,
                                 "nvapi-" + part + "-" + part, "AKIA" + upper, "ASIA" + upper, token}) {
    CAPTURE(key);
    CHECK(redact("a " + key + " b") == "a [redacted] b");
    CHECK(redact("\"" + key + "\"") == "\"[redacted]\"");
    CHECK(redact("line\\n" + key) == "line\\n[redacted]");  // the escape, as sources of JSON have it
  }
  CHECK(redact("Authorization: Bearer " + token) == "Authorization: Bearer [redacted]");
  const std::string kernel =
      "hf_attention_forward_kernel_of_transformers(gsk_, ghp_x); AKIA; eyJ.a.b; my_hf_" + letters;
  CHECK(redact(kernel) == kernel);
}

TEST_CASE("a private key is redacted as a block, also where its end was cut off") {
  const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----", end = "-----END OPENSSH PRIVATE KEY-----";
  CHECK(redact("a\n" + begin + "\nb3BlbnNzaA\n" + end + "\nb") == "a\n[redacted]\nb");
  CHECK(redact(begin + "\\nb3BlbnNzaA\\n" + end + begin + "x") == "[redacted][redacted]");
  const std::string open = "-----BEGIN PUBLIC KEY-----\nb3BlbnNzaA\n-----END PUBLIC KEY-----";
  CHECK(redact(open) == open);
}

TEST_CASE("kernels and messages without the key stay as they are") {
  const std::string kernel =
      "/* alphakernel */\n// ****** 90 % of ak9Q ...\n__global__ void k(float* a) { a[0] = 1; }\n";
  CHECK(kPlainRedactor(kernel) == kernel);
  CHECK_FALSE(kPlainRedactor.finds(std::string_view(kernel)));
  CHECK(Redactor({"abc"})("abc") == "abc");  // too short to be a secret
}

TEST_CASE("a key in pieces of a stream is found in the answer, and the bytes that hold them are not kept") {
  for (std::size_t size = 1; size < kPlainKey.size(); ++size) {
    CAPTURE(size);
    AnswerReader reader(*find_dialect("openai-chat"), true, kPlainRedactor);
    for (std::size_t at = 0; at < kPlainKey.size(); at += size) {
      const Json choice{{"delta", {{"content", kPlainKey.substr(at, size)}}}};
      static_cast<void>(reader.feed("data: " + Json{{"choices", Json::array({choice})}}.dump() + "\n\n"));
    }
    static_cast<void>(reader.feed("data: [DONE]\n\n"));
    const LlmReply reply = reader.finish();
    CHECK(reply.text == "[redacted]");
    CHECK(reply.raw == kNotKept);
  }
}

TEST_CASE("names and values of JSON are redacted") {
  Json json{{"a " + kPlainKey, Json::array({kPlainKey, 1, nullptr})}};
  CHECK(kPlainRedactor.finds(json));
  kPlainRedactor.redact(json);
  CHECK(json == Json{{"a [redacted]", Json::array({"[redacted]", 1, nullptr})}});
}

}  // namespace
}  // namespace ak::agent
