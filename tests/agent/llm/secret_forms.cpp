// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/llm/secret_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace ak::agent {
namespace {

// Shorter encoded texts occur by chance: 10 characters of base64 are 60 bits.
constexpr std::size_t kMinEncoded = 10;

bool is_unreserved(char c) {  // RFC 3986, 2.3
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

unsigned digit_value(char c) { return static_cast<unsigned char>(c); }

using Encode = std::string (*)(char);
constexpr std::array<Encode, 10> kCharacterForms{
    [](char c) { return std::string(1, c); },
    [](char c) { return fmt::format("\\u{:04x}", digit_value(c)); },
    [](char c) { return fmt::format("\\u{:04X}", digit_value(c)); },
    [](char c) {
      return c == '/' || c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    },
    [](char c) { return is_unreserved(c) ? std::string(1, c) : fmt::format("%{:02X}", digit_value(c)); },
    [](char c) { return is_unreserved(c) ? std::string(1, c) : fmt::format("%{:02x}", digit_value(c)); },
    [](char c) { return fmt::format("%{:02X}", digit_value(c)); },
    [](char c) { return fmt::format("%{:02x}", digit_value(c)); },
    [](char c) { return fmt::format("{:02x}", digit_value(c)); },
    [](char c) { return fmt::format("{:02X}", digit_value(c)); }};

/// The characters of base64 that are the same whatever comes before and after the secret.
/// @param before bytes of the group of three that the secret begins in, that are not its own: 0 to 2
std::string base64_core(std::string_view secret, std::size_t before, std::string_view alphabet) {
  std::string text;
  unsigned bits = 0;
  std::size_t count = 0;
  const std::string padded = std::string(before, '\0') + std::string(secret);
  for (const char c : padded) {
    bits = (bits << 8 | digit_value(c)) & 0xFFFF;
    for (count += 8; count >= 6; count -= 6) text += alphabet[(bits >> (count - 6)) & 63];
  }
  constexpr std::array<std::size_t, 3> kForeign{0, 2, 3};  // characters that hold bits of what comes before
  return text.substr(std::min(text.size(), kForeign[before]));
}

}  // namespace

std::vector<std::string> secret_forms(std::string_view secret) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::vector<std::string> forms;
  for (const Encode encode : kCharacterForms) {
    std::string& form = forms.emplace_back();
    for (const char c : secret) form += encode(c);
  }
  for (const char* last_two : {"+/", "-_"}) {
    for (std::size_t before = 0; before < 3; ++before) {
      std::string core = base64_core(secret, before, letters + last_two);
      if (core.size() >= kMinEncoded) forms.push_back(std::move(core));
    }
  }
  std::ranges::sort(
      forms, [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; });
  const auto repeated = std::ranges::unique(forms);
  forms.erase(repeated.begin(), repeated.end());
  return forms;
}

}  // namespace ak::agent
