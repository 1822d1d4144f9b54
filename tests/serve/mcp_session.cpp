// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/mcp_session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/patience.h"

namespace ak::testing {
namespace {

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

[[noreturn]] void become_server(const Sandbox& box, int in, int out) {
  for (const auto& [name, value] : box.environment) setenv(name.c_str(), value.c_str(), 1);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  if (chdir(box.folder.path().c_str()) != 0) _exit(126);
  execl(AK_PROGRAM, AK_PROGRAM, "mcp", nullptr);
  _exit(127);
}

std::string stat_after_name(pid_t pid) {
  std::string text;
  try {
    text = read_file("/proc/" + std::to_string(pid) + "/stat");
  } catch (const Error&) {
    return "";  // it has ended
  }
  return text.substr(text.rfind(')') + 2);  // "S parent ..."
}

}  // namespace

McpSession::McpSession(const Sandbox& box) {
  std::signal(SIGPIPE, SIG_IGN);
  auto [to_read, to] = make_pipe();
  auto [from, from_write] = make_pipe();
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) become_server(box, to_read.get(), from_write.get());
  in_ = std::move(to);
  out_ = std::move(from);
}

McpSession::~McpSession() { static_cast<void>(finish()); }

void McpSession::send_line(const std::string& line) {
  const std::string bytes = line + "\n";
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = write(in_.get(), bytes.data() + sent, bytes.size() - sent);
    if (count <= 0) throw std::runtime_error("the server does not read");
    sent += static_cast<std::size_t>(count);
  }
}

Json McpSession::receive() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      Json message = parse_json(buffer_.substr(0, end));
      buffer_.erase(0, end + 1);
      if (!message.is_object()) throw std::runtime_error("a line that is not a message");
      return message;
    }
    pollfd ready{.fd = out_.get(), .events = POLLIN, .revents = 0};
    char chunk[4096];
    const ssize_t count = poll(&ready, 1, std::chrono::milliseconds(kPatience).count()) > 0
                              ? read(out_.get(), chunk, sizeof chunk)
                              : 0;
    if (count <= 0) throw std::runtime_error("no answer");
    buffer_.append(chunk, static_cast<std::size_t>(count));
  }
}

Json McpSession::request(const std::string& method, Json params) {
  notifications.clear();
  send({{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", std::move(params)}});
  for (;;) {
    Json message = receive();
    if (message.contains("id") && message["id"] == id_) return message;
    notifications.push_back(std::move(message));
  }
}

Json McpSession::call(const std::string& tool, Json arguments) {
  Json answer = request("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
  if (!answer.contains("result")) throw std::runtime_error(answer.dump());
  return answer["result"];
}

void McpSession::shake_hands(const std::string& version) {
  const Json client{{"name", "test"}, {"version", "1"}};
  const Json params{{"protocolVersion", version}, {"capabilities", Json::object()}, {"clientInfo", client}};
  static_cast<void>(request("initialize", params));
  send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
}

int McpSession::finish() {
  if (pid_ == 0) return -1;
  in_.reset();
  int status = 0;
  const bool ended = in_the_end([&] { return has_ended(pid_); });
  if (!ended) kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, 0), &status, 0);
  if (!ended) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Json stateless(Json params) {
  params["_meta"] = {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                     {"io.modelcontextprotocol/clientCapabilities", Json::object()}};
  return params;
}

std::vector<pid_t> descendants(pid_t pid) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::istringstream stat(stat_after_name(std::stoi(name)));
    char state = 0;
    pid_t parent = 0;
    if (!(stat >> state >> parent) || parent != pid) continue;
    found.push_back(std::stoi(name));
    for (const pid_t below : descendants(found.back())) found.push_back(below);
  }
  return found;
}

bool is_alive(pid_t pid) {
  const std::string stat = stat_after_name(pid);
  return !stat.empty() && stat.front() != 'Z';
}

}  // namespace ak::testing
