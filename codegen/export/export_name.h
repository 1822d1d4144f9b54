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

/// Why a package cannot have this version; empty where it can. Of PEP 440 the forms that need no rewriting: 1.0, 1.2rc1,
/// 2.0.post1, 2.0.dev3.
[[nodiscard]] std::string version_objection(std::string_view version);

}  // namespace ak::codegen
