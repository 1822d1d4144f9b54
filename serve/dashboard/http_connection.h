// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/file.h"
#include "serve/dashboard/http_request.h"
#include "serve/dashboard/http_response.h"

namespace ak::dashboard {

struct ServerLimits {
  std::size_t connections = 256;  ///< at once; another one takes the place of the oldest without a request
  std::size_t requests = 40;      ///< pages being made or sent at once; more are answered 503
  std::size_t threads = 8;        ///< that make pages
  std::size_t streams = 16;       ///< one a visible tab. More are answered 503
  std::chrono::milliseconds read_time{5'000};     ///< for a whole head, from the connection's first moment
  std::chrono::milliseconds write_time{5'000};    ///< for a client to take the next bytes of an answer
  std::chrono::milliseconds answer_time{60'000};  ///< for it to take a whole answer
  std::chrono::milliseconds heartbeat{15'000};    ///< of streams, so that the page notices when we are gone
};

/// One client's connection, which serves one request: a head is read, a page awaited, an answer written, each
/// within its time; then the client has a moment to close. Never blocks. For one thread.
class HttpConnection {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  enum class State : std::uint8_t { reading, waiting, writing, streaming, closing, closed };

  /// @param socket does not block
  HttpConnection(FileDescriptor socket, const ServerLimits& limits, time_point now);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] short events() const;         ///< to poll for
  [[nodiscard]] time_point deadline() const;  ///< when on_time() is due

  /// While reading: takes what has come. What it is once that is known.
  [[nodiscard]] std::optional<ReadRequest> read();
  /// The request is in other hands until answer().
  void wait() { state_ = State::waiting; }
  /// Begins to send `response`, the only one of this connection; a stream then goes on with what push() is given.
  void answer(const HttpResponse& response, time_point now);
  /// While streaming: sends `event`, instead of one that could not be sent yet.
  void push(std::string_view event, time_point now);
  /// In any state but reading: does what the socket is ready for.
  void on_ready(short events, time_point now);
  /// True when a client that has said something deserves an answer for being late; false: what was due is done.
  [[nodiscard]] bool on_time(time_point now);
  void close() { state_ = State::closed; }

 private:
  void send(time_point now);
  void discard();

  FileDescriptor socket_;
  const ServerLimits& limits_;
  State state_ = State::reading;
  RequestReader reader_;
  bool head_only_ = false;  ///< the request was HEAD
  std::string out_;         ///< what is being sent
  std::size_t sent_ = 0;    ///< of out_
  std::string event_;       ///< of a stream: what comes after out_
  time_point due_;          ///< of the state: the head, the next bytes, the heartbeat, the client's close
  time_point end_ = time_point::max();  ///< of a whole answer
};

}  // namespace ak::dashboard
