// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/reference_boot.h"

#include "core/text/hash.h"
#include "reference_python_files.h"
#include "runtime/process/system_call_filter.h"

namespace ak::runtime {

std::string boot_lines(const ReferenceConfinement& confinement, const PythonBoot& boot) {
  Json files = Json::object();
  for (const EmbeddedFile& file : reference_python_files())
    if (file.name != kBootFile) files[std::string(file.name)] = file.text;
  const Json python{{"path", boot.path},
                    {"files", std::move(files)},
                    {"entry", boot.entry},
                    {"filter", base64_encode(program_refusal())},
                    {"launch", boot.launch}};
  return to_json(confinement).dump() + "\n" + python.dump() + "\n";
}

}  // namespace ak::runtime
