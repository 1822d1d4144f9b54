// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/byte_relay.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

// What a pipe takes at once when it is said to be writable (PIPE_BUF), so that a write never blocks.
constexpr std::size_t kWriteBytes = 4'096;

class ByteRelay {
 public:
  ByteRelay(SecureStream& stream, int in, int out) : stream_(stream), in_(in), out_(out) {}

  RelayEnd run() {
    take_frames();  // that came with the greeting
    for (;;) {
      if (in_ended_ && !stream_.has_unsent()) return RelayEnd::local;
      if (gone_ && to_out_.empty()) return RelayEnd::gone;
      if (to_out_.empty() && steady_clock::now() - heard_ > kRelaySilence) return RelayEnd::silent;
      if (!turn()) return RelayEnd::local;
    }
  }

 private:
  /// One wait, and what it showed; false when what came cannot be written any more.
  bool turn() {
    short events = 0;
    if (to_out_.empty()) events |= POLLIN;
    if (stream_.has_unsent()) events |= POLLOUT;
    std::array<pollfd, 3> ready{
        {{.fd = gone_ || events == 0 ? -1 : stream_.descriptor(), .events = events, .revents = 0},
         {.fd = in_ended_ || stream_.has_unsent() ? -1 : in_, .events = POLLIN, .revents = 0},
         {.fd = to_out_.empty() ? -1 : out_, .events = POLLOUT, .revents = 0}}};
    ::poll(ready.data(), ready.size(), static_cast<int>(kRelayHeartbeat.count()));
    if (ready[0].revents != 0) take_from_stream();
    if (ready[1].revents != 0) take_from_in();
    if (ready[2].revents != 0 && !write_out()) return false;
    keep_alive();
    if (!gone_ && !stream_.flush()) gone_ = true;
    return true;
  }

  void take_from_stream() {
    if (!to_out_.empty()) return;
    gone_ = !stream_.read_some();
    take_frames();
  }

  void take_frames() {
    while (const auto content = stream_.next()) {
      to_out_ += *content;
      heard_ = steady_clock::now();
    }
    if (stream_.last()) gone_ = true;
  }

  void take_from_in() {
    std::array<char, SecureStream::kFrameBytes> chunk;
    const ssize_t count = ::read(in_, chunk.data(), chunk.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    in_ended_ = count <= 0;
    if (in_ended_) return;
    stream_.send({chunk.data(), static_cast<std::size_t>(count)});
    said_ = steady_clock::now();
  }

  bool write_out() {
    const ssize_t count = ::write(out_, to_out_.data(), std::min(to_out_.size(), kWriteBytes));
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    to_out_.erase(0, static_cast<std::size_t>(count));
    heard_ = steady_clock::now();  // nobody listened to the connection meanwhile
    return true;
  }

  void keep_alive() {
    if (stream_.has_unsent() || steady_clock::now() - said_ < kRelayHeartbeat) return;
    stream_.send({});
    said_ = steady_clock::now();
  }

  SecureStream& stream_;
  const int in_, out_;
  std::string to_out_;
  bool in_ended_ = false, gone_ = false;
  steady_clock::time_point heard_ = steady_clock::now(), said_ = heard_;
};

}  // namespace

RelayEnd relay(SecureStream& stream, int in, int out) { return ByteRelay(stream, in, out).run(); }

}  // namespace ak::runtime
