// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/reference/python_installation.h"

namespace ak::app {

/// For all that is tried of one file: a module of several operators takes seconds, most of them for each mistake
/// that is tried (chosen).
inline constexpr std::chrono::seconds kDescribeLimit{300};

/// A PyTorch file that is to become a problem folder.
struct PythonSource {
  std::filesystem::path file;  ///< .py, a FlashInfer-Bench definition (.json), or a folder with reference.py
  std::string kind = {};       ///< how it is written (docs/python.md); empty: by its content
  bool eval = false;           ///< its modules run in evaluation mode
  std::chrono::milliseconds limit = kDescribeLimit;  ///< after which its process is ended
  const std::atomic<bool>* stop = nullptr;           ///< where it is given, true ends the making
};

/// What a folder that was made leaves to say.
struct PythonProblem {
  std::string name;
  std::vector<std::string> notes;  ///< what was found of the file
  std::vector<std::string> open;   ///< what is left for the user
  std::string kernel =
      {};  ///< file of the folder with a plain kernel to start from; empty where there is none
  std::string degenerate = {};  ///< evidence that results do not depend on the inputs; empty where they do
};

/// Runs the file in a confined reference process and writes the folder: problem.json, workloads.jsonl,
/// reference.py with the files that it imports from its own folder, and a plain kernel for simple operators. What was
/// written is run once in a fresh process. The folder appears whole or not at all. Any thread. Throws Error(bad_input)
/// with what is wrong with the file, Error(environment) where the process does not start, Error(output) where `folder`
/// exists and is not empty, Error(interrupted) after a stop.
PythonProblem make_python_problem(const std::filesystem::path& folder, const PythonSource& source,
                                  const runtime::PythonInstallation& python);

}  // namespace ak::app
