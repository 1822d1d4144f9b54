// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/text/file.h"
#include "core/text/hash.h"
#include "runtime/reference/device_exchange.h"
#include "runtime/reference/python_installation.h"
#include "runtime/reference/reference_process.h"
#include "runtime/reference/reference_starter.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_folder.h"

namespace ak::testing {

/// One of this program: it takes two seconds to import PyTorch.
inline runtime::ReferenceStarter& shared_starter() {
  static runtime::ReferenceStarter starter;
  return starter;
}

/// For tests of what is the same for an interpreter of its own and for a copy of a starter: the name of one, or none.
inline std::string starter_or_none(runtime::ReferenceStarter& starter,
                                   const runtime::PythonInstallation& python) {
  return GENERATE(false, true) ? starter.offer(python) : "";
}

/// reference.py in a folder of its own, and a process that can be asked about it.
struct StartedReference {
  std::shared_ptr<TemporaryFolder> folder = std::make_shared<TemporaryFolder>();
  runtime::ReferenceProcess process;

  explicit StartedReference(const runtime::PythonInstallation& python, runtime::ReferenceLimits limits = {},
                            bool gpu = false, const runtime::DeviceExchange* memory = nullptr,
                            const std::string& starter = {})
      : process({.program = python.program,
                 .path = python.path,
                 .readable = readable(python, folder->path()),
                 .gpu = gpu,
                 .device_memory = memory != nullptr ? memory->descriptor() : -1,
                 .device_memory_bytes = memory != nullptr ? memory->bytes() : 0,
                 .threads = 1,
                 .starter = starter,
                 .limits = limits}) {}
  /// One that others may have after it, or the one that they had. `device_memory`: a descriptor, borrowed; -1: none.
  StartedReference(const runtime::PythonInstallation& python, const std::string& starter,
                   const std::string& shared_as, std::shared_ptr<TemporaryFolder> shared,
                   int device_memory = -1)
      : folder(std::move(shared)),
        process({.program = python.program,
                 .path = python.path,
                 .readable = readable(python, folder->path()),
                 .device_memory = device_memory,
                 .threads = 1,
                 .starter = starter,
                 .shared_as = shared_as}) {}

  static std::vector<std::string> readable(const runtime::PythonInstallation& python,
                                           const std::filesystem::path& folder) {
    std::vector<std::string> all = python.readable;
    all.push_back(folder.string());
    return all;
  }

  /// Tensors: a vector x and a vector y of 4 elements.
  Result<Json, runtime::ReferenceFailure> open(const std::string& source,
                                               const std::string& dtype = "float32") {
    const std::string file = (*folder / "reference.py").string();
    write_file_atomically(file, source);
    const auto tensor = [&](const char* name, bool output) {
      return Json{{"name", name}, {"dtype", dtype}, {"output", output}, {"scalar", false}};
    };
    return process.ask({{"do", "open"},
                        {"file", file},
                        {"source_hash", sha256_hex(source)},
                        {"kind", "function"},
                        {"options", Json::object()},
                        {"tensors", {tensor("x", false), tensor("y", true)}}},
                       kPatience);
  }

  Result<Json, runtime::ReferenceFailure> compute(std::chrono::milliseconds limit = kPatience) {
    auto at = select(4, limit);
    // Zeros, which the exchange memory begins with.
    if (at) at = process.ask({{"do", "put"}, {"tensor", 0}, {"offset", 0}, {"bytes", 16}}, limit);
    return at ? compute_twin(limit) : at;
  }
  /// A workload of `count` elements.
  Result<Json, runtime::ReferenceFailure> select(std::size_t count,
                                                 std::chrono::milliseconds limit = kPatience) {
    return process.ask({{"do", "workload"}, {"axes", {{"N", count}}}, {"shapes", {{count}, {count}}}}, limit);
  }
  Result<Json, runtime::ReferenceFailure> compute_twin(std::chrono::milliseconds limit = kPatience) {
    return process.ask({{"do", "compute"}, {"part", "twin"}, {"mutation", ""}, {"scalars", Json::object()}},
                       limit);
  }

  /// What it says of a function `run` with this body.
  std::string refusal_of(const std::string& body, std::chrono::milliseconds limit = kPatience) {
    auto answer = open("import torch\nseen = []\ndef run(x):\n    " + body + "\n");
    if (answer) answer = compute(limit);
    return answer ? "" : answer.error().message;
  }
};

}  // namespace ak::testing
