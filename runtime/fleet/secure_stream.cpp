// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/secure_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "runtime/fleet/token_file.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;
using TimePoint = steady_clock::time_point;

constexpr std::string_view kTokenPurpose = "AlphaKernel fleet token 1", kGreeting = "AKFLEET1";
constexpr std::size_t kLengthBytes = 4, kReadBytes = std::size_t{1} << 16;
constexpr std::size_t kSealBytes = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr const char* kNoToken = "the other end of the connection does not have this token";

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* raw(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

/// Waits for an event of the socket.
void wait_for(int socket, short events, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd ready{.fd = socket, .events = events, .revents = 0};
    if (left > 0 && ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 1'000))) > 0) return;
    if (left <= 0) fail(ExitCode::environment, "the other end of the connection says nothing");
  }
}

void write_all(int socket, std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    wait_for(socket, POLLOUT, deadline);
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
      fail(ExitCode::environment, "the connection was closed: {}", std::strerror(errno));
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_exactly(int socket, std::size_t size, TimePoint deadline) {
  std::string bytes(size, '\0');
  for (std::size_t got = 0; got < size;) {
    wait_for(socket, POLLIN, deadline);
    const ssize_t count = ::recv(socket, bytes.data() + got, size - got, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      fail(ExitCode::environment, "the other end closed the connection");
    if (count > 0) got += static_cast<std::size_t>(count);
  }
  return bytes;
}

std::uint32_t length_in(std::string_view bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return length;
}

std::string length_of(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>((size >> (8 * i)) & 0xff);
  return bytes;
}

using SessionKey = std::array<unsigned char, crypto_secretstream_xchacha20poly1305_KEYBYTES>;
static_assert(crypto_kx_SESSIONKEYBYTES == crypto_secretstream_xchacha20poly1305_KEYBYTES);

/// The keys of both directions.
struct SessionKeys {
  SessionKey receive{}, send{};
  ~SessionKeys() {
    sodium_memzero(receive.data(), receive.size());
    sodium_memzero(send.data(), send.size());
  }
};

/// Of no use without the token: who only listened, or stood between the two ends, has others.
void mix_in(const FleetToken& token, SessionKey& key) {
  const SessionKey exchanged = key;
  crypto_generichash(key.data(), key.size(), exchanged.data(), exchanged.size(), token.key().data(),
                     token.key().size());
}

void exchange_keys(int socket, const FleetToken& token, SecureStream::End end, TimePoint deadline,
                   SessionKeys& keys) {
  std::array<unsigned char, crypto_kx_PUBLICKEYBYTES> own{};
  std::array<unsigned char, crypto_kx_SECRETKEYBYTES> secret{};
  crypto_kx_keypair(own.data(), secret.data());
  write_all(socket, std::string(kGreeting) + std::string(own.begin(), own.end()), deadline);
  if (read_exactly(socket, kGreeting.size(), deadline) != kGreeting)
    fail(ExitCode::environment, "the other end of the connection is no AlphaKernel of this version");
  const std::string theirs = read_exactly(socket, crypto_kx_PUBLICKEYBYTES, deadline);
  const auto derive =
      end == SecureStream::End::controller ? crypto_kx_server_session_keys : crypto_kx_client_session_keys;
  const int status = derive(keys.receive.data(), keys.send.data(), own.data(), secret.data(), raw(theirs));
  sodium_memzero(secret.data(), secret.size());
  if (status != 0) fail(ExitCode::environment, "the other end of the connection sent no key");
  mix_in(token, keys.receive);
  mix_in(token, keys.send);
}

}  // namespace

void write_fleet_token(const std::filesystem::path& file) {
  std::array<unsigned char, crypto_generichash_KEYBYTES> drawn{};
  std::array<char, 2 * crypto_generichash_KEYBYTES + 1> text{};
  AK_ASSERT(sodium_init() >= 0, "libsodium could not be initialised");
  ::randombytes_buf(drawn.data(), drawn.size());
  ::sodium_bin2hex(text.data(), text.size(), drawn.data(), drawn.size());
  ::unlink(file.c_str());
  const FileDescriptor made(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const auto size = static_cast<ssize_t>(text.size() - 1);
  if (!made || ::write(made.get(), text.data(), text.size() - 1) != size)
    fail(ExitCode::output, "cannot write the token {}: {}", file.string(), std::strerror(errno));
}

FleetToken::FleetToken(const std::filesystem::path& file) {
  std::string text = read_token(file);
  AK_ASSERT(sodium_init() >= 0, "libsodium could not be initialised");
  crypto_generichash(key_.data(), key_.size(), raw(std::string_view(text)), text.size(), raw(kTokenPurpose),
                     kTokenPurpose.size());
  sodium_memzero(text.data(), text.size());
}

FleetToken::~FleetToken() { sodium_memzero(key_.data(), key_.size()); }

SecureStream::SecureStream(FileDescriptor socket, const FleetToken& token, End end, TimePoint deadline)
    : socket_(std::move(socket)) {
  SessionKeys keys;
  exchange_keys(socket_.get(), token, end, deadline, keys);
  std::string header(crypto_secretstream_xchacha20poly1305_HEADERBYTES, '\0');
  crypto_secretstream_xchacha20poly1305_init_push(&push_, raw(header), keys.send.data());
  write_all(socket_.get(), header, deadline);
  const std::string theirs = read_exactly(socket_.get(), header.size(), deadline);
  if (crypto_secretstream_xchacha20poly1305_init_pull(&pull_, raw(theirs), keys.receive.data()) != 0)
    fail(ExitCode::environment, "{}", kNoToken);
}

SecureStream::~SecureStream() {
  sodium_memzero(&push_, sizeof push_);
  sodium_memzero(&pull_, sizeof pull_);
}

void SecureStream::send(std::string_view bytes) {
  seal(bytes, crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
}

void SecureStream::seal(std::string_view bytes, unsigned char tag) {
  AK_ASSERT(bytes.size() <= kFrameBytes, "a frame has a limit");
  std::string sealed(bytes.size() + kSealBytes, '\0');
  crypto_secretstream_xchacha20poly1305_push(&push_, raw(sealed), nullptr, raw(bytes), bytes.size(), nullptr,
                                             0, tag);
  outbox_ += length_of(sealed.size());
  outbox_ += sealed;
}

bool SecureStream::flush() {
  while (has_unsent()) {
    const ssize_t count =
        ::send(socket_.get(), outbox_.data() + sent_, outbox_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    sent_ += static_cast<std::size_t>(count);
  }
  outbox_.clear();
  sent_ = 0;
  return true;
}

bool SecureStream::read_some() {
  std::array<char, kReadBytes> chunk;
  const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  inbox_.append(chunk.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::optional<std::string> SecureStream::next() {
  if (last_ || inbox_.size() < kLengthBytes) return std::nullopt;
  const std::size_t length = length_in(inbox_);
  if (length < kSealBytes || length > kFrameBytes + kSealBytes) fail(ExitCode::environment, "{}", kNoToken);
  if (inbox_.size() < kLengthBytes + length) return std::nullopt;
  std::string content(length - kSealBytes, '\0');
  unsigned char tag = 0;
  const int status = crypto_secretstream_xchacha20poly1305_pull(
      &pull_, raw(content), nullptr, &tag, raw(std::string_view(inbox_)) + kLengthBytes, length, nullptr, 0);
  if (status != 0) fail(ExitCode::environment, "{}", kNoToken);
  inbox_.erase(0, kLengthBytes + length);
  if (tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) {
    last_ = std::move(content);
    return std::nullopt;
  }
  return content;
}

void SecureStream::send_all(std::string_view bytes, TimePoint deadline) {
  send(bytes);
  drain(deadline);
}

void SecureStream::send_last(std::string_view bytes, TimePoint deadline) {
  seal(bytes, crypto_secretstream_xchacha20poly1305_TAG_FINAL);
  drain(deadline);
}

void SecureStream::drain(TimePoint deadline) {
  write_all(socket_.get(), std::string_view(outbox_).substr(sent_), deadline);
  outbox_.clear();
  sent_ = 0;
}

std::string SecureStream::receive(TimePoint deadline) {
  for (;;) {
    if (auto content = next()) {
      if (!content->empty()) return std::move(*content);
      continue;
    }
    wait_for(socket_.get(), POLLIN, deadline);
    if (!read_some())
      fail(ExitCode::environment, "the other end closed the connection, as where the tokens differ");
  }
}

}  // namespace ak::runtime
