// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/hypothesis_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "agent/llm/api/redact.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"

namespace ak::agent {
namespace {

constexpr std::string_view kKey = "hypothesis";
constexpr std::size_t kMaxBlock = 4096;  // bytes: its texts with every character escaped in JSON; chosen

/// What is said of a block is one line, too: names in it are the model's.
std::string one_line(std::string_view words) {
  std::string text = sanitize(clean_text(words));
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

std::string line_in(const JsonReader& at, std::size_t most) {
  std::string text = one_line(at.text());
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) at.fail("a sentence");
  text = text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  if (text.size() > most) at.reject(fmt::format("expected at most {} bytes, got {}", most, text.size()));
  return text;
}

double speedup_in(const JsonReader& at) {
  const double value = at.number();
  if (std::isfinite(value) && value >= Hypothesis::kMinSpeedup && value <= Hypothesis::kMaxSpeedup)
    return value;
  at.fail(fmt::format("how many times as fast as its parent, from {} to {}", Hypothesis::kMinSpeedup,
                      Hypothesis::kMaxSpeedup));
}

Hypothesis hypothesis_in(const JsonReader& at) {
  at.only({"change", "why", "speedup"});
  return {.change = line_in(at.member("change"), Hypothesis::kMaxChange),
          .reason = line_in(at.member("why"), Hypothesis::kMaxReason),
          .speedup = speedup_in(at.member("speedup"))};
}

}  // namespace

bool states_hypothesis(std::string_view block) {
  const std::size_t begin = block.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && block[begin] == '{' &&
         block.find(fmt::format("\"{}\"", kKey)) != std::string_view::npos;
}

Result<Hypothesis> read_hypothesis(std::string_view block) {
  if (block.size() > kMaxBlock)
    return InputError{fmt::format("hypothesis: expected at most {} bytes, got {}", kMaxBlock, block.size())};
  try {
    const Json json = parse_written_json(block);
    const JsonReader at(json);
    at.only({kKey});
    return hypothesis_in(at.member(kKey));
  } catch (const JsonInputError& error) {
    return InputError{one_line(error.what())};
  } catch (const Json::exception& error) {
    return InputError{fmt::format("hypothesis: not JSON: {}", one_line(error.what()))};
  }
}

}  // namespace ak::agent
