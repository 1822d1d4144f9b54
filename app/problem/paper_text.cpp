// SPDX-License-Identifier: Apache-2.0
#include "app/problem/paper_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/shown_text.h"
#include "runtime/process/program_output.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// Chosen: 30,000 tokens, which leaves most models room for the rest; papers of twenty pages have about 80,000 bytes.
constexpr std::size_t kMaxPaperBytes = 120'000;
constexpr std::size_t kMaxPaperFile = 64u << 20;  // of a PDF with pictures; chosen
constexpr const char* kPdfPages = "60";           // as many as fit into what a program may write; chosen
constexpr std::chrono::seconds kPdfLimit{60};     // chosen: it takes a second

/// What a program that reads a stranger's file gets of this process's environment.
std::vector<std::string> bare_environment() {
  const char* path = std::getenv("PATH");
  return {fmt::format("PATH={}", path == nullptr ? "/usr/bin:/bin" : path), "LC_ALL=C.UTF-8"};
}

std::string text_of_pdf(const fs::path& file, const std::atomic<bool>* stop) {
  const std::string absolute = fs::absolute(file).string();  // so that it cannot be taken for an option
  const auto text = runtime::output_of({"pdftotext", "-enc", "UTF-8", "-l", kPdfPages, absolute, "-"},
                                       bare_environment(), kPdfLimit, {.stop = stop, .last_words = true});
  if (text) return *text;
  if (stop != nullptr && stop->load()) fail(ExitCode::interrupted, "interrupted");
  if (text.error().message.starts_with("cannot be started"))
    fail(ExitCode::environment,
         "{}: a PDF is read with pdftotext, which is not installed: install poppler-utils, or give the "
         "paper's text as .txt, .md or .tex",
         file.string());
  fail(ExitCode::bad_input, "{}: pdftotext: {}", file.string(), text.error().message);
}

/// A form feed separates pages.
bool is_plain(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || text[0] == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

PaperText read_paper(const fs::path& file, const std::atomic<bool>* stop) {
  require_regular_file(file);
  if (!fs::exists(file)) fail(ExitCode::bad_input, "{}: there is no such file", file.string());
  const std::string bytes = read_file(file, kMaxPaperFile);
  const bool pdf = bytes.starts_with("%PDF");
  PaperText paper{.text = pdf ? text_of_pdf(file, stop) : bytes};
  if (!is_plain(paper.text))
    fail(ExitCode::bad_input,
         "{}: not a text in UTF-8, and no PDF: give the paper's text as .txt, .md or .tex", file.string());
  if (paper.text.find_first_not_of(" \t\r\n\f") == std::string::npos)
    fail(ExitCode::bad_input, "{}: it has no text{}", file.string(),
         pdf ? "; a scanned PDF has pictures alone" : "");
  if (paper.text.size() <= kMaxPaperBytes) return paper;
  const std::size_t all = paper.text.size();
  std::size_t end = paper.text.rfind('\n', kMaxPaperBytes);
  if (end == std::string::npos || end < kMaxPaperBytes / 2) end = kMaxPaperBytes;
  while (end > 0 && (static_cast<unsigned char>(paper.text[end]) & 0xc0u) == 0x80u)
    --end;  // a whole character
  paper.text.resize(end);
  paper.note = fmt::format(
      "{} has {} bytes of text, and the model sees the first {}: a shorter file with the part "
      "that describes the computation says more",
      file.filename().string(), all, end);
  return paper;
}

}  // namespace ak::app
