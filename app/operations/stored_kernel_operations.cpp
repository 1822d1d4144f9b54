// SPDX-License-Identifier: Apache-2.0
// A kernel of the database: its text, and as a file.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "app/operations/evaluation_brief.h"
#include "app/operations/kernel_request.h"
#include "app/operations/written_path.h"
#include "codegen/emit/emit.h"
#include "core/error.h"
#include "core/text/file.h"
#include "db/database.h"
#include "db/read/table_rows.h"

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

bool verified(std::int64_t variant, const Context& context) {
  const std::string sql = fmt::format("SELECT 1 FROM leaderboard WHERE variant = {}", variant);
  return !db::query(context.database, sql, 1, kQueryTimeLimit).rows.empty();
}

std::int64_t chosen_variant(const Json& request, const Context& context) {
  if (request.contains("variant")) return request["variant"];
  const auto instance = instance_of(problem_of(request, ""), request, {});
  const std::string& definition = instance->definition.name;
  const std::string arch = request.value("arch", "");
  const auto best = app::best_variant(context.database, definition, "", arch);
  if (!best)
    fail(ExitCode::usage, "the database has no verified kernel of '{}'{}", definition,
         arch.empty() ? "" : " for " + arch);
  return *best;
}

/// A kernel of the database with its parameters frozen, as files have it.
struct StoredKernel {
  std::int64_t variant;
  KernelTask task;
  std::string text;
};

StoredKernel stored_kernel(const Json& request, const Context& context) {
  const std::int64_t variant = chosen_variant(request, context);
  KernelTask task = kernel_task({{"variant", variant}, {"problem", request.value("problem", "")}}, context);
  std::string text = codegen::emit_kernel(*task.problem, task.kernel.candidate);
  return {.variant = variant, .task = std::move(task), .text = std::move(text)};
}

/// Adds where the kernel's best time was taken; nothing where it was never verified.
void add_best_time(Json& json, std::int64_t variant, const Context& context) {
  const db::Table table = db::query(
      context.database,
      fmt::format(
          "SELECT device, arch, score_us, emulated_cost_us FROM leaderboard WHERE variant = {} ORDER BY {}",
          variant, app::kBestFirst),
      1, kQueryTimeLimit);
  json["verified"] = !table.rows.empty();
  if (table.rows.empty()) return;
  const db::TableRow row = db::rows_of(table).front();
  json["device"] = row.text("device");
  json["arch"] = row.text("arch");
  for (const char* figure : {"score_us", "emulated_cost_us"})
    if (const auto known = row.known_real(figure)) json[figure] = rounded(*known);
}

}  // namespace

Answer show_kernel(const Json& request, const Context& context, const Callbacks&) {
  const StoredKernel kernel = stored_kernel(request, context);
  const Candidate& candidate = kernel.task.kernel.candidate;
  Json json{{"variant", kernel.variant},
            {"problem", kernel.task.problem->definition.name},
            {"template", fs::path(candidate.name).filename().string()},
            {"tunables", Json::object()},
            {"source", kernel.text}};
  for (const auto& [name, value] : candidate.tunables) json["tunables"][name] = value;
  add_best_time(json, kernel.variant, context);
  return {.content = std::move(json)};
}

Answer save_kernel(const Json& request, const Context& context, const Callbacks&) {
  const fs::path file = kernel_path(request["path"]);
  const StoredKernel kernel = stored_kernel(request, context);
  claim(file, request.at("overwrite").get<bool>());
  write_file_atomically(file, kernel.text);
  Json json{{"path", file.string()},
            {"bytes", kernel.text.size()},
            {"variant", kernel.variant},
            {"problem", kernel.task.problem->definition.name},
            {"verified", verified(kernel.variant, context)}};
  json["note"] = "it says what it was made for: evaluate takes its path without problem and params";
  return {.content = std::move(json)};
}

}  // namespace ak::operations
