// SPDX-License-Identifier: Apache-2.0
#include "core/text/json.h"

namespace ak {

Json parse_json(std::string_view text) { return Json::parse(text); }

Json try_parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

}  // namespace ak

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<ak::Json>;
template struct nlohmann::ordered_map<std::string, ak::Json>;
template class std::vector<ak::Json>;
