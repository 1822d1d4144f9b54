// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/claimed_output.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "app/evaluate/run_files.h"
#include "core/text/hash.h"

namespace ak::app {
namespace {

bool taken(const std::filesystem::path& output) {
  return std::ranges::any_of(run_paths(output).all(), [](const std::filesystem::path& file) {
    std::error_code unreadable;
    return std::filesystem::exists(file, unreadable);
  });
}

/// Binds a socket whose abstract name stands for the path (unix(7)): the kernel lets one process have it, and gives it
/// back however that one ends. Empty where another has it. A system without such names claims nothing, which is no
/// reason not to search.
bool claimed(const std::filesystem::path& output, FileDescriptor& claim) {
  claim = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!claim) return true;
  const std::string name =
      "alphakernel output " + sha256_hex(std::filesystem::absolute(output).lexically_normal().native());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path > 1 + 19 + 64, "a zero, the words and the digest");
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return ::bind(claim.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 || errno != EADDRINUSE;
}

}  // namespace

ClaimedOutput free_output(const std::filesystem::path& wanted) {
  ClaimedOutput output{.path = wanted};
  // The claim first: a run that ends between the two looks leaves its files.
  for (int number = 2; !claimed(output.path, output.claim) || taken(output.path); ++number)
    output.path.replace_filename(fmt::format("{}_{}.cu", wanted.stem().string(), number));
  return output;
}

}  // namespace ak::app
