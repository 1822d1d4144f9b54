// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/result.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json.h"

namespace ak::runtime {

inline constexpr Format kProtocolFormat{.name = "a message between AlphaKernel and its worker", .key = "v"};
/// Above any translation unit, cubin or plan; a peer that sends more is broken or hostile.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{256} << 20;
/// Silence of the parent after which a worker ends itself (docs/worker_protocol.md).
inline constexpr std::chrono::milliseconds kSilenceLimit{10'000};
inline constexpr std::chrono::milliseconds kHeartbeatInterval{1'000};
/// Exit codes of a worker in addition to those of core/error.h (docs/worker_protocol.md).
inline constexpr int kExitSilentParent = 10, kExitOutOfMemory = 11, kExitConnectionLost = 12;
/// What a worker keeps of its own standard output and error: the last bytes, attached to the next answer.
inline constexpr std::size_t kPrintBytes = std::size_t{64} << 10;

/// One line of the protocol. `id` numbers requests (0: handshake and heartbeats); an answer repeats it.
struct WorkerMessage {
  std::uint64_t id = 0;
  std::string type;
  Json body = Json::object();
  std::string prints;  ///< of an answer: what the worker's process printed; data, never parsed
};

/// One line, newline included.
[[nodiscard]] std::string encode(const WorkerMessage& message, std::string_view nonce);
/// Inverse. The error names what is wrong: no JSON, another version, a wrong nonce, a missing key. An empty
/// `nonce` accepts any (a worker reading its parent's hello).
[[nodiscard]] Result<WorkerMessage> decode(std::string_view line, std::string_view nonce);

/// Cuts a stream of bytes into lines.
class LineReader {
 public:
  explicit LineReader(std::size_t limit_bytes = kMaxMessageBytes) : limit_bytes_(limit_bytes) {}
  /// False when a line exceeds the limit; the stream is then useless.
  [[nodiscard]] bool feed(std::string_view bytes);
  [[nodiscard]] std::optional<std::string> next();

 private:
  std::size_t limit_bytes_;
  std::deque<std::string> lines_;
  std::string partial_;
};

/// Answers a request that is none of the worker's role (tests).
using RequestHandler = Json (*)(const WorkerMessage& request);

/// The worker's end. Construct it before anything else in the process (before any CUDA or NVRTC call): it
/// moves standard input and output to private close-on-exec descriptors and points 0 at /dev/null, 1 and 2 at
/// a pipe that a thread drains, so that nothing a candidate prints can look like an answer. Another thread
/// reads the protocol and ends the process (_exit) when the parent's end closes or it stays silent, however
/// stuck the other threads are. receive and respond are for one thread; one instance per process.
class WorkerChannel {
 public:
  WorkerChannel();
  ~WorkerChannel();
  WorkerChannel(const WorkerChannel&) = delete;
  WorkerChannel& operator=(const WorkerChannel&) = delete;

  /// Waits for the parent's hello and adopts its nonce. The hello's body, or what was wrong with it.
  [[nodiscard]] Result<Json> await_hello();
  /// Answers it. `facts` says what this worker is: versions, degradations.
  void answer_hello(Json facts);

  /// Ends the process with kExitOutOfMemory when its resident memory passes this.
  void limit_resident_memory(std::size_t bytes);

  /// Next request in order of arrival; nothing when the parent asked for shutdown, closed its end or sent
  /// something malformed: then return from the serve function.
  [[nodiscard]] std::optional<WorkerMessage> receive();
  /// Answers `request`, with everything printed since the last answer attached.
  void respond(const WorkerMessage& request, std::string type, Json body);

 private:
  /// A line as it came, or already decoded.
  struct ReceivedLine {
    std::string text;
    std::optional<Result<WorkerMessage>> message;
  };

  void read_loop();
  bool take_bytes();
  void accept_lines();
  void close_queue();
  void drain_loop();
  void drain_prints();
  std::string take_prints();
  void send_line(std::string_view line);
  std::optional<ReceivedLine> next_line();

  FileDescriptor input_, output_, errors_, prints_, stop_;
  std::string nonce_;
  LineReader lines_;
  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<ReceivedLine> queue_;
  bool closed_ = false;
  std::mutex print_mutex_;
  std::string print_ring_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> resident_limit_{0};  ///< bytes; 0: none
  std::thread reader_, drainer_;
};

}  // namespace ak::runtime
