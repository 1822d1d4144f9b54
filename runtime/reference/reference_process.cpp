// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/reference_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "core/error.h"
#include "core/text/suggest.h"
#include "runtime/reference/reference_boot.h"
#include "runtime/reference/reference_starter.h"
#include "runtime/reference/reference_worker.h"

namespace ak::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// An answer names shapes and notes; tensors do not travel in it.
constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;
constexpr std::size_t kLastWordsBytes = 600, kPrintsKept = std::size_t{16} << 10;
// Of the machine's memory: the device worker and the system need the rest (chosen).
constexpr double kMemoryShare = 0.75;
std::size_t memory_limit(const ReferenceLimits& limits) {
  struct sysinfo machine {};
  if (limits.memory_bytes > 0 || ::sysinfo(&machine) != 0) return limits.memory_bytes;
  return static_cast<std::size_t>(kMemoryShare * static_cast<double>(machine.totalram) * machine.mem_unit);
}

/// What the entry's main() takes.
Json launch_json(const ReferenceLaunch& launch) {
  return {{"gpu", launch.gpu},
          {"ordinal", launch.ordinal},
          {"device_memory", launch.device_memory_bytes},
          {"one_file", !launch.shared_as.empty()},
          {"threads", launch.threads}};
}

std::string first_lines(const ReferenceLaunch& launch) {
  const ReferenceConfinement confinement{.parent = ::getpid(),
                                         .program = launch.program,
                                         .readable = launch.readable,
                                         .gpu = launch.gpu,
                                         .device_memory = launch.device_memory >= 0,
                                         .memory_bytes = memory_limit(launch.limits)};
  return boot_lines(confinement, {.path = launch.path, .entry = launch.entry, .launch = launch_json(launch)});
}

/// Of copies that are the same but for whom they serve.
std::string key_of(const ReferenceLaunch& launch) {
  if (launch.shared_as.empty()) return {};
  return sha256_hex(
      Json{launch.shared_as, launch_json(launch), launch.path, launch.readable, memory_limit(launch.limits)}
          .dump());
}

CopyRequest copy_request(const ReferenceLaunch& launch, int prints, int socket, int memory) {
  const std::size_t bytes = memory_limit(launch.limits);
  return {.entry = launch.entry,
          .key = key_of(launch),
          .launch = launch_json(launch),
          .memory_bytes = bytes,
          .address_space_bytes = launch.gpu || bytes == 0 ? 0 : bytes + kReferenceMappedBytes,
          .permissions = reference_permissions(launch.readable, launch.gpu),
          .prints = prints,
          .socket = socket,
          .memory = memory,
          .device_memory = launch.device_memory};
}

bool is_passing(int error) { return error == EAGAIN || error == EINTR; }

std::string signal_text(int signal) {
  if (signal == SIGXCPU) return "used up its CPU time";
  const std::string text = fmt::format("was ended by signal {} ({})", signal, ::strsignal(signal));
  return signal == SIGKILL ? text + ", perhaps because the machine ran out of memory" : text;
}

}  // namespace

ReferenceProcess::ReferenceProcess(const ReferenceLaunch& launch)
    : limits_(launch.limits), lines_(kMaxAnswerBytes) {
  const auto deadline = steady_clock::now() + limits_.start;
  std::string hello = Json{{"id", ++last_id_}, {"do", "hello"}}.dump() + "\n";
  const bool copied = start(launch, deadline);
  auto answer = exchange_lines(copied ? std::move(hello) : first_lines(launch) + hello, deadline);
  if (!answer) fail(ExitCode::environment, "starting the reference process: {}", answer.error().message);
  facts_ = std::move(answer).value();
}

