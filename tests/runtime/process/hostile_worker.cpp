// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/process/hostile_worker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <random>

#include "core/build.h"
#include "core/text/hash.h"
#include "runtime/process/device_messages.h"
#include "runtime/process/worker_protocol.h"

namespace ak::runtime::test {
namespace {

/// Which worker of the test this is, from 1.
std::uint64_t number_of_this(const std::filesystem::path& folder) {
  const FileDescriptor file(
      ::open((folder / "started").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat info = {};
  if (::write(file.get(), "x", 1) != 1 || ::fstat(file.get(), &info) != 0) ::_exit(1);
  return static_cast<std::uint64_t>(info.st_size);
}

Json honest_build(const Json& request) {
  const TranslationUnit unit = translation_unit_from_json(request);
  BuildResult result;
  result.outcome = {.status = Status::ok, .stage = StageId::build, .message = "", .diagnostics = {}};
  result.key = sha256_hex(unit.source);
  result.ptx = ".version 9.0\n";
  result.cubin =
      "\x7f"
      "ELF";
  result.log = "ptxas info";
  for (const std::string& name : unit.kernels)
    result.kernels.push_back({.expression = name, .lowered_name = name, .parameter_types = {"u64"}});
  result.nvrtc_version = "13.0";
  return to_json(result);
}

Json honest_answer(const Json& request) {
  DeviceAnswer answer;
  answer.outcome = {.status = Status::ok, .stage = StageId::verdict, .message = "", .diagnostics = {}};
  answer.outcome.diagnostics.push_back(
      {.severity = "note", .message = "all is well", .details = R"({"kind":"x"})"});
  for (const Json& workload : request.at("workloads")) {
    const std::string name = workload.at("workload");
    for (const Json& distribution : workload.at("distributions"))
      answer.checks.push_back(
          {.workload = name, .distribution = distribution, .tensor = "c", .passed = true});
    Measurement measurement;
    measurement.workload = name;
    measurement.samples_ns = {10, 11, 12};
    measurement.median_ns = measurement.ci_low_ns = measurement.ci_high_ns = 11;
    measurement.counts = {{"inst/warp", 7}};
    measurement.line_counts = {{3, {{"inst/warp", 7}}}};
    if (workload.at("time")) answer.measurements.push_back(measurement);
  }
  return to_json(answer);
}

class HostileWorker {
 public:
  HostileWorker(std::filesystem::path folder, std::uint64_t seed)
      : folder_(std::move(folder)), random_(seed * 1'000'003 + number_of_this(folder_)) {}

  int serve() {
    for (std::string line; std::getline(std::cin, line);) {
      const Json request = try_parse_json(line);
      nonce_ = request.at("nonce");
      answer(request.at("type"), request.at("id"), request.at("body"));
    }
    return 0;
  }

 private:
  void answer(const std::string& type, std::uint64_t id, const Json& body) {
    if (type == "hello") return send(0, "hello", greeting());
    if (type == "open")
      return taken_over_ ? attack(id, "opened", Json::object()) : send(id, "opened", Json::object());
    if (type == "compile") return attack(id, "built", honest_build(body));
    if (type == "evaluate") return attack(id, "evaluated", honest_answer(body));
  }

  static Json greeting() {
    return {{"nvrtc_version", "13.0"}, {"archs", {"sm_90a"}}, {"landlock_abi", 3}, {"degradation", ""}};
  }

  void attack(std::uint64_t id, const std::string& type, Json body) {
    taken_over_ = true;
    switch (below(10)) {
      case 0:
        return send(id, type, body);
      case 1:
        return lie_about_progress(id, type, body);
      case 2:
        return break_envelope(id, type, body);
      case 3:
        return write_line(garbage());
      case 4:
        return flood(id, type, body);
      case 5:
        return leave();
      case 6:
        return;  // silence
      default:
        for (std::uint64_t i = 0; i <= below(3); ++i) change(body);
        return send(id, type, body);
    }
  }

  void lie_about_progress(std::uint64_t id, const std::string& type, const Json& body) {
    for (std::uint64_t i = 0; i <= below(5); ++i) {
      Json progress{{"doing", "waiting"}, {"what", "for nothing"}, {"limit_ms", 3.6e6}};
      if (below(2) == 0) change(progress);
      send(id, "progress", progress);
    }
    if (below(2) == 0) send(id, type, body);
  }

  void break_envelope(std::uint64_t id, const std::string& type, const Json& body) {
    Json message = envelope(id, type, body);
    change(message);
    write_line(message.dump());
    if (below(2) == 0) send(id, type, body);
  }

  // Twice, and for tasks that have not been given.
  void flood(std::uint64_t id, const std::string& type, const Json& body) {
    for (std::uint64_t i = 0; i < 50 + below(500); ++i)
      send(id + below(3), below(2) == 0 ? type : "progress", body);
  }

  void leave() {
    if (below(2) == 0) ::raise(below(2) == 0 ? SIGSEGV : SIGKILL);
    ::_exit(static_cast<int>(below(13)));
  }

  std::string garbage() {
    switch (below(4)) {
      case 0:
        return std::string(1 + below(100'000), '[');
      case 1:
        return "{\"v\":1,\"nonce\":\"" + nonce_ + "\",\"id\":1e999,\"type\":\"built\",\"body\":{}}";
      case 2:
        return "";
      default: {
        std::string bytes(below(5'000), ' ');
        for (char& byte : bytes) byte = static_cast<char>(below(256));
        return bytes;
      }
    }
  }

  /// Somewhere in `json`, one value becomes another or is gone.
  void change(Json& json) {
    Json* place = &json;
    while (place->is_structured() && !place->empty() && below(4) != 0) {
      auto next = std::next(place->begin(), static_cast<std::ptrdiff_t>(below(place->size())));
      if (!next->is_structured() || next->empty()) {
        if (below(6) == 0) {
          place->erase(next);
        } else {
          *next = hostile_value();
        }
        return;
      }
      place = &*next;
    }
    *place = hostile_value();
  }

  Json hostile_value() {
    const std::string own = folder_.string();
    const Json values[] = {nullptr,
                           true,
                           -1,
                           0,
                           200,
                           1e300,
                           -1e300,
                           18'446'744'073'709'551'615ULL,
                           INT64_MIN,
                           "",
                           "nan",
                           "-inf",
                           own + "/canary/owned",
                           "../../../canary/owned",
                           sha256_hex("another candidate"),
                           std::string(100'000, 'x'),
                           std::string("\x1b[2J\0\r\n", 7),
                           "ok",
                           "interrupted",
                           "waiting",
                           Json::array(),
                           Json::object(),
                           Json::array({Json::array({1, "two"}), nullptr}),
                           {{"kind", 3}, {"advice", Json::array()}}};
    return values[below(std::size(values))];
  }

  [[nodiscard]] Json envelope(std::uint64_t id, const std::string& type, const Json& body) const {
    return {{"v", 1}, {"id", id}, {"nonce", nonce_}, {"type", type}, {"body", body}, {"prints", "printed"}};
  }
  void send(std::uint64_t id, const std::string& type, const Json& body) {
    write_line(envelope(id, type, body).dump());
  }

  static void write_line(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t count = ::write(STDOUT_FILENO, rest.data(), rest.size());
      if (count <= 0) ::_exit(0);
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  std::filesystem::path folder_;
  std::mt19937_64 random_;
  std::string nonce_;
  bool taken_over_ = false;
};

}  // namespace

int serve_hostile_worker(const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  return HostileWorker(arguments.at(1), std::stoull(arguments.at(2))).serve();
}

}  // namespace ak::runtime::test
