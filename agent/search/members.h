// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "agent/search/member.h"

namespace ak::agent {

// The members that several strategies are made of; each is in the file of its name.
/// @param from_best whether it starts again near the best point; otherwise anywhere
[[nodiscard]] std::unique_ptr<Member> local_search(bool from_best);
[[nodiscard]] std::unique_ptr<Member> bayesian();
[[nodiscard]] std::unique_ptr<Member> tree_search();

}  // namespace ak::agent
