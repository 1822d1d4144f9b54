// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "app/setup/arguments.h"
#include "core/text/json_reader.h"
#include "db/store/session_store.h"

namespace ak::app {

/// Compilations of a search that names no limit of its own.
inline constexpr int kMaxCompilations = 1'000;

/// Limits of all searches of a session together; absent = no limit. Also the JSON in `sessions.budgets`.
struct SessionBudgets {
  std::optional<double> max_minutes, max_cost_usd;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_evaluations = {};
  bool steer = false;  ///< minutes and evaluations go where there is most to gain (app/session/steering.h)
  std::int64_t min_free_mb = 256;       ///< of the database's disk: some thousand evaluations (chosen)
  double wait_for_device_minutes = 10;  ///< a driver that resets a GPU is back within minutes (chosen)
};
[[nodiscard]] Json to_json(const SessionBudgets& budgets);
/// Throws JsonInputError.
[[nodiscard]] SessionBudgets session_budgets_from(const JsonReader& at);

/// The queue of a manifest (docs/sessions.md), in the order in which its searches run. Outputs that are not
/// named are NAME.cu in `outputs`. Throws Error(bad_input) naming the file, the key and what was expected.
[[nodiscard]] db::Session read_session_manifest(const std::filesystem::path& file,
                                                const std::filesystem::path& outputs);

/// The same of a manifest that no file has; its paths are below `folder`. Throws JsonInputError.
[[nodiscard]] db::Session session_from(const Json& manifest, const std::filesystem::path& folder,
                                       const std::filesystem::path& outputs);

/// The queue of one search, with the arguments of `generate`.
[[nodiscard]] db::Session one_search(Arguments arguments);

}  // namespace ak::app
