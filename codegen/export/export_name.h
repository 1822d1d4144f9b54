// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/plan/definition.h"

namespace ak::codegen {

/// What an export is called where its user gives no name: the definition's name as an identifier of C++ and Python. One
/// that had to be changed for that ends in digits of its hash, so that two definitions never share a name.
[[nodiscard]] std::string export_name(const Definition& definition);

/// Why files, functions, a CMake target and a Python package cannot be called so; empty where they can.
[[nodiscard]] std::string name_objection(std::string_view name);

}  // namespace ak::codegen
