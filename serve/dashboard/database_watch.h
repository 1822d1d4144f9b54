// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

namespace ak::dashboard {

/// Looks from its own thread whether a database was written to, at the price of one read of its header,
/// and holds no lock or transaction between. Ends when destroyed.
class DatabaseWatch {
 public:
  /// `changed` is called on the watching thread, with a number that grows.
  DatabaseWatch(std::filesystem::path file, std::chrono::milliseconds interval,
                std::function<void(std::int64_t)> changed);
  ~DatabaseWatch();
  DatabaseWatch(const DatabaseWatch&) = delete;
  DatabaseWatch& operator=(const DatabaseWatch&) = delete;

 private:
  void watch();
  [[nodiscard]] bool pause();

  const std::filesystem::path file_;
  const std::chrono::milliseconds interval_;
  const std::function<void(std::int64_t)> changed_;
  std::mutex mutex_;
  std::condition_variable ending_now_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ak::dashboard
