// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_image.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json.h"

namespace ak::app {
namespace {

constexpr std::string_view kImageFormat = "alphakernel.kernel_image";
constexpr int kImageVersion = 1;

}  // namespace

std::string image_path(const std::string& operator_name, const Arch& arch) {
  return fmt::format("images/{}.{}.json", operator_name, arch.sm());
}

std::string image_text(const BuildResult& build) {
  BuildResult kept = build;
  kept.log.clear();  // what a compiler says may name folders of the machine
  return Json{{"format", kImageFormat}, {"version", kImageVersion}, {"build", to_json(kept)}}.dump() + "\n";
}

BuildResult read_image(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    fail(ExitCode::bad_input, "{} is missing: this package was built without images; build it again",
         file.string());
  const Json json = try_parse_json(read_file(file));
  if (!says_format(json, kImageFormat) || !json.contains("build"))
    fail(ExitCode::bad_input, "{} is no \"{}\"", file.string(), kImageFormat);
  if (json.value("version", Json(1)) > Json(kImageVersion))
    fail(ExitCode::bad_input, "{} has version {}; this AlphaKernel reads {}: update AlphaKernel",
         file.string(), json.at("version").dump(), kImageVersion);
  try {
    return build_result_from_json(json.at("build"));
  } catch (const std::exception& broken) {
    fail(ExitCode::bad_input, "{}: {}", file.string(), broken.what());
  }
}

}  // namespace ak::app
