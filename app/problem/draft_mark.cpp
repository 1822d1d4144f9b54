// SPDX-License-Identifier: Apache-2.0
#include "app/problem/draft_mark.h"

#include "app/audit/problem_audits.h"
#include "codegen/problem/problem_files.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "core/text/json_line.h"
#include "core/text/json_reader.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMarkFormat = 1;

DraftMark read_mark(const JsonReader& at) {
  at.only({"format", "model", "description", "paper", "prompts", "rounds", "confirmed"});
  if (at.member("format").integer() != kMarkFormat) at.member("format").fail("1");
  return {.model = at.member("model").text(),
          .description = at.member("description").text(),
          .paper = at.member("paper").text(),
          .prompts = at.member("prompts").text(),
          .rounds = static_cast<int>(at.member("rounds").integer()),
          .confirmed = at.member("confirmed").text()};
}

}  // namespace

std::optional<DraftMark> read_draft_mark(const fs::path& folder) {
  if (folder.empty() || is_compiled_in(folder) || !codegen::has_problem_file(folder, kDraftMarkFile))
    return std::nullopt;
  const fs::path file = folder / kDraftMarkFile;
  const Result<Json> json = parse_json_line(codegen::read_problem_file(folder, kDraftMarkFile));
  if (!json) fail(ExitCode::bad_input, "{}: {}", file.string(), json.error().message);
  try {
    return read_mark(JsonReader(*json));
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), input_error.what());
  }
}

void write_draft_mark(const fs::path& folder, const DraftMark& mark) {
  const Json json{{"format", kMarkFormat},      {"model", mark.model},     {"description", mark.description},
                  {"paper", mark.paper},        {"prompts", mark.prompts}, {"rounds", mark.rounds},
                  {"confirmed", mark.confirmed}};
  write_file_atomically(folder / kDraftMarkFile,
                        json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void require_confirmed(const fs::path& folder) {
  const auto mark = read_draft_mark(folder);
  if (!mark) return;
  const char* what = mark->confirmed.empty() ? "no person has confirmed it yet"
                                             : "it was changed since a person has confirmed it";
  if (mark->confirmed == audited_content(folder)) return;
  fail(ExitCode::audit,
       "{0} was drafted by a language model ({1}), and {2}. See what it computes, and confirm it:\n"
       "  alphakernel problem confirm {0}",
       folder.string(), mark->model, what);
}

}  // namespace ak::app
