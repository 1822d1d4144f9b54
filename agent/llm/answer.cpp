// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "agent/llm/fenced_blocks.h"
#include "agent/llm/hypothesis_block.h"
#include "core/text/json.h"

namespace ak::agent {
namespace {

constexpr std::string_view kPlanMark = "/* alphakernel";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  std::string search, replace;
};

std::optional<InputError> read_edits(std::string_view answer, std::vector<Edit>& edits) {
  enum class In { text, search, replace } in = In::text;
  for (const std::string_view line : lines_of(answer)) {
    const std::string_view mark = trimmed(line);
    if (in == In::text && mark == "<<<<<<< SEARCH") {
      edits.emplace_back();
      in = In::search;
    } else if (in == In::search && mark == "=======") {
      in = In::replace;
    } else if (in == In::replace && mark == ">>>>>>> REPLACE") {
      in = In::text;
    } else if (in != In::text) {
      (in == In::search ? edits.back().search : edits.back().replace) += line;
    }
  }
  if (in != In::text) return InputError{"the last edit is not complete: it ends before '>>>>>>> REPLACE'"};
  return std::nullopt;
}

/// Where `search` is in `source`, line by line without regard to white space at the ends of lines: models
/// lose it. Nothing unless it is there exactly once.
std::optional<std::pair<std::size_t, std::size_t>> find_lines(std::string_view source,
                                                              std::string_view search, int& found) {
  const auto tail_trimmed = [](std::string_view line) {
    return line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
  };
  const std::vector<std::string_view> lines = lines_of(source), wanted = lines_of(search);
  std::optional<std::pair<std::size_t, std::size_t>> place;
  std::size_t at = 0;
  for (std::size_t i = 0; i + wanted.size() <= lines.size(); at += lines[i++].size()) {
    std::size_t length = 0, same = 0;
    while (same < wanted.size() && tail_trimmed(lines[i + same]) == tail_trimmed(wanted[same]))
      length += lines[i + same++].size();
    if (same < wanted.size()) continue;
    place = {at, length};
    ++found;
  }
  return found == 1 ? place : std::nullopt;
}

std::optional<InputError> apply(const Edit& edit, std::string& source) {
  const std::string shown(trimmed(edit.search).substr(0, 120));
  if (shown.empty()) return InputError{"an edit has no text to search for"};
  const std::size_t first = source.find(edit.search);
  if (first != std::string::npos && source.find(edit.search, first + 1) == std::string::npos) {
    source.replace(first, edit.search.size(), edit.replace);
    return std::nullopt;
  }
  int found = 0;
  if (const auto place = find_lines(source, edit.search, found)) {
    source.replace(place->first, place->second, edit.replace);
    return std::nullopt;
  }
  return InputError{fmt::format("the text of an edit occurs {} in the candidate instead of once: {}",
                                found == 0 && first == std::string::npos ? "nowhere" : "several times",
                                shown)};
}

Result<std::string> edited(std::string_view answer, const Candidate& parent) {
  std::vector<Edit> edits;
  if (auto input_error = read_edits(answer, edits)) return *input_error;
  std::string source = parent.source;
  for (const Edit& edit : edits) {
    if (auto input_error = apply(edit, source)) return *input_error;
  }
  return source;
}

Result<Candidate> at_point(const Json& values, Candidate candidate) {
  if (!values.is_object()) return InputError{"'tunables' must be an object of numbers"};
  for (const auto& [name, value] : values.items()) {
    const auto& tunables = candidate.plan.tunables;
    const auto tunable = std::ranges::find(tunables, name, &Tunable::name);
    if (tunable == tunables.end()) return InputError{fmt::format("the candidate has no tunable '{}'", name)};
    const bool number = value.is_number_integer() || value.is_boolean();
    const std::int64_t chosen = !number              ? 0
                                : value.is_boolean() ? value.get<bool>()
                                                     : value.get<std::int64_t>();
    if (!number || std::ranges::find(tunable->values, chosen) == tunable->values.end())
      return InputError{fmt::format("{} cannot be {}; expected one of {}", name, value.dump(),
                                    fmt::join(tunable->values, ", "))};
    candidate.tunables[name] = chosen;
  }
  return candidate;
}

/// What an answer holds, before anyone looks whether it is a candidate.
struct Content {
  std::string form;
  std::vector<std::string> sources;
  std::vector<Json> points;
  std::vector<std::size_t> blocks = {};  ///< of the sources
};

/// The blocks up to `last` that hold whole candidates, the last `most` of them.
Content sources_of(const std::vector<FencedBlock>& blocks, std::size_t last, std::size_t most) {
  Content content{"source", {}, {}};
  for (std::size_t i = last + 1; i-- > 0 && content.sources.size() < most;) {
    const std::string_view text = trimmed(blocks[i].text);
    if (!text.starts_with(kPlanMark) || !blocks[i].closed) continue;
    content.sources.insert(content.sources.begin(), std::string(text) + "\n");
    content.blocks.insert(content.blocks.begin(), i);
  }
  return content;
}

std::optional<Content> points_of(const Json& json, std::size_t most) {
  if (json.is_object() && json.contains("tunables")) return Content{"tunables", {}, {json["tunables"]}};
  if (!json.is_object() || !json.contains("points") || !json["points"].is_array()) return std::nullopt;
  Content content{"tunables", {}, {}};
  for (const Json& point : json["points"])
    if (content.points.size() < most) content.points.push_back(point);
  return content;
}

/// The last one of the blocks before `end`, as far as they are of the same candidate; nothing where there is none.
std::optional<Result<Hypothesis>> hypothesis_before(const std::vector<FencedBlock>& blocks, std::size_t end,
                                                    bool of_source) {
  for (std::size_t i = end; i-- > 0;) {
    if (states_hypothesis(blocks[i].text)) return read_hypothesis(blocks[i].text);
    if (of_source && trimmed(blocks[i].text).starts_with(kPlanMark)) return std::nullopt;
  }
  return std::nullopt;
}

/// Of several points none: they are tried to learn which one is faster.
void add_hypotheses(const Content& content, const std::vector<FencedBlock>& blocks,
                    std::vector<ProposedCandidate>& list) {
  if (content.points.size() > 1) return;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool of_source = i < content.blocks.size();
    const auto stated = hypothesis_before(blocks, of_source ? content.blocks[i] : blocks.size(), of_source);
    if (!stated) continue;
    if (stated->ok())
      list[i].hypothesis = stated->value();
    else
      list[i].hypothesis_error = stated->error().message;
  }
}

