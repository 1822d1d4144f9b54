// SPDX-License-Identifier: Apache-2.0
#include "app/setup/interrupt.h"

#include <csignal>

namespace ak::app {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_signal(int signal_number) {
  if (stop_requested.exchange(true)) {
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
  }
}

void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // No SA_RESTART: a blocking poll must return so that the stop is noticed at once.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_requested = false;
  install(on_signal);
}
InterruptGuard::~InterruptGuard() { install(SIG_DFL); }
const std::atomic<bool>& InterruptGuard::requested() const { return stop_requested; }

}  // namespace ak::app
