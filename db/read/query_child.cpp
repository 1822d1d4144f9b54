// SPDX-License-Identifier: Apache-2.0
// The process that runs one query: it bounds itself, answers and ends.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>

#include "db/read/query_message.h"
#include "db/read/query_process.h"
#include "db/read/reader.h"
#include "db/sqlite.h"

namespace ak::db {
namespace {

// After the deadline, for SQLite to notice it between two of its steps and for the message that says so.
constexpr std::chrono::milliseconds kNoticeTime{200};
// Processor time after the deadline, for the answer to be written: some 0.2 s for one of 256 MiB.
constexpr std::chrono::seconds kWritingTime{2};

std::string read_request_bytes(int input) {
  std::string bytes;
  std::array<char, 64 << 10> chunk;
  for (;;) {
    const ssize_t count = ::read(input, chunk.data(), chunk.size());
    if (count == 0) return bytes;
    if (count > 0) bytes.append(chunk.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR)
      fail(ExitCode::environment, "reading the query: {}", std::strerror(errno));
  }
}

/// Frames on their way to the parent; a parent that is gone ends this process with SIGPIPE.
class FrameWriter {
 public:
  explicit FrameWriter(int output) : output_(output) {}
  void put(const std::string& frame) {
    waiting_ += frame;
    constexpr std::size_t kAtOnce = 64u << 10;  // what a pipe holds
    if (waiting_.size() >= kAtOnce) flush();
  }
  void flush() {
    for (std::string_view rest = waiting_; !rest.empty();) {
      const ssize_t count = ::write(output_, rest.data(), rest.size());
      if (count < 0 && errno != EINTR)
        fail(ExitCode::environment, "answering the query: {}", std::strerror(errno));
      if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
    }
    waiting_.clear();
  }

 private:
  int output_;
  std::string waiting_;
};

void limit(int resource, rlim_t value) {
  rlimit bounds{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &bounds);
  bounds.rlim_max = std::min(bounds.rlim_max, value);
  bounds.rlim_cur = std::min(bounds.rlim_cur, bounds.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &bounds);
}

/// The alarm ends the process, also within one long step of SQLite's; zero takes it back.
void set_alarm(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  itimerval timer{};
  timer.it_value.tv_sec = seconds.count();
  timer.it_value.tv_usec = std::chrono::microseconds(time - seconds).count();
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void bound_process(std::chrono::milliseconds time) {
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, kMaxQueryFiles);
  limit(RLIMIT_FSIZE, kMaxQueryFileBytes);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond it fails instead
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(time) + kWritingTime;
  limit(RLIMIT_CPU, static_cast<rlim_t>(seconds.count()));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The sanitizers reserve terabytes of address space.
  limit(RLIMIT_AS, kMaxQueryProcessBytes);
#endif
  sqlite3_hard_heap_limit64(kMaxQueryHeapBytes);
  set_alarm(time + kNoticeTime);
}

/// What was reached, of the bounds that SQLite meets as failures of the system; empty: it is another failure.
std::string bound_reached(int result) {
  if ((result & 0xff) == SQLITE_NOMEM)
    return fmt::format("more than {} MiB of memory", kMaxQueryHeapBytes >> 20);
  const bool file = (result & 0xff) == SQLITE_FULL || (result & 0xff) == SQLITE_CANTOPEN ||
                    result == SQLITE_IOERR_WRITE || result == SQLITE_IOERR_GETTEMPPATH;
  // A reader writes to nothing else.
  return file ? fmt::format(
                    "temporary files of more than {} GiB, or than their folder has room for (SQLITE_TMPDIR)",
                    kMaxQueryFileBytes >> 30)
              : "";
}

constexpr const char* kTooMuch =
    "query: it needs {}; narrow it with WHERE, sort and group fewer or shorter columns, or make shorter "
    "values";

Table run_bounded(Reader& reader, const QueryRequest& request) {
  try {
    return reader.query(request.sql, request.row_limit, request.values);
  } catch (const SqliteError& error) {
    const std::string reached = bound_reached(error.result());
    if (reached.empty()) throw;
    fail(ExitCode::bad_input, kTooMuch, reached);
  } catch (const std::bad_alloc&) {
    fail(ExitCode::bad_input, kTooMuch,
         fmt::format("more than {} MiB of memory", kMaxQueryProcessBytes >> 20));
  }
}

void answer(const QueryRequest& request, FrameWriter& writer) {
  Reader reader(request.file, request.time_limit);
  reader.limit_answer(request.answer_limit_bytes);
  const Table table = run_bounded(reader, request);
  set_alarm(std::chrono::milliseconds(0));  // what is left depends on how fast the parent reads
  writer.put(columns_frame(table.columns));
  for (const auto& row : table.rows) writer.put(row_frame(row));
  writer.put(end_frame(table.truncated));
}

}  // namespace

void run_query_child(int input, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const QueryRequest request = decode_request(read_request_bytes(input));
  bound_process(request.time_limit);
  FrameWriter writer(output);
  try {
    answer(request, writer);
  } catch (const Error& error) {
    writer.put(failure_frame(error.code(), error.what()));
  }
  writer.flush();
}

}  // namespace ak::db
