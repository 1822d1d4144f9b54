// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "core/error.h"

namespace ak::runtime {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "alphakernel_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)  // with permissions for the user alone
    fail(ExitCode::environment, "making a folder for temporary files, {}: {}", name, std::strerror(errno));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace ak::runtime
