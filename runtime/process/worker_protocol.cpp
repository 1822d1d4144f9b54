// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/worker_protocol.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/gate.h"
#include "core/text/json_reader.h"
#include "runtime/process/sandbox.h"

namespace ak::runtime {
namespace {

// Time a worker whose parent has gone gets to leave its serve function before it is ended.
constexpr int kGraceMs = 2'000;
constexpr int kPollMs = 200;
// A heartbeat is far shorter; longer lines are parsed by the thread that serves them.
constexpr std::size_t kHeartbeatLineBytes = 256;
constexpr std::size_t kReadBytes = std::size_t{1} << 16;

std::string system_reason() { return std::strerror(errno); }

FileDescriptor private_copy(int fd) {
  // Above 9, so that nothing that expects the standard streams meets it.
  FileDescriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 10));
  if (!copy) fail(ExitCode::environment, "moving descriptor {} of a worker: {}", fd, system_reason());
  return copy;
}

void point(int from, int to) {
  if (::dup2(from, to) < 0) fail(ExitCode::environment, "redirecting descriptor {}: {}", to, system_reason());
}

bool is_heartbeat(const std::string& line, std::string_view nonce) {
  if (line.size() > kHeartbeatLineBytes) return false;
  const auto message = decode(line, nonce);
  return message.ok() && message->type == "heartbeat";
}

bool needs_escape(char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; }

/// Whether a string is written as it is: programs in base64 may have a megabyte, so that eight characters are looked at
/// at once.
bool is_plain(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101u, kTops = 0x80 * kOnes;
  const auto below = [](std::uint64_t eight, std::uint64_t limit) {
    return (eight - kOnes * limit) & ~eight;
  };
  const auto has = [&](std::uint64_t eight, char c) {
    return below(eight ^ kOnes * static_cast<unsigned char>(c), 1);
  };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    // What is above '~' has its top bit set, or is DEL.
    const std::uint64_t found =
        eight | below(eight, ' ') | has(eight, '"') | has(eight, '\\') | has(eight, '\x7f');
    if ((found & kTops) != 0) return false;
  }
  return std::ranges::none_of(text.substr(at), needs_escape);
}

/// About as many as its text has, so that a program is not moved as text is added to it.
std::size_t text_bytes(const Json& value) {
  constexpr std::size_t kMarks = 16;  // quotes, a colon and a comma, or a number
  if (const auto* string = value.get_ptr<const std::string*>()) return string->size() + kMarks;
  std::size_t bytes = kMarks;
  if (value.is_object())
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>())
      bytes += key.size() + text_bytes(member);
  if (value.is_array())
    for (const Json& element : value) bytes += text_bytes(element);
  return bytes;
}

bool append_plain(std::string& text, std::string_view string) {
  const bool plain = is_plain(string);
  if (plain) text.append(1, '"').append(string).append(1, '"');
  return plain;
}

/// As dump() writes it, in a fraction of the time.
void append_json(std::string& text, const Json& value) {
  const auto* string = value.get_ptr<const std::string*>();
  if (string != nullptr && append_plain(text, *string)) return;
  if (value.is_object()) {
    text.push_back('{');
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      if (text.back() != '{') text.push_back(',');
      if (!append_plain(text, key)) append_json(text, Json(key));
      append_json(text.append(1, ':'), member);
    }
    text.push_back('}');
  } else if (value.is_array()) {
    text.push_back('[');
    for (const Json& element : value) {
      if (text.back() != '[') text.push_back(',');
      append_json(text, element);
    }
    text.push_back(']');
  } else {
    text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

}  // namespace

std::string encode(const WorkerMessage& message, std::string_view nonce) {
  Json json;
  set_version(kProtocolFormat, json);
  json["id"] = message.id;
  json["nonce"] = nonce;
  json["type"] = message.type;
  if (!message.prints.empty()) json["prints"] = message.prints;
  std::string line;
  line.reserve(text_bytes(message.body));
  append_json(line, json);
  line.back() = ',';
  append_json(line.append("\"body\":"), message.body);
  return line.append("}\n");
}