/// Whether it is a copy of the starter: then it needs no first lines.
bool ReferenceProcess::start(const ReferenceLaunch& launch, TimePoint deadline) {
  std::array<int, 2> ends{-1, -1}, prints{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail_to_start_reference("a socket pair");
  socket_.reset(ends[0]);
  const FileDescriptor childs_end(ends[1]);
  if (::pipe2(prints.data(), O_CLOEXEC) != 0) fail_to_start_reference("a pipe");
  prints_.reset(prints[0]);
  const FileDescriptor childs_prints(prints[1]);
  for (const int fd : {socket_.get(), prints_.get()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  if (!launch.starter.empty())
    life_ = start_copy(launch.starter,
                       copy_request(launch, childs_prints.get(), childs_end.get(), exchange_.descriptor()),
                       deadline);
  if (life_) return true;
  const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) fail_to_start_reference("/dev/null");
  const FileDescriptor input = above_places(null.get()), output = above_places(childs_prints.get()),
                       socket = above_places(childs_end.get()), memory = above_places(exchange_.descriptor());
  static_assert(kReferenceSocket == 3 && kReferenceMemory == 4 && kReferenceDeviceMemory == 5);
  std::vector<int> inherited{input.get(), output.get(), output.get(), socket.get(), memory.get()};
  FileDescriptor of_device;
  if (launch.device_memory >= 0) {
    of_device = above_places(launch.device_memory);
    inherited.push_back(of_device.get());
  }
  life_ = spawn_reference(inherited);
  return false;
}

ReferenceProcess::~ReferenceProcess() {
  const bool lied_or_hung = lost();
  socket_.reset();
  prints_.reset();
  if (!life_) return;
  if (lied_or_hung) static_cast<void>(end_of_process());
  if (life_) life_->let_go();
}

Result<Json, ReferenceFailure> ReferenceProcess::ask(Json request, milliseconds limit) {
  if (lost()) return ReferenceFailure{"the reference process has ended", true};
  request["id"] = ++last_id_;
  // Its own clock ends what this one does not: CPU time of one thread is no more than the time that passes.
  request["cpu_s"] = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(limit).count()) *
                     std::max(1u, std::thread::hardware_concurrency());
  return exchange_lines(request.dump() + "\n", steady_clock::now() + limit);
}

Result<Json, ReferenceFailure> ReferenceProcess::exchange_lines(std::string request, TimePoint deadline) {
  printed_bytes_ = 0;
  for (;;) {
    const Step step = move_bytes(request, deadline);
    if (limits_.stop != nullptr && *limits_.stop) return lose("was given up");
    if (step == Step::flood) return lose(fmt::format("printed more than {} MiB", limits_.print_bytes >> 20));
    if (const auto line = lines_.next()) {
      const Json answer = try_parse_json(*line);
      if (!answer.is_object() || answer.value("id", Json()) != Json(last_id_))
        return lose("answered what it was not asked");
      if (const auto ok = answer.find("ok"); ok != answer.end() && ok->is_object()) return Json(*ok);
      if (const auto error = answer.find("error"); error != answer.end() && error->is_string())
        return ReferenceFailure{sanitize(error->get_ref<const std::string&>(), kLastWordsBytes)};
      return lose("answered without a result");
    }
    if (step == Step::ended) return lose(end_of_process());
    if (steady_clock::now() >= deadline) return lose("did not answer in time");
  }
}

ReferenceProcess::Step ReferenceProcess::move_bytes(std::string& request, TimePoint deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  const short wanted = static_cast<short>(POLLIN | (request.empty() ? 0 : POLLOUT));
  std::array<pollfd, 2> fds{pollfd{socket_.get(), wanted, 0}, pollfd{prints_.get(), POLLIN, 0}};
  ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000)));
  if ((fds[1].revents & POLLIN) != 0) read_prints();
  if (printed_bytes_ > limits_.print_bytes) return Step::flood;
  if ((fds[0].revents & POLLOUT) != 0) {
    const ssize_t sent = write_quietly(socket_.get(), request);
    if (sent < 0 && !is_passing(errno)) request.clear();  // it has ended: what can be read says how
    if (sent > 0) request.erase(0, static_cast<std::size_t>(sent));
  }
  const bool readable = (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
  return readable && !read_answers() ? Step::ended : Step::going;
}

/// False at the end of the process, and of what can be read.
bool ReferenceProcess::read_answers() {
  std::array<char, 65536> chunk;
  const ssize_t count = ::read(socket_.get(), chunk.data(), chunk.size());
  if (count < 0) return is_passing(errno);
  return count > 0 && lines_.feed({chunk.data(), static_cast<std::size_t>(count)});
}

void ReferenceProcess::read_prints() {
  std::array<char, 65536> chunk;
  const ssize_t count = ::read(prints_.get(), chunk.data(), chunk.size());
  if (count <= 0) return;
  printed_bytes_ += static_cast<std::size_t>(count);
  printed_.append(chunk.data(), static_cast<std::size_t>(count));
  if (printed_.size() > 2 * kPrintsKept) printed_.erase(0, printed_.size() - kPrintsKept);
}

ReferenceFailure ReferenceProcess::lose(const std::string& why) {
  read_prints();
  if (life_) life_->kill();  // it serves no one else
  socket_.reset();
  return {.message = fmt::format("the reference process {}{}", why, last_words()), .lost = true};
}

/// Ends it if it has not ended, and says how it ended.
std::string ReferenceProcess::end_of_process() {
  const std::optional<int> status = life_->end(kEndPatience);
  life_->kill();
  life_.reset();
  if (!status) return "closed its socket";
  return WIFSIGNALED(*status) ? signal_text(WTERMSIG(*status))
                              : fmt::format("ended with exit code {}", WEXITSTATUS(*status));
}

/// "; its last words: ...": what a person needs of what it printed.
std::string ReferenceProcess::last_words() const {
  const std::size_t end = printed_.find_last_not_of(" \n\t\r");
  if (end == std::string::npos) return "";
  const std::size_t begin = end + 1 > kLastWordsBytes ? end + 1 - kLastWordsBytes : 0;
  return "; its last words: " + sanitize(printed_.substr(begin, end + 1 - begin), kLastWordsBytes);
}

}  // namespace ak::runtime
