// SPDX-License-Identifier: Apache-2.0
#include "tests/serve/running_dashboard.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/patience.h"

namespace ak::testing {

Dashboard::Dashboard(const Sandbox& box, const std::vector<std::string>& extra) {
  std::vector<std::string> command{"dashboard", "--json"};
  command.insert(command.end(), extra.begin(), extra.end());
  command = with_patience(std::move(command));
  command.insert(command.begin(), AK_PROGRAM);
  std::filesystem::remove(box.folder / "out");  // of a dashboard before
  pid_ = start_program(command, box.environment, box.folder.path());
  const auto line = [&] {
    return std::filesystem::exists(box.folder / "out") ? read_file(box.folder / "out") : "";
  };
  REQUIRE(in_the_end([&] { return line().find('\n') != std::string::npos || has_ended(pid_); }));
  const Json said = parse_json(line());
  port_ = said.at("port");
  const std::string url = said.at("url");
  const HttpReply reply = ak::testing::get(port_, url.substr(url.find("/?")));
  REQUIRE(reply.status == 303);
  const std::string cookie = reply.headers.at("set-cookie");
  headers_ = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
}

Dashboard::~Dashboard() {
  if (pid_ > 0) end(SIGKILL);
}

HttpReply Dashboard::get(const std::string& path) const { return ak::testing::get(port_, path, headers_); }

HttpClient Dashboard::stream() const {
  HttpClient client(port_);
  client.send(get_request(port_, "/events", headers_));
  CHECK(client.receive().status == 200);
  return client;
}

int Dashboard::end(int signal_number) {
  kill(pid_, signal_number);
  int status = -1;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

long Dashboard::peak_kib() const {
  const std::string status = read_file(fmt::format("/proc/{}/status", pid_));
  return std::stol(status.substr(status.find("VmHWM:") + 6));
}

}  // namespace ak::testing
