// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

namespace ak::app {

/// What a model is shown of a paper.
struct PaperText {
  std::string text;
  std::string note = {};  ///< what of it was left out; empty: nothing
};

/// Reads a text (.txt, .md, .tex and others, UTF-8), or a PDF with pdftotext, where that is installed. Throws
/// Error(bad_input) for a file that is missing, empty, binary or far too large, Error(environment) for a PDF without
/// pdftotext.
[[nodiscard]] PaperText read_paper(const std::filesystem::path& file, const std::atomic<bool>* stop);

}  // namespace ak::app
