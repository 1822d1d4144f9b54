// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_watch.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "core/error.h"
#include "core/text/print_stderr.h"

namespace ak::app {
namespace {

using std::chrono::steady_clock;

// How late a stop is noticed, and how often the database is read and written.
constexpr auto kWatchPoll = std::chrono::milliseconds(100);
constexpr auto kHeartbeat = std::chrono::seconds(1);
constexpr auto kDiskInterval = std::chrono::minutes(1);

}  // namespace

std::optional<std::int64_t> free_bytes(const std::filesystem::path& file) {
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  struct statvfs disk = {};
  if (::statvfs(folder.c_str(), &disk) != 0) return std::nullopt;
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

SessionWatch::SessionWatch(std::filesystem::path database, RowId session, std::int64_t min_free_bytes,
                           const std::atomic<bool>& interrupted)
    : database_(std::move(database)),
      session_(session),
      min_free_bytes_(min_free_bytes),
      interrupted_(interrupted),
      thread_([this] { watch(); }) {}

SessionWatch::~SessionWatch() {
  {
    const std::lock_guard lock(mutex_);
    leave_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::string SessionWatch::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void SessionWatch::begin_run(const db::SessionSearch& run) {
  look_at_disk();
  const std::lock_guard lock(mutex_);
  run_ = run.id;
  stats_ = run.stats;
  run_began_ = steady_clock::now();
}

void SessionWatch::note(const agent::Progress& progress, const codegen::RunSummary& summary) {
  const std::lock_guard lock(mutex_);
  stats_.evaluations = progress.evaluated;
  stats_.verified = progress.verified;
  stats_.in_flight = progress.in_flight;
  stats_.tokens = progress.tokens;
  stats_.cost_usd = progress.cost_usd;
  stats_.best_ns = progress.best_ns;
  stats_.baseline_ns = summary.baseline_ns;
  stats_.baseline = summary.baseline_label;
}

db::SessionSearchStats SessionWatch::current_stats() const {
  db::SessionSearchStats stats = stats_;
  stats.spent_ms +=
      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - run_began_).count();
  return stats;
}

db::SessionSearchStats SessionWatch::end_run() {
  const std::lock_guard lock(mutex_);
  run_.reset();
  return current_stats();
}

void SessionWatch::rest(std::chrono::milliseconds time) {
  const auto until = steady_clock::now() + time;
  while (!stop_ && steady_clock::now() < until) std::this_thread::sleep_for(kWatchPoll);
}

void SessionWatch::end(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = std::move(reason);
  stop_ = true;
}

void SessionWatch::watch() {
  std::optional<db::SessionStore> store;
  auto next = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kWatchPoll, [this] { return leave_; })) {
    lock.unlock();
    if (interrupted_) end("interrupted");
    if (steady_clock::now() >= next) {
      next = steady_clock::now() + kHeartbeat;
      try {
        if (!store) store.emplace(database_);
        look(*store);
      } catch (const Error&) {
        // The figures come late. What is wrong with the database is reported by the search, which
        // cannot do without.
      }
    }
    lock.lock();
  }
}

void SessionWatch::look(db::SessionStore& store) {
  if (store.stop_requested(session_)) end("stopped");
  if (steady_clock::now() >= next_disk_look_) look_at_disk();
  std::unique_lock lock(mutex_);
  if (!run_) return;
  const RowId run = *run_;
  const db::SessionSearchStats stats = current_stats();
  lock.unlock();
  store.note_stats(session_, run, stats);
}

void SessionWatch::look_at_disk() {
  next_disk_look_ = steady_clock::now() + kDiskInterval;
  const auto free = free_bytes(database_);
  if (!free || *free >= min_free_bytes_) return;
  disk_is_full_ = true;
  end(fmt::format("the disk of {} is nearly full: {} MB are free, {} MB are the limit", database_.string(),
                  *free >> 20, min_free_bytes_ >> 20));
}

}  // namespace ak::app
