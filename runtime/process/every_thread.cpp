// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/every_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace ak::runtime {
namespace {

constexpr std::chrono::seconds kAnswerLimit{1};
// libc starts a thread with every signal blocked, for microseconds.
constexpr std::chrono::milliseconds kUnblockLimit{100};

std::atomic<bool (*)()> current{nullptr};
std::atomic<int> answers{0}, successes{0};

// A signal that arrives after the limit finds no action.
void on_signal(int) {
  const int saved = errno;
  if (bool (*const action)() = current.load(); action != nullptr) {
    if (action()) ++successes;
    ++answers;
  }
  errno = saved;
}

std::set<pid_t> other_threads() {
  std::set<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename().string();
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid != ::gettid()) found.insert(tid);
  }
  return found;
}

bool blocks(pid_t tid, int signal) {
  std::ifstream status("/proc/self/task/" + std::to_string(tid) + "/status");
  for (std::string word; status >> word;) {
    std::uint64_t mask = 0;
    if (word == "SigBlk:" && status >> std::hex >> mask) return (mask >> (signal - 1) & 1) != 0;
  }
  return false;  // the thread has ended
}

template <class Condition>
bool holds_within(std::chrono::milliseconds limit, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace

int run_on_other_threads(bool (*action)()) {
  const int signal = SIGRTMAX;
  struct sigaction handler {};
  handler.sa_handler = on_signal;
  handler.sa_flags = SA_RESTART;
  ::sigaction(signal, &handler, nullptr);
  answers = successes = 0;
  current = action;
  int asked = 0, blocked = 0;
  std::set<pid_t> known;
  // Until a look finds no one new: a thread not yet reached may have started another one meanwhile.
  for (bool found_new = true; found_new;) {
    found_new = false;
    for (const pid_t tid : other_threads()) {
      if (!known.insert(tid).second) continue;
      found_new = true;
      if (!holds_within(kUnblockLimit, [&] { return !blocks(tid, signal); })) {
        ++blocked;
      } else if (::syscall(SYS_tgkill, ::getpid(), tid, signal) == 0) {
        ++asked;
      }
    }
    if (!holds_within(kAnswerLimit, [&] { return answers >= asked; })) break;
  }
  current = nullptr;
  return blocked + asked - successes;
}

}  // namespace ak::runtime
