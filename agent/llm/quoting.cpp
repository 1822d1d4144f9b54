// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/quoting.h"

#include <fmt/format.h>

#include "agent/llm/api/redact.h"
#include "agent/llm/prompts.h"
#include "agent/seeds.h"

namespace ak::agent {
namespace {

constexpr std::uint64_t kFenceStream = 1'000'000;  // of the seed; the archive has the first

}  // namespace

std::string fence_for(std::uint64_t seed, int request, std::string_view text) {
  for (std::uint64_t salt = 0;; ++salt) {
    std::string fence = fmt::format(
        "{:016x}", derive_seed(seed, kFenceStream + 1000 * static_cast<std::uint64_t>(request) + salt));
    if (text.find(fence) == std::string_view::npos) return fence;
  }
}

std::string quotable(std::string_view text, std::int64_t tokens) {
  std::string quoted = fitted(clean_text(text), tokens);
  if (!quoted.ends_with('\n')) quoted += '\n';
  return quoted;
}

}  // namespace ak::agent
