// SPDX-License-Identifier: Apache-2.0
#include "runtime/fleet/token_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/text/file.h"

namespace ak::runtime {

namespace {

// As many as 192 bits in base64: a token is drawn, not thought of.
constexpr std::size_t kTokenCharacters = 32;
constexpr std::size_t kMostTokenBytes = 4'096;

}  // namespace

std::string read_token(const std::filesystem::path& file) {
  constexpr const char* kHow = "make one with: (umask 077; head -c 32 /dev/urandom | base64 > token)";
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0)
    fail(ExitCode::bad_input, "the token file {}: {}; {}", file.string(), std::strerror(errno), kHow);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    fail(ExitCode::bad_input, "the token file {} may be used by others: chmod 600 {}", file.string(),
         file.string());
  std::string text = read_file(file, kMostTokenBytes);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.size() < kTokenCharacters)
    fail(ExitCode::bad_input, "the token in {} has {} characters, and {} are needed; {}", file.string(),
         text.size(), kTokenCharacters, kHow);
  return text;
}

}  // namespace ak::runtime
