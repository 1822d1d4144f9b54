// SPDX-License-Identifier: Apache-2.0
#include "app/library/library_locations.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <vector>

#include "core/error.h"

namespace ak::library {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgramName = "alphakernel";

std::mutex holders_mutex;
int holders = 0;  // guarded by holders_mutex

bool is_program(const fs::path& file) {
  return fs::is_regular_file(file) && ::access(file.c_str(), X_OK) == 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> usual_places() {
  std::error_code unreadable;
  std::vector<fs::path> places{fs::read_symlink("/proc/self/exe", unreadable).parent_path() / kProgramName};
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    places.push_back(fs::path(folder) / kProgramName);
  return places;
}

}  // namespace

fs::path find_program(const std::string& named) {
  const std::string said = named.empty() ? variable("ALPHAKERNEL_PROGRAM") : named;
  if (!said.empty()) {
    if (!is_program(said)) fail(ExitCode::environment, "{} is not a program: expected `alphakernel`", said);
    return fs::absolute(said);
  }
  for (const fs::path& place : usual_places()) {
    if (is_program(place)) return fs::canonical(place);
  }
  fail(ExitCode::environment,
       "the program `alphakernel`, which builds and runs kernels, is neither next to this one nor on PATH: "
       "name it in Options::program or ALPHAKERNEL_PROGRAM");
}

LocationsHold::LocationsHold(const Locations& wanted) {
  const std::scoped_lock lock(holders_mutex);
  if (holders > 0 && locations() != wanted)
    fail(ExitCode::usage,
         "another Library of this process has another program, config or templates; all must have the same");
  set_locations(wanted);
  ++holders;
}

LocationsHold::~LocationsHold() {
  const std::scoped_lock lock(holders_mutex);
  if (--holders == 0) set_locations({});
}

}  // namespace ak::library
