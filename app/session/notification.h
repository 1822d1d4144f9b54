// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/text/json_reader.h"
#include "db/store/session.h"

namespace ak::app {

/// What a session tells someone of.
enum class NotifyEvent : std::uint8_t { end, breakthrough, failure };

/// Whom a session notifies: the key `notify` of its manifest (docs/sessions.md). Kept in
/// `sessions.budgets`, below "notify".
struct NotifySettings {
  std::string url;                       ///< an address, or "$NAME": the environment variable that holds it
  std::vector<std::string> command;      ///< gets the text on its standard input
  std::vector<std::string> environment;  ///< names of further variables that the command gets
  std::vector<NotifyEvent> on;
};

/// Throws JsonInputError naming the key.
[[nodiscard]] NotifySettings notify_from(const JsonReader& at);

/// Throws Error(bad_input) when the address is unusable or its variable is not set.
void check_notify(const NotifySettings& settings);

/// The session's own settings; nothing where it notifies no one.
[[nodiscard]] std::optional<NotifySettings> notify_of(const db::Session& session);

/// The session's limits alone.
[[nodiscard]] Json limits_of(const db::Session& session);

/// A search that has ended is a breakthrough when its kernel was measured on a GPU and is more than 2 % faster than its
/// strongest baseline and than the best that the database knew before.
/// @param known_ns that best; nothing where there was none
[[nodiscard]] bool is_breakthrough(const db::SessionSearch& run, std::optional<double> known_ns);

/// What is said of a search, in one line.
[[nodiscard]] std::string search_sentence(const db::SessionSearch& run);

/// Sends texts. What goes wrong is said in a line without address or key, and is never more than that: at most ten
/// seconds are spent on each text.
class Notifier {
 public:
  /// @param settings nothing: stays silent
  /// @param note gets a line when a text was not delivered
  Notifier(std::optional<NotifySettings> settings, std::function<void(const std::string&)> note)
      : settings_(std::move(settings)), note_(std::move(note)) {}

  /// @param facts an object, sent with the text to an address
  void operator()(NotifyEvent event, const std::string& text, Json facts) const;

 private:
  std::optional<NotifySettings> settings_;
  std::function<void(const std::string&)> note_;
};

}  // namespace ak::app
