// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ak::app {

/// A program that a job keeps running: started again when it ends, later and later where it ends soon. One thread, which
/// reaps: it says with note_end() that the process has ended.
class JobProgram {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// @param environment as "NAME=value"; empty: this process's own
  JobProgram(std::vector<std::string> argv, std::vector<std::string> environment)
      : argv_(std::move(argv)), environment_(std::move(environment)) {}

  [[nodiscard]] pid_t pid() const { return pid_; }  ///< 0: it does not run
  [[nodiscard]] bool due(TimePoint now) const { return pid_ == 0 && now >= next_; }
  /// How often in a row it has ended within a minute.
  [[nodiscard]] int soon_ended() const { return soon_ended_; }

  /// The system ends it with SIGTERM when the calling thread ends. Throws Error(environment).
  void start(TimePoint now);
  void note_end(TimePoint now);
  void send(int signal) const;

 private:
  std::vector<std::string> argv_, environment_;
  pid_t pid_ = 0;
  TimePoint began_{}, next_{};
  int soon_ended_ = 0;
};

}  // namespace ak::app
