// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "serve/dashboard/http_request.h"
#include "serve/dashboard/http_response.h"

namespace ak::dashboard {

/// A page that was made, for the connection of that number.
struct MadePage {
  std::uint64_t connection = 0;
  HttpResponse response;
};

/// Threads that make pages. Its members may be called from any thread.
class PageThreads {
 public:
  using Make = std::function<HttpResponse(const HttpRequest&)>;

  /// @param make called on several threads at once; must not throw
  /// @param made called on these threads, after each page
  PageThreads(std::size_t threads, Make make, std::function<void()> made);
  /// Waits for pages in progress; those that no thread has begun are never made.
  ~PageThreads();
  PageThreads(const PageThreads&) = delete;
  PageThreads& operator=(const PageThreads&) = delete;

  void add(std::uint64_t connection, HttpRequest request);
  /// Those that were made since the last call.
  [[nodiscard]] std::vector<MadePage> take();

 private:
  struct Wanted {
    std::uint64_t connection = 0;
    HttpRequest request;
  };
  void work();

  const Make make_;
  const std::function<void()> made_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::deque<Wanted> wanted_;
  std::vector<MadePage> finished_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ak::dashboard
