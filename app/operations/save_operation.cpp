// SPDX-License-Identifier: Apache-2.0
// A kernel of the database as a file.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "app/operations/kernel_request.h"
#include "app/operations/written_path.h"
#include "codegen/emit/emit.h"
#include "core/error.h"
#include "core/text/file.h"
#include "db/database.h"
#include "db/sql_text.h"

namespace ak::operations {
namespace {

namespace fs = std::filesystem;

/// The file to write. Throws Error(usage) unless it is a .cu file below the working directory.
fs::path kernel_path(const std::string& given) {
  if (fs::path(given).extension() != ".cu")
    fail(ExitCode::usage, "path '{}': expected a name ending in .cu", given);
  return below_working_directory(given, "path");
}

/// Makes sure that what is there may be replaced: nothing, or a file where `overwrite`. Leaves an empty file
/// where nothing was, so that no one else's comes in between.
void claim(const fs::path& file, bool overwrite) {
  if (overwrite && fs::is_regular_file(fs::symlink_status(file))) return;
  const FileDescriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (made) return;
  if (errno == EEXIST)
    fail(ExitCode::usage, "{} is there already; {}", file.string(),
         overwrite ? "it is not a regular file" : "say overwrite: true to replace it");
  fail(ExitCode::output, "cannot write {}", file.string());
}

/// The fastest verified variant; GPU times go before emulated costs.
std::int64_t champion(const std::string& definition, const Json& request, const Context& context) {
  std::string where = fmt::format("definition = {}", db::sql_text(definition));
  if (request.contains("arch")) where += fmt::format(" AND arch = {}", db::sql_text(request["arch"]));
  const db::Table table = db::query(
      context.database,
      fmt::format(
          "SELECT variant FROM leaderboard WHERE {} ORDER BY score_us IS NULL, score_us, emulated_cost_us",
          where),
      1, kQueryTimeLimit);
  if (table.rows.empty()) fail(ExitCode::usage, "the database has no verified kernel with {}", where);
  return std::get<std::int64_t>(table.rows.front()[0]);
}

bool verified(std::int64_t variant, const Context& context) {
  const std::string sql = fmt::format("SELECT 1 FROM leaderboard WHERE variant = {}", variant);
  return !db::query(context.database, sql, 1, kQueryTimeLimit).rows.empty();
}

std::int64_t chosen_variant(const Json& request, const Context& context) {
  if (request.contains("variant")) return request["variant"];
  const auto instance = instance_of(problem_of(request, ""), request, {});
  return champion(instance->definition.name, request, context);
}

}  // namespace

Answer save_kernel(const Json& request, const Context& context, const Callbacks&) {
  const fs::path file = kernel_path(request["path"]);
  const std::int64_t variant = chosen_variant(request, context);
  const KernelTask task =
      kernel_task({{"variant", variant}, {"problem", request.value("problem", "")}}, context);
  const std::string text = codegen::emit_kernel(*task.problem, task.kernel.candidate);
  claim(file, request.at("overwrite").get<bool>());
  write_file_atomically(file, text);
  Json json{{"path", file.string()},
            {"bytes", text.size()},
            {"variant", variant},
            {"problem", task.problem->definition.name},
            {"verified", verified(variant, context)}};
  json["note"] = "it says what it was made for: evaluate takes its path without problem and params";
  return {.content = std::move(json)};
}

}  // namespace ak::operations
