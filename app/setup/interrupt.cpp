// SPDX-License-Identifier: Apache-2.0
#include "app/setup/interrupt.h"

#include <csignal>

namespace ak::app {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_interrupt(int) {
  if (stop_requested.exchange(true)) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

void on_termination(int) { stop_requested = true; }

void install(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // No SA_RESTART: a blocking poll must return so that the stop is noticed at once.
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  stop_requested = false;
  install(SIGINT, on_interrupt);
  install(SIGTERM, on_termination);
}
InterruptGuard::~InterruptGuard() {
  for (const int signal_number : {SIGINT, SIGTERM}) install(signal_number, SIG_DFL);
}
const std::atomic<bool>& InterruptGuard::requested() const { return stop_requested; }

}  // namespace ak::app
