// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_home.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/text/file_checks.h"
#include "db/merge/merge.h"
#include "db/store/session_store.h"

namespace ak::app {
namespace {

constexpr const char* kHomeKey = "merge_into";

}  // namespace

std::optional<std::filesystem::path> home_of(const db::Session& session) {
  if (!session.budgets.is_object() || !session.budgets.contains(kHomeKey)) return std::nullopt;
  return session.budgets[kHomeKey].get<std::string>();
}

void set_home(db::Session& session, const std::filesystem::path& home,
              const std::filesystem::path& database) {
  const std::filesystem::path file = std::filesystem::absolute(home).lexically_normal();
  std::error_code none;
  if (file == database.lexically_normal() || std::filesystem::equivalent(file, database, none))
    fail(ExitCode::usage, "--merge-into {}: it is the session's own database; expected another one",
         file.string());
  if (!std::filesystem::is_directory(file.parent_path(), none))
    fail(ExitCode::usage, "--merge-into {}: there is no folder {}", file.string(),
         file.parent_path().string());
  // The session may run all night before it gets there. SQLite writes next to a database, and into it.
  require_writable(file);
  if (std::filesystem::exists(file, none)) {
    if (::access(file.c_str(), W_OK) != 0)
      fail(ExitCode::output, "--merge-into {}: it cannot be written: {}", file.string(),
           std::generic_category().message(errno));
    static_cast<void>(db::SessionStore(file, db::OpenMode::read_only).all());
  }
  session.budgets[kHomeKey] = file.string();
}

std::optional<std::int64_t> bring_home(const db::Session& session, const std::filesystem::path& database) {
  const auto home = home_of(session);
  if (!home) return std::nullopt;
  std::int64_t added = 0;
  for (const db::MergedTable& table : db::merge(*home, database)) added += table.rows;
  return added;
}

}  // namespace ak::app
