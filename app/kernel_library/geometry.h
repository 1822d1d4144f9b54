// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/kernel_library/model_kind.h"
#include "core/text/json.h"

namespace ak::app {

/// The sizes of a model, of one kind.
struct Geometry {
  ModelKind kind;
  std::string name;    ///< of the model: the file's stem where it says none
  Environment values;  ///< every size, text and flag of the kind, its `let`, and model_type
  Json json;           ///< sizes, texts and flags by name
  std::vector<std::string> not_described = {};  ///< "num_experts: experts of the feed-forward"
  std::vector<std::string> notes = {};
};

struct GeometryRequest {
  std::filesystem::path file;  ///< a geometry file, or config.json of a model of Hugging Face
  std::filesystem::path kind;  ///< a file of ModelKind; empty: the shipped one of the model's type
  std::string dtype = {}, quantisation = {};  ///< instead of what the file says; empty: as it says
};

/// Throws Error(bad_input) naming the file, the key and what was expected: text that is no JSON, a size that is missing,
/// no integer or too small, a word that is none of the choices, sizes that do not fit each other, an unknown type of
/// model; Error(usage) for dtype and quantisation.
[[nodiscard]] Geometry read_geometry(const GeometryRequest& request);

/// Adds values of `named`, each over `environment` and those before it. Throws Error(bad_input) naming `where`.
void add_values(Environment& environment, const NamedExpressions& named, const std::string& where);

}  // namespace ak::app
