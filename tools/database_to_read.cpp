// SPDX-License-Identifier: Apache-2.0
#include "tools/database_to_read.h"

#include "db/read/reader.h"

namespace ak::tools {

std::filesystem::path database_to_read(const std::string& flag, const app::Config& config) {
  std::filesystem::path file = app::database_file(flag, config);
  if (std::filesystem::exists(file)) db::upgrade_schema(file);
  return file;
}

}  // namespace ak::tools
