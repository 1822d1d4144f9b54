// SPDX-License-Identifier: Apache-2.0
#include "core/evaluation.h"

#include "core/error.h"

namespace ak {

std::string_view to_string(MeasurementRole role) {
  switch (role) {
    case MeasurementRole::candidate:
      return "candidate";
    case MeasurementRole::champion:
      return "champion";
    case MeasurementRole::baseline:
      return "baseline";
  }
  AK_ASSERT(false, "every MeasurementRole has a name");
  return "";
}

}  // namespace ak
