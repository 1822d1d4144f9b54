// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sodium.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/file.h"

namespace ak::runtime {

/// What the two ends of a connection know of each other: whoever has the token may be a worker, or be one's controller.
/// It is never shown.
class FleetToken {
 public:
  /// A file of at least 32 characters that only its owner may read. Throws Error(bad_input) saying how to make one.
  explicit FleetToken(const std::filesystem::path& file);
  ~FleetToken();
  FleetToken(const FleetToken&) = delete;
  FleetToken& operator=(const FleetToken&) = delete;

  using Key = std::array<unsigned char, crypto_generichash_KEYBYTES>;
  [[nodiscard]] const Key& key() const { return key_; }

 private:
  Key key_{};  ///< derived from the token
};

/// Writes a token that was drawn now into a new file that only its owner may read, in place of one that is there. Throws
/// Error(output).
void write_fleet_token(const std::filesystem::path& file);

/// A connection of which every frame is encrypted and authenticated, in order: X25519 keys made for this connection
/// alone, mixed with the token's key, and libsodium's secretstream (XChaCha20-Poly1305). Who has not the token cannot
/// read, change, replay or add anything; of the connection's end it says nothing. One thread.
class SecureStream {
 public:
  enum class End { controller, worker };
  static constexpr std::size_t kFrameBytes = std::size_t{1} << 16;  ///< of content, at most

  /// Exchanges keys. Blocks until `deadline` at most. Throws Error(environment) when the other end is no AlphaKernel,
  /// or is gone.
  SecureStream(FileDescriptor socket, const FleetToken& token, End end,
               std::chrono::steady_clock::time_point deadline);
  ~SecureStream();
  SecureStream(const SecureStream&) = delete;
  SecureStream& operator=(const SecureStream&) = delete;

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Queues bytes, at most kFrameBytes, as one frame; none are a sign of life.
  void send(std::string_view bytes);
  [[nodiscard]] bool has_unsent() const { return sent_ < outbox_.size(); }
  /// Sends what the system takes now. False when the connection is gone.
  [[nodiscard]] bool flush();

  /// Takes what has come; false when the connection is gone. Throws Error(environment) for a frame that was not made
  /// with the token.
  [[nodiscard]] bool read_some();
  /// The content of the next whole frame that has come; empty ones are signs of life. None after the last one.
  [[nodiscard]] std::optional<std::string> next();

  /// Blocking, for the first frames of a connection: until `deadline` at most, else Error(environment).
  void send_all(std::string_view bytes, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] std::string receive(std::chrono::steady_clock::time_point deadline);
  /// As send_all(), and nothing follows: the other end knows that the connection did not break off.
  void send_last(std::string_view bytes, std::chrono::steady_clock::time_point deadline);
  /// What the other end sent so, once it was taken with next().
  [[nodiscard]] const std::optional<std::string>& last() const { return last_; }

 private:
  void seal(std::string_view bytes, unsigned char tag);
  void drain(std::chrono::steady_clock::time_point deadline);

  FileDescriptor socket_;
  crypto_secretstream_xchacha20poly1305_state push_{}, pull_{};
  std::string outbox_, inbox_;
  std::size_t sent_ = 0;  ///< of outbox_
  std::optional<std::string> last_;
};

}  // namespace ak::runtime
