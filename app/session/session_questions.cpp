// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_questions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <vector>

#include "agent/llm/mailbox/mailbox_client.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr auto kNameLimit = std::chrono::milliseconds(10'000);  // one row of a table; chosen

/// Of its arguments, or where these name no model of the configuration.
std::set<fs::path> mailboxes_of(const db::SessionSearch& run) {
  constexpr std::string_view kFlag = "--model", kWithValue = "--model=";
  std::vector<std::string> models;
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    const std::string& argument = run.arguments[i];
    if (argument.starts_with(kWithValue)) models.push_back(argument.substr(kWithValue.size()));
    if (argument == kFlag && i + 1 < run.arguments.size()) models.push_back(run.arguments[i + 1]);
  }
  if (models.empty()) models = load_config().models;
  std::set<fs::path> folders;
  for (const std::string& model : models)
    if (fs::path folder = agent::mailbox_folder(model); !folder.empty()) folders.insert(std::move(folder));
  return folders;
}

}  // namespace

std::string search_name(const fs::path& database, RowId search) {
  const db::Table table =
      db::query(database, "SELECT lower(hex(uid)) AS name FROM searches WHERE id = :search", 1, kNameLimit,
                {{"search", search}});
  return db::rows_of(table).front().text("name");
}

std::string awaited_answers(const std::set<fs::path>& mailboxes, const std::string& search) {
  std::vector<std::string> places;
  for (const fs::path& folder : mailboxes)
    if (const auto names = agent::open_questions(folder, search); !names.empty())
      places.push_back(fmt::format("{} in {}", fmt::join(names, ", "), folder.string()));
  if (!places.empty()) return fmt::format("answers are awaited: {}", fmt::join(places, "; "));
  for (const fs::path& folder : mailboxes) places.push_back(folder.string());
  return fmt::format("no question of it lies in {}: it is asked when the search goes on",
                     fmt::join(places, " or "));
}

void withdraw_questions(const fs::path& database, const db::Session& session, const db::SessionSearch& run,
                        std::string_view why) {
  if (!run.search) return;
  try {
    const std::string search = search_name(database, *run.search);
    for (const fs::path& folder : mailboxes_of(run))
      agent::MailboxClient(fs::path(session.folder) / folder).withdraw({.search = search, .id = ""}, why);
  } catch (const Error& error) {
    print_stderr("note: {}: questions cannot be withdrawn: {}\n", run.name, error.what());
  }
}

}  // namespace ak::app
