// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace ak {

/// Sole owner of a C handle. `Close` is a named function that logs a failed release and never throws.
template <class H, auto Close, H Null = H{}>
class UniqueHandle {
 public:
  UniqueHandle() noexcept = default;
  [[nodiscard]] explicit UniqueHandle(H handle) noexcept : handle_(handle) {}
  UniqueHandle(UniqueHandle&& other) noexcept : handle_(other.release()) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueHandle() { reset(); }

  [[nodiscard]] H get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != Null; }
  [[nodiscard]] H release() noexcept { return std::exchange(handle_, Null); }
  void reset(H next = Null) noexcept {
    if (H old = std::exchange(handle_, next); old != Null) Close(old);
  }

 private:
  H handle_ = Null;
};

}  // namespace ak
