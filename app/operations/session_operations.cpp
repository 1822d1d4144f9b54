// SPDX-License-Identifier: Apache-2.0
// Queues of searches that run on when the caller has gone.
#include <fmt/format.h>

#include "agent/llm/mailbox/mailbox_client.h"
#include "app/operations/evaluation_brief.h"
#include "app/operations/operation.h"
#include "app/operations/page_length.h"
#include "app/operations/written_path.h"
#include "app/session/notification.h"
#include "app/session/session_manifest.h"
#include "app/session/session_process.h"
#include "app/session/session_status.h"
#include "app/slurm/session_job.h"
#include "core/error.h"
#include "db/store/session_store.h"

namespace ak::operations {
namespace {

namespace fs = std::filesystem;

constexpr double kStopTime_s = 120;  // as `alphakernel session stop` waits

/// What a manifest has its searches write lies below the working directory.
void check_written_paths(const db::Session& session) {
  for (const db::SessionSearch& run : session.runs)
    for (std::string flag : {"--output", "--record"}) {
      app::Arguments arguments = run.arguments;
      if (const std::string path = app::take_option(arguments, flag); !path.empty())
        static_cast<void>(below_working_directory(path, fmt::format("{}: {}", run.name, flag.substr(2))));
    }
  constexpr std::string_view kModel = "--model=";
  for (const db::SessionSearch& run : session.runs)
    for (const std::string& argument : run.arguments) {
      if (!argument.starts_with(kModel)) continue;
      const fs::path mailbox = agent::mailbox_folder(argument.substr(kModel.size()));
      if (!mailbox.empty())
        static_cast<void>(below_working_directory(mailbox.string(), fmt::format("{}: model", run.name)));
    }
}

/// Who calls from here neither runs commands nor chooses where facts are sent: the environment of this
/// program says that.
void check_notify(const db::Session& session, const fs::path& manifest) {
  const auto notify = app::notify_of(session);
  if (!notify || (notify->command.empty() && (notify->url.empty() || notify->url.starts_with('$')))) return;
  fail(ExitCode::usage,
       "{}: notify: expected a url that is the name of a variable, such as \"$HOOK\"; commands and addresses "
       "are for `alphakernel session start`",
       manifest.string());
}

/// Of the members of a search what is known; times in us.
Json search_status(const Json& run) {
  Json json{{"name", run["name"]},         {"state", run["state"]},
            {"reason", run["reason"]},     {"evaluations", run["evaluations"]},
            {"verified", run["verified"]}, {"spent_s", run["spent_s"]}};
  const bool emulated = run["emulated"].get<bool>();
  if (!run["verdict"].is_null()) json["verdict"] = run["verdict"];
  if (!run["search"].is_null()) json["search"] = run["search"];
  if (!run["best_ns"].is_null())
    json[emulated ? "emulated_cost_us" : "score_us"] = rounded(run["best_ns"].get<double>() / 1e3);
  if (!run["speedup"].is_null()) {
    json["speedup"] = rounded(run["speedup"].get<double>());
    json["baseline"] = run["baseline"];
  }
  if (!run["left_s"].is_null()) json["left_s"] = rounded(run["left_s"].get<double>());
  return json;
}

Json status_brief(const db::Session& session, bool alive) {
  const Json status = app::status_json(session, alive);
  Json json{{"session", status["session"]}, {"name", status["name"]},       {"state", status["state"]},
            {"reason", status["reason"]},   {"spent_s", status["spent_s"]}, {"tokens", status["tokens"]}};
  for (const char* known : {"exit_code", "cost_usd"})
    if (!status[known].is_null()) json[known] = status[known];
  json["searches"] = Json::array();
  for (const Json& run : status["searches"]) json["searches"].push_back(search_status(run));
  return json;
}

RowId wanted_session(const Json& request, db::SessionStore& store) {
  if (request.contains("session")) return request["session"];
  const auto all = store.all();
  if (all.empty()) fail(ExitCode::usage, "there is no session yet; start_session begins one");
  return all.back();
}

}  // namespace

Answer start_session(const Json& request, const Context& context, const Callbacks&) {
  const fs::path manifest = request["manifest"].get<std::string>();
  const fs::path outputs = fs::absolute(request.at("output_folder").get<std::string>()).lexically_normal();
  const db::Session read = app::read_session_manifest(manifest, outputs);
  check_written_paths(read);
  check_notify(read, manifest);
  const RowId session = app::start_session(manifest, outputs, context.database);
  db::SessionStore store(context.database);
  const db::SessionLock lock(context.database);
  Json json = status_brief(store.read(session), lock.is_taken(session));
  json["log"] = app::session_log(context.database, session).string();
  return {.content = std::move(json)};
}

Answer session_status(const Json& request, const Context& context, const Callbacks&) {
  db::SessionStore store(context.database);
  const db::SessionLock lock(context.database);
  const RowId number = wanted_session(request, store);
  const db::Session session = store.read(number);
  const bool alive = lock.is_taken(number);
  Json json = status_brief(session, alive);
  if (page_length(request).whole) {
    json["record"] = app::status_json(session, alive);
    const auto job = app::job_state_of(context.database, number);
    json["record"]["job"] = job ? app::to_json(*job) : Json();
    json["page"] = app::status_text(session, alive) + (job ? app::job_text(*job) : "");
  }
  return {.content = std::move(json)};
}

Answer stop_session(const Json& request, const Context& context, const Callbacks&) {
  const RowId session = request["session"];
  db::SessionStore store(context.database);
  static_cast<void>(store.read(session));  // that it is there
  if (!app::stop_session(context.database, session, kStopTime_s))
    fail(ExitCode::environment, "session {} was asked to stop and has not ended after {} s", session,
         kStopTime_s);
  return {.content = status_brief(store.read(session), false)};
}

}  // namespace ak::operations
