// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "core/text/file.h"

namespace ak::mcp {

/// A tool at work in a child process: what it does wrong or takes long ends there, and killing it stops it.
/// The child leads its own process group and is killed when this object or this process ends, its own
/// children with it. For one thread, which has to be the one that started it.
class ToolProcess {
 public:
  /// @param input what it reads from its standard input
  /// Throws Error(environment) when there are no processes or descriptors left.
  ToolProcess(const std::vector<std::string>& argv, std::string_view input);
  ~ToolProcess();
  ToolProcess(ToolProcess&& other) noexcept;
  ToolProcess& operator=(ToolProcess&&) = delete;

  /// To be polled for reading: standard output and error; -1 where one has ended.
  [[nodiscard]] std::array<int, 2> descriptors() const;
  /// Takes what there is without waiting. True once standard output has ended: call end().
  [[nodiscard]] bool drain();
  /// Waits for its end. In words: "ended with code 3", "was killed by signal 6 (Aborted)".
  std::string end();

  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] const std::string& notes() const { return notes_; }  ///< the last of standard error

 private:
  pid_t pid_ = 0;
  FileDescriptor out_, err_;
  std::string output_, notes_;
};

}  // namespace ak::mcp