Result<Content> content_of(std::string_view answer, const std::vector<FencedBlock>& blocks,
                           const Candidate& parent, std::size_t most) {
  if (answer.find("<<<<<<< SEARCH") != std::string_view::npos) {
    Result<std::string> source = edited(answer, parent);
    if (!source) return source.error();
    return Content{"edit", {std::move(source).value()}, {}};
  }
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const std::string_view text = trimmed(blocks[i].text);
    if (text.starts_with(kPlanMark)) {
      if (blocks[i].closed) return sources_of(blocks, i, most);
      if (most == 1 || sources_of(blocks, i, most).sources.empty())
        return InputError{"the block with the candidate is not closed: the answer was cut"};
      continue;
    }
    const Json json = text.starts_with('{') ? try_parse_json(text) : Json();
    if (auto content = points_of(json, most); content && !content->points.empty()) return *content;
  }
  if (trimmed(answer).starts_with(kPlanMark))
    return Content{"source", {std::string(trimmed(answer)) + "\n"}, {}};
  return InputError{
      blocks.empty() ? "it has no fenced block with a candidate, no edits and no tunables"
                     : "no fenced block begins with a launch plan '/* alphakernel', and there are no edits "
                       "and no tunables"};
}

Result<Candidate> parsed(const std::string& name, const std::string& source) {
  Result<Candidate> candidate = parse_candidate(name, source);
  if (candidate || candidate.error().line <= 0) return candidate;
  InputError input_error = candidate.error();
  input_error.message = fmt::format("line {}: {}", input_error.line, input_error.message);
  return input_error;
}

}  // namespace

Result<std::vector<ProposedCandidate>> read_answer(std::string_view answer, const Candidate& parent,
                                                   const std::string& name, std::size_t most) {
  const std::string_view said = without_thinking(answer);
  const std::vector<FencedBlock> blocks = fenced_blocks(said);
  const Result<Content> content = content_of(said, blocks, parent, most);
  if (!content) return content.error();
  std::vector<ProposedCandidate> list;
  for (const std::string& source : content->sources) {
    const std::string file = content->sources.size() == 1 ? fmt::format("{}.cu", name)
                                                          : fmt::format("{}_{}.cu", name, list.size() + 1);
    list.push_back({content->form, source, parsed(file, source)});
  }
  for (const Json& point : content->points)
    list.push_back({content->form, parent.source, at_point(point, parent)});
  add_hypotheses(*content, blocks, list);
  return list;
}

}  // namespace ak::agent
