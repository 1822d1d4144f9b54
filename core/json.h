// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

namespace ak {

/// Objects keep the order they were written in: FlashInfer-Bench gives the order of inputs a meaning.
using Json = nlohmann::ordered_json;

}  // namespace ak
