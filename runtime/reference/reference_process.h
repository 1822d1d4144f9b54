// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "runtime/process/worker_protocol.h"
#include "runtime/reference/exchange_memory.h"
#include "runtime/reference/reference_life.h"

namespace ak::runtime {

/// What a reference process may take.
struct ReferenceLimits {
  /// PyTorch from a cold disk or a network's takes many seconds (chosen).
  std::chrono::milliseconds start{60'000};
  /// Bytes that it may print between two answers; a reference prints nothing (chosen).
  std::size_t print_bytes = std::size_t{16} << 20;
  std::size_t memory_bytes = 0;  ///< of writable memory of its own (RLIMIT_DATA); 0: most of the machine's
  const std::atomic<bool>* stop =
      nullptr;  ///< asked while it waits, where it is given: true gives the process up
};

struct ReferenceLaunch {
  std::string program;            ///< the Python interpreter, absolute
  std::vector<std::string> path;  ///< where it finds modules
  std::vector<std::string>
      readable;                 ///< files and folders that it may read: its installation, the reference's
  std::string entry = "serve";  ///< module of runtime/reference/python whose main() answers requests
  bool gpu = false;             ///< it may use the driver
  int ordinal = 0;              ///< of that GPU
  int device_memory = -1;       ///< descriptor of memory that the GPU has, borrowed; -1: none
  std::size_t device_memory_bytes = 0;
  int threads = 0;  ///< of PyTorch; 0: its own choice
  /// It is a copy of that one (reference_starter.h); where there is none of the name, an interpreter of its own.
  std::string starter = {};
  /// What it computes, where one that the starter copied may serve others with the same text when this object ends;
  /// it then opens no other file. Empty: it ends.
  std::string shared_as = {};
  ReferenceLimits limits = {};
};

/// Why a request has no answer.
struct ReferenceFailure {
  std::string message;
  bool lost = false;  ///< the process is of no further use: it ended, hung or broke the protocol
};

/// A Python interpreter with PyTorch behind a sandbox (docs/sandbox.md), which answers one request at a time:
/// a line of JSON each way. The modules of runtime/reference/python come through its socket, tensors through
/// `exchange` or the device memory that it was given. It ends when this object, the thread that made it, or the other
/// end of its socket does, or serves another (ReferenceLaunch::shared_as). Nothing that it says is trusted beyond being
/// a result. One thread.
class ReferenceProcess {
 public:
  /// Starts the process and waits until it can be asked. Throws Error(environment) with its last words.
  explicit ReferenceProcess(const ReferenceLaunch& launch);
  ~ReferenceProcess();
  ReferenceProcess(const ReferenceProcess&) = delete;
  ReferenceProcess& operator=(const ReferenceProcess&) = delete;

  /// Sends `request`, whose `do` names a handler of the entry, and waits for its answer.
  [[nodiscard]] Result<Json, ReferenceFailure> ask(Json request, std::chrono::milliseconds limit);

  [[nodiscard]] const ExchangeMemory& exchange() const { return exchange_; }
  [[nodiscard]] bool lost() const { return !socket_; }
  [[nodiscard]] pid_t pid() const { return life_ ? life_->pid() : 0; }
  /// What it said of itself at its start: {torch, device, exchange} of `serve`.
  [[nodiscard]] const Json& facts() const { return facts_; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Step { going, ended, flood };

  bool start(const ReferenceLaunch& launch, TimePoint deadline);
  [[nodiscard]] Result<Json, ReferenceFailure> exchange_lines(std::string request, TimePoint deadline);
  [[nodiscard]] Step move_bytes(std::string& request, TimePoint deadline);
  bool read_answers();
  void read_prints();
  [[nodiscard]] ReferenceFailure lose(const std::string& why);
  [[nodiscard]] std::string end_of_process();
  [[nodiscard]] std::string last_words() const;

  ReferenceLimits limits_;
  ExchangeMemory exchange_;
  FileDescriptor socket_, prints_;
  std::unique_ptr<ReferenceLife> life_;
  std::uint64_t last_id_ = 0;
  LineReader lines_;
  std::string printed_;            ///< the last of it
  std::size_t printed_bytes_ = 0;  ///< since the last answer
  Json facts_;
};

}  // namespace ak::runtime
