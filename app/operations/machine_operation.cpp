// SPDX-License-Identifier: Apache-2.0
// What the program finds of what it uses.
#include <algorithm>
#include <sstream>

#include "app/machine/examination.h"
#include "app/operations/operation.h"

namespace ak::operations {
namespace {

std::vector<std::string> names_between_commas(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  return names;
}

Json part_json(const app::MachinePart& part) {
  return {{"part", part.part},
          {"present", part.present},
          {"detail", part.detail},
          {"cost", part.present ? "" : part.cost},
          {"remedy", part.present ? "" : part.remedy}};
}

}  // namespace

Answer examine_machine(const Json& request, const Context& context, const Callbacks&) {
  const auto parts = app::examine_machine(context.config, names_between_commas(request.value("models", "")));
  const bool usable = std::ranges::all_of(
      parts, [](const app::MachinePart& part) { return part.present || !part.essential; });
  Json json{{"usable", usable}, {"parts", Json::array()}};
  for (const app::MachinePart& part : parts) json["parts"].push_back(part_json(part));
  return {.content = std::move(json)};
}

}  // namespace ak::operations
