// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/file.h"

namespace ak::runtime {

/// The process behind a ReferenceProcess: where it came from, and how it ends. One thread.
class ReferenceLife {
 public:
  ReferenceLife() = default;
  virtual ~ReferenceLife() = default;
  ReferenceLife(const ReferenceLife&) = delete;
  ReferenceLife& operator=(const ReferenceLife&) = delete;

  [[nodiscard]] virtual pid_t pid() const = 0;
  /// Waits for its end. Its status, as of waitpid(); none where it lives on, or where no one knows.
  [[nodiscard]] virtual std::optional<int> end(std::chrono::milliseconds patience) = 0;
  /// Ends it, whatever it does.
  virtual void kill() = 0;
  /// It is no longer needed, and its socket is closed: it ends, or serves another.
  virtual void let_go() = 0;
};

/// A process whose socket is closed ends by itself, unless the user's code keeps it (chosen).
constexpr std::chrono::milliseconds kEndPatience{500};

/// write(), since a confined process may not send(), and without the signal that a closed end brings.
ssize_t write_quietly(int descriptor, const std::string& bytes);

/// A descriptor that none of a child's places has, which spawn_reference() counts from 0 on.
[[nodiscard]] FileDescriptor above_places(int descriptor);

/// Starts `worker --role reference` as a child of this thread; it gets `descriptors`, which are above_places(), as 0, 1
/// and so on. Throws Error(environment).
[[nodiscard]] std::unique_ptr<ReferenceLife> spawn_reference(const std::vector<int>& descriptors);

/// Throws Error(environment) with what the system says.
[[noreturn]] void fail_to_start_reference(const char* doing);

}  // namespace ak::runtime
