// SPDX-License-Identifier: Apache-2.0
#include "core/text/json.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<ak::Json>;
template struct nlohmann::ordered_map<std::string, ak::Json>;
template class std::vector<ak::Json>;
