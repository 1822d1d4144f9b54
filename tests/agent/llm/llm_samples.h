// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/llm/api/dialect.h"

namespace ak::agent::test {

/// The same answer in each dialect, whole and as a stream.
struct Sample {
  const Dialect* dialect;
  std::string whole, stream;
  std::size_t text_end;  ///< a stream shorter than this is not complete
};
inline const std::string kSampleText = "H\xc3\xa9llo \xf0\x9f\x98\x80\n\"done\"";
[[nodiscard]] const std::vector<Sample>& samples();

}  // namespace ak::agent::test
