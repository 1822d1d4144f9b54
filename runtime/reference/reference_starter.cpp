// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/reference_starter.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/text/hash.h"
#include "runtime/reference/reference_boot.h"
#include "runtime/reference/reference_worker.h"

namespace ak::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Device workers that may ask while PyTorch is imported: one a core, twice (chosen).
constexpr int kBacklog = 128;

/// A name that begins with a zero byte belongs to no file: nothing of it stays (unix(7)).
struct AbstractAddress {
  sockaddr_un address{};
  socklen_t bytes = 0;

  explicit AbstractAddress(const std::string& name) {
    AK_ASSERT(name.size() + 1 < sizeof address.sun_path, "a short name");
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

FileDescriptor listener_at(const std::string& name) {
  const AbstractAddress at(name);
  FileDescriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!listener || ::bind(listener.get(), at.get(), at.bytes) != 0 || ::listen(listener.get(), kBacklog) != 0)
    fail_to_start_reference("a socket");
  return listener;
}

/// A pipe would hold too little of it, and someone would have to wait while it is read.
FileDescriptor file_with(const std::string& text) {
  FileDescriptor file(::memfd_create("lines", MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    fail_to_start_reference("a file in memory");
  return file;
}

/// Whoever listens there is this user: names are for all.
bool is_ours(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == ::geteuid();
}

FileDescriptor connect_to(const std::string& name) {
  const AbstractAddress at(name);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), at.get(), at.bytes) != 0 || !is_ours(socket.get())) return {};
  return socket;
}

bool send_with(int socket, const std::string& message, const std::vector<int>& descriptors) {
  const std::size_t bytes = descriptors.size() * sizeof(int);
  std::vector<char> control(CMSG_SPACE(bytes));
  iovec part{const_cast<char*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(rights), descriptors.data(), bytes);
  return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

enum class Wait { message, closed, timeout };

/// The next message of the starter: one number.
Wait receive(int socket, steady_clock::time_point deadline, std::int32_t& number) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    pollfd ready{socket, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (count == 0 && left <= 0) return Wait::timeout;
    if (count <= 0) continue;
    // read(): a confined process may not recv().
    return ::read(socket, &number, sizeof number) == sizeof number ? Wait::message : Wait::closed;
  }
}

/// A grandchild, of which the starter tells.
class Copy final : public ReferenceLife {
 public:
  Copy(FileDescriptor socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}

  [[nodiscard]] pid_t pid() const override { return pid_; }
  [[nodiscard]] std::optional<int> end(milliseconds patience) override {
    std::int32_t status = 0;
    if (!socket_ || receive(socket_.get(), steady_clock::now() + patience, status) != Wait::message)
      return std::nullopt;
    socket_.reset();
    return status;
  }
  /// The starter ends a copy of which its socket says anything.
  void kill() override {
    if (socket_) static_cast<void>(write_quietly(socket_.get(), "end"));
    socket_.reset();
  }
  void let_go() override { socket_.reset(); }

 private:
  FileDescriptor socket_;
  pid_t pid_;
};

Json message_of(const CopyRequest& request, const FileRules& rules) {
  Json own = Json::array();
  for (const FileRules::Own& rule : rules.own) own.push_back({rule.path, rule.rights});
  return {{"entry", request.entry},
          {"key", request.key},
          {"launch", request.launch},
          {"memory_bytes", request.memory_bytes},
          {"address_space_bytes", request.address_space_bytes},
          {"own_rules", own},
          {"filter", base64_encode(filter_code(allowed_calls(request.permissions)))},
          {"any_process", kAnyProcess}};
}

}  // namespace

std::string ReferenceStarter::offer(const PythonInstallation& python) {
  const std::lock_guard lock(mutex_);
  const bool alive = process_ != nullptr && !process_->end(milliseconds(0));
  if (!alive || program_ != python.program) start(python);
  return name_;
}

void ReferenceStarter::start(const PythonInstallation& python) {
  process_.reset();
  name_ = fmt::format("alphakernel-{:02x}", fmt::join(random_uid(), ""));
  const ReferenceConfinement confinement{
      .parent = ::getpid(), .program = python.program, .readable = {}, .starter = true};
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) fail_to_start_reference("/dev/null");
  const FileDescriptor streams = above_places(null.get());
  const FileDescriptor lines =
      above_places(file_with(boot_lines(confinement, {.path = python.path, .entry = "starter"})).get());
  const FileDescriptor listener = above_places(listener_at(name_).get());
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start_reference("a pipe");
  lifeline_.reset(ends[1]);
  const FileDescriptor lifeline = above_places(FileDescriptor(ends[0]).get());
  static_assert(kStarterLines == 3 && kStarterListener == 4 && kStarterLifeline == 5);
  process_ = spawn_reference(
      {streams.get(), streams.get(), streams.get(), lines.get(), listener.get(), lifeline.get()});
  program_ = python.program;
}

std::unique_ptr<ReferenceLife> start_copy(const std::string& starter, const CopyRequest& request,
                                          steady_clock::time_point deadline) {
  FileDescriptor socket = connect_to(starter);
  if (!socket) return nullptr;
  const FileRules rules = file_rules(request.permissions);
  Json message = message_of(request, rules);
  Json& places = message["places"] = Json::array();
  std::vector<int> descriptors;
  const auto add = [&](const char* place, int descriptor) {
    if (descriptor < 0) return;
    places.push_back(place);
    descriptors.push_back(descriptor);
  };
  add("prints", request.prints);
  add("socket", request.socket);
  add("memory", request.memory);
  add("device_memory", request.device_memory);
  add("ruleset", rules.ruleset ? rules.ruleset.get() : -1);
  if (!send_with(socket.get(), message.dump(), descriptors)) return nullptr;
  std::int32_t pid = 0;
  const Wait answer = receive(socket.get(), deadline, pid);
  if (answer == Wait::timeout)
    fail(ExitCode::environment, "starting the reference process: PyTorch was not imported in time");
  if (answer == Wait::closed || pid <= 0) return nullptr;
  return std::make_unique<Copy>(std::move(socket), pid);
}

}  // namespace ak::runtime
