// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/page_threads.h"

namespace ak::dashboard {

PageThreads::PageThreads(std::size_t threads, Make make, std::function<void()> made)
    : make_(std::move(make)), made_(std::move(made)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

PageThreads::~PageThreads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PageThreads::add(std::uint64_t connection, HttpRequest request) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.push_back({.connection = connection, .request = std::move(request)});
  }
  changed_.notify_one();
}

std::vector<MadePage> PageThreads::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void PageThreads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !wanted_.empty(); });
    if (ending_) return;
    const Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    lock.unlock();
    MadePage page{.connection = wanted.connection, .response = make_(wanted.request)};
    lock.lock();
    finished_.push_back(std::move(page));
    made_();
  }
}

}  // namespace ak::dashboard
