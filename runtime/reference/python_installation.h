// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/text/embedded_file.h"

namespace ak::runtime {

class ReferenceStarter;

/// A version of PyTorch as far as anything here asks.
struct TorchVersion {
  int major = 0, minor = 0;
  [[nodiscard]] auto operator<=>(const TorchVersion&) const = default;
};

/// What needs which PyTorch at least (docs/python.md).
struct TorchUse {
  std::string_view what;
  TorchVersion least;
};
inline constexpr std::array kTorchUses{TorchUse{"references", {1, 13}},
                                       TorchUse{"baselines and counts of operations", {2, 1}},
                                       TorchUse{"operators of an exported library", {2, 4}}};
inline constexpr TorchVersion kTorchForReferences = kTorchUses.front().least;

/// A Python interpreter and what it has.
struct PythonInstallation {
  std::string program;                ///< absolute
  std::string version;                ///< "3.11.2"
  std::string torch;                  ///< "1.13.0"; empty: it has no PyTorch
  std::string cuda;                   ///< that PyTorch was built with; empty: for the CPU alone
  std::vector<std::string> path;      ///< where it finds modules
  std::vector<std::string> readable;  ///< the folders of all that

  [[nodiscard]] std::optional<TorchVersion> torch_version() const;
  [[nodiscard]] bool suits(TorchVersion least) const;
};

/// Asks an interpreter, in a moment: PyTorch is not loaded. The error says why it is none.
[[nodiscard]] Result<PythonInstallation> examine_python(const std::string& program);

/// Of the modules that read a user's PyTorch file (runtime/reference/python): name and text.
[[nodiscard]] std::span<const EmbeddedFile> reference_package();

/// This process's environment as far as an interpreter of the user's own may have it: what its environments are found
/// by, and nothing that may hold a secret.
[[nodiscard]] std::vector<std::string> python_environment();

/// The interpreter for references: `wanted` where it is not empty, else $ALPHAKERNEL_PYTHON, and where nothing is
/// named the first `python3` of PATH, then /usr/bin/python3, that has a PyTorch that will do. Throws
/// Error(environment) that says what was tried and what it lacks.
[[nodiscard]] PythonInstallation find_python(const std::string& wanted);

/// Which interpreter references in Python get, and who starts them.
struct PythonChoice {
  std::string program;  ///< empty: find_python() looks for one
  std::shared_ptr<ReferenceStarter> starter =
      nullptr;  ///< null: every device worker starts an interpreter of its own
};

}  // namespace ak::runtime
