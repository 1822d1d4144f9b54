// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ak::agent {

struct SseEvent {
  std::string name;  ///< of the `event:` line; empty where there is none
  std::string data;  ///< of the `data:` lines, joined by line feeds
};

/// Server-sent events out of bytes that arrive in any pieces. Lines may end in LF, CR LF or CR; comments,
/// `id:` and `retry:` are passed over; an event without data is none.
class SseParser {
 public:
  using OnEvent = std::function<void(const SseEvent&)>;
  explicit SseParser(OnEvent on_event) : on_event_(std::move(on_event)) {}

  void feed(std::string_view bytes);
  /// The stream has ended: what has come of the last event counts.
  void finish();

 private:
  void line();
  void dispatch();

  OnEvent on_event_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false, after_cr_ = false, first_line_ = true;
};

}  // namespace ak::agent
