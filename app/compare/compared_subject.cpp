// SPDX-License-Identifier: Apache-2.0
#include "app/compare/compared_subject.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/device/arch.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/upgrade.h"

namespace ak::app {
namespace {

constexpr std::array<std::string_view, 4> kKinds{"search", "device", "model", "prompt"};
/// What searches were called until schema version 18.
constexpr std::string_view kFormerSearch = "session:";

/// Index of the one name that is `wanted`, or has it as a part.
std::size_t choose(const std::vector<std::string>& names, const std::string& wanted, std::string_view what) {
  if (const auto same = std::ranges::find(names, wanted); same != names.end())
    return static_cast<std::size_t>(same - names.begin());
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!plain_name(wanted).empty() && plain_name(names[i]).find(plain_name(wanted)) != std::string::npos)
      found.push_back(i);
  if (found.size() == 1) return found.front();
  if (names.empty()) fail(ExitCode::usage, "{} is unknown: the database has no {}", wanted, what);
  std::vector<std::string> several;
  for (const std::size_t i : found) several.push_back(names[i]);
  fail(ExitCode::usage, "{}:{} names {}; the database has {}", what, wanted,
       found.empty() ? "none" : "several", fmt::join(found.empty() ? names : several, ", "));
}

RowId search_number(const std::string& text) {
  constexpr std::size_t kMaxDigits = 18;  // of a row number
  if (text.empty() || text.size() > kMaxDigits || text.find_first_not_of("0123456789") != std::string::npos)
    fail(ExitCode::usage, "expected search:NUMBER (alphakernel query searches), got search:{}", text);
  return std::stoll(text);
}

ComparedSubject find_device(const std::filesystem::path& database, const std::string& wanted) {
  const std::vector<db::DeviceName> devices = db::device_names(database);
  std::vector<std::string> names;
  for (const db::DeviceName& device : devices) names.push_back(device.name);
  const db::DeviceName& chosen = devices[choose(names, wanted, "device")];
  return {.kind = SubjectKind::device, .name = chosen.name, .kind_name = chosen.kind};
}

}  // namespace

std::string_view to_string(SubjectKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::optional<SubjectKind> subject_kind(std::string_view word) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (word.starts_with(kKinds[i]) && word.substr(kKinds[i].size()).starts_with(":"))
      return static_cast<SubjectKind>(i);
  }
  if (word.starts_with(kFormerSearch)) return SubjectKind::search;
  return std::nullopt;
}

ComparedSubject find_subject(const std::filesystem::path& database, const std::string& word) {
  db::require_database(database);
  const SubjectKind kind = subject_kind(word).value();
  const std::string wanted = word.substr(word.find(':') + 1);
  if (word.starts_with(kFormerSearch)) print_stderr("note: session:{0} is called search:{0} now\n", wanted);
  if (kind == SubjectKind::device) return find_device(database, wanted);
  if (kind == SubjectKind::search) {
    const RowId number = search_number(wanted);
    if (!db::search_stats(database, number))
      fail(ExitCode::usage, "there is no search {} in {} (alphakernel query searches)", number,
           database.string());
    return {.kind = kind, .name = std::to_string(number), .kind_name = ""};
  }
  const auto values = db::call_values(
      database, kind == SubjectKind::model ? db::CallColumn::model : db::CallColumn::prompt_version);
  return {.kind = kind, .name = values[choose(values, wanted, to_string(kind))], .kind_name = ""};
}

}  // namespace ak::app