Result<WorkerMessage> decode(std::string_view line, std::string_view nonce) {
  Json json = try_parse_json(line);
  if (!json.is_object()) return InputError{"not a JSON object"};
  const auto is = [&](const char* key, auto predicate) { return json.contains(key) && predicate(json[key]); };
  const auto string = [](const Json& value) { return value.is_string(); };
  if (json.contains("v") == false) return InputError{"no protocol version"};
  try {
    json = up_to_date(kProtocolFormat, std::move(json));
  } catch (const JsonInputError& error) {
    return InputError{error.what()};
  }
  if (!is("nonce", string)) return InputError{"no nonce"};
  if (!nonce.empty() && gate_enabled(Gate::private_protocol) &&
      json["nonce"].get_ref<const std::string&>() != nonce)
    return InputError{"wrong nonce"};
  if (!is("id", [](const Json& value) { return value.is_number_unsigned(); })) return InputError{"no id"};
  if (!is("type", string)) return InputError{"no type"};
  if (!is("body", [](const Json& value) { return value.is_object(); })) return InputError{"no body"};
  WorkerMessage message{
      json["id"].get<std::uint64_t>(), json["type"].get<std::string>(), std::move(json["body"]), {}};
  if (is("prints", string)) message.prints = json["prints"].get<std::string>();
  return message;
}

bool LineReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    partial_.append(bytes.substr(0, end));
    if (partial_.size() > limit_bytes_) return false;
    if (end == std::string_view::npos) return true;
    lines_.push_back(std::move(partial_));
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
  return true;
}

std::optional<std::string> LineReader::next() {
  if (lines_.empty()) return std::nullopt;
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

WorkerChannel::WorkerChannel() {
  std::signal(SIGPIPE, SIG_IGN);
  input_ = private_copy(STDIN_FILENO);
  output_ = private_copy(STDOUT_FILENO);
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    fail(ExitCode::environment, "opening a pipe: {}", system_reason());
  prints_.reset(pipe_ends[0]);
  const FileDescriptor write_end(pipe_ends[1]);
  ::fcntl(prints_.get(), F_SETFL, O_NONBLOCK);
  const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  point(null.get(), STDIN_FILENO);
  if (gate_enabled(Gate::private_protocol)) point(write_end.get(), STDOUT_FILENO);
  errors_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10));  // which may be closed
  point(write_end.get(), STDERR_FILENO);
  if (errors_) report_bugs_to(errors_.get());
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  reader_ = std::thread([this] { read_loop(); });
  drainer_ = std::thread([this] { drain_loop(); });
}

WorkerChannel::~WorkerChannel() {
  stopping_ = true;
  ::eventfd_write(stop_.get(), 1);
  reader_.join();
  drainer_.join();
  report_bugs_to(STDERR_FILENO);
}

Result<Json> WorkerChannel::await_hello() {
  const auto line = next_line();
  if (!line) return InputError{"the parent closed the channel before its hello"};
  auto message = decode(line->text, {});
  if (!message) return message.error();
  if (message->type != "hello") return InputError{fmt::format("expected hello, not {}", message->type)};
  const Json json = parse_json(line->text);
  const std::lock_guard lock(queue_mutex_);
  nonce_ = json["nonce"].get<std::string>();
  if (nonce_.empty()) return InputError{"hello with an empty nonce"};
  return std::move(message).value().body;
}

void WorkerChannel::answer_hello(Json facts) {
  facts["protocol"] = kProtocolFormat.current();
  facts["pid"] = ::getpid();
  send_line(encode({0, "hello", std::move(facts), {}}, nonce_));
}

void WorkerChannel::limit_resident_memory(std::size_t bytes) {
  static_cast<void>(resident_bytes());  // which needs to be called before a confinement
  resident_limit_ = bytes;
}

