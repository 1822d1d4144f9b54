// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/loop.h"
#include "codegen/emit/emit.h"
#include "db/store/session_store.h"

namespace ak::app {

/// Bytes that its user may still write to the disk of this file; nothing where the system does not say.
[[nodiscard]] std::optional<std::int64_t> free_bytes(const std::filesystem::path& file);

/// Alongside the searches of a session, on its own thread: writes their statistics to the database,
/// once a second, and stops them when the session is asked to, is interrupted, or its disk fills up.
class SessionWatch {
 public:
  /// @param min_free_bytes of the database's disk
  /// @param interrupted set by a signal; must outlive this
  SessionWatch(std::filesystem::path database, RowId session, std::int64_t min_free_bytes,
               const std::atomic<bool>& interrupted);
  ~SessionWatch();
  SessionWatch(const SessionWatch&) = delete;
  SessionWatch& operator=(const SessionWatch&) = delete;

  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }
  /// A signal is the reason.
  [[nodiscard]] bool is_interrupted() const { return interrupted_; }
  /// Why, in words; empty while nothing stops.
  [[nodiscard]] std::string reason() const;
  /// The disk is the reason.
  [[nodiscard]] bool disk_is_full() const { return disk_is_full_; }

  /// The figures that follow are of this search; those it has already are added to.
  void begin_run(const db::SessionSearch& run);
  void note(const agent::Progress& progress, const codegen::RunSummary& summary);
  /// Its statistics; also what is stored last.
  db::SessionSearchStats end_run();
  /// Waits this long, or until the session is to stop.
  void rest(std::chrono::milliseconds time);

 private:
  void watch();
  void look(db::SessionStore& store);
  void look_at_disk();
  void end(std::string reason);
  [[nodiscard]] db::SessionSearchStats current_stats() const;

  std::filesystem::path database_;
  RowId session_;
  std::int64_t min_free_bytes_;
  const std::atomic<bool>& interrupted_;
  std::atomic<bool> stop_{false}, disk_is_full_{false};

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool leave_ = false;
  std::string reason_;
  std::optional<RowId> run_;
  db::SessionSearchStats stats_;
  std::chrono::steady_clock::time_point run_began_;
  std::chrono::steady_clock::time_point next_disk_look_{};
  std::thread thread_;
};

}  // namespace ak::app