std::optional<WorkerMessage> WorkerChannel::receive() {
  auto line = next_line();
  if (!line) return std::nullopt;
  auto message = line->message ? std::move(*line->message) : decode(line->text, nonce_);
  if (!message || message->type == "shutdown") return std::nullopt;
  return std::move(message).value();
}

void WorkerChannel::respond(const WorkerMessage& request, std::string type, Json body) {
  send_line(encode({request.id, std::move(type), std::move(body), take_prints()}, nonce_));
}

std::optional<WorkerChannel::ReceivedLine> WorkerChannel::next_line() {
  std::unique_lock lock(queue_mutex_);
  queue_changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
  if (queue_.empty()) return std::nullopt;
  ReceivedLine line = std::move(queue_.front());
  queue_.pop_front();
  return line;
}

void WorkerChannel::read_loop() {
  using Clock = std::chrono::steady_clock;
  auto last_sign_of_life = Clock::now();
  while (!stopping_) {
    std::array<pollfd, 2> fds{pollfd{input_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), kPollMs);
    if (fds[0].revents != 0) {
      if (!take_bytes()) return close_queue();
      accept_lines();
      last_sign_of_life = Clock::now();
    }
    // The other threads may be stuck in a compiler or a driver: only ending the process helps.
    if (Clock::now() - last_sign_of_life > kSilenceLimit) ::_exit(kExitSilentParent);
    if (resident_limit_ != 0 && resident_bytes() > resident_limit_) ::_exit(kExitOutOfMemory);
  }
}

bool WorkerChannel::take_bytes() {
  std::array<char, kReadBytes> chunk;
  const ssize_t count = ::read(input_.get(), chunk.data(), chunk.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  return count > 0 && lines_.feed({chunk.data(), static_cast<std::size_t>(count)});
}

// Decoding a task takes over a millisecond: done here, it overlaps with the task before. Before the hello
// there is no nonce to decode with.
void WorkerChannel::accept_lines() {
  while (auto line = lines_.next()) {
    std::unique_lock lock(queue_mutex_);
    const std::string nonce = nonce_;
    lock.unlock();
    if (is_heartbeat(*line, nonce)) continue;
    ReceivedLine received;
    if (nonce.empty()) {
      received.text = std::move(*line);
    } else {
      received.message = decode(*line, nonce);
    }
    lock.lock();
    queue_.push_back(std::move(received));
    queue_changed_.notify_all();
  }
}

void WorkerChannel::close_queue() {
  {
    const std::lock_guard lock(queue_mutex_);
    queue_.clear();  // no one is left to answer
    closed_ = true;
    queue_changed_.notify_all();
  }
  pollfd stop{stop_.get(), POLLIN, 0};
  ::poll(&stop, 1, kGraceMs);
  if (!stopping_) ::_exit(0);
}

void WorkerChannel::drain_loop() {
  while (!stopping_) {
    std::array<pollfd, 2> fds{pollfd{prints_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), -1);
    drain_prints();
  }
}

void WorkerChannel::drain_prints() {
  const std::lock_guard lock(print_mutex_);
  std::array<char, kReadBytes> chunk;
  // Bounded: a flood must not keep the caller here.
  for (int i = 0; i < 16; ++i) {
    const ssize_t count = ::read(prints_.get(), chunk.data(), chunk.size());
    if (count <= 0) return;
    print_ring_.append(chunk.data(), static_cast<std::size_t>(count));
    if (print_ring_.size() > kPrintBytes) print_ring_.erase(0, print_ring_.size() - kPrintBytes);
  }
}

std::string WorkerChannel::take_prints() {
  std::fflush(stdout);
  drain_prints();
  const std::lock_guard lock(print_mutex_);
  return std::exchange(print_ring_, {});
}

void WorkerChannel::send_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t count = ::write(output_.get(), line.data(), line.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(0);  // the parent has gone
    line.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace ak::runtime
