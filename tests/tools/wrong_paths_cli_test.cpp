// SPDX-License-Identifier: Apache-2.0
// Every verb that reads a path, with each kind of path that it cannot read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPath = "PATH";  // in its place the verb gets the path

/// What a path names that is no file of AlphaKernel, by its name.
void make_wrong_things(const Sandbox& box, const std::string& end) {
  fs::create_directory(box.folder / ("folder" + end));
  fs::create_symlink("loop" + end, box.folder / ("loop" + end));
  box.write("text" + end, "hello\nworld\n");
  box.write("empty" + end, "");
  std::string noise;
  for (unsigned i = 0; i < 1000; ++i) noise += static_cast<char>(i * 2654435761u >> 24);
  box.write("noise" + end, noise);
  box.write("types" + end,
            R"({"format": [], "version": {}, "name": 5, "runs": 3, "operators": 4, "devices": 7})");
}

const std::vector<std::string> kWrongThings{"missing",    "folder", "loop",  "text",
                                            "text/below", "empty",  "noise", "types"};

struct Reader {
  std::vector<std::string> words;
  std::vector<std::string> right = {};  ///< of the things above, those that it may be given
};

const std::vector<Reader> kReaders{
    {{"best", "lookup", "PATH", "--algorithm", "vector_add", "--shape", "N=1", "--product", "h200"}},
    {{"board", "show", "PATH"}},
    {{"db", "export", "new.db", "--db", "PATH"},
     {"empty"}},  // SQLite takes an empty file for an empty database
    {{"db", "merge", "PATH"}, {"empty"}},
    {{"db", "upgrade", "PATH"}, {"empty"}},
    {{"db", "verify", "--db", "PATH"}, {"empty"}},
    {{"doctor", "--pool", "PATH"}},
    {{"evaluate", "PATH.cu"}},
    {{"evaluate", "PATH.result.json"}},
    {{"exchange", "check", "PATH"}},
    {{"exchange", "import", "PATH"}},
    {{"experiment", "run", "PATH"}},
    {{"explain", "PATH.result.json"}},
    {{"knowledge", "--db", "PATH"}, {"empty"}},
    {{"library", "build", "--plan", "PATH", "--output", "package"}},
    {{"library", "check", "PATH"}},
    {{"library", "plan", "PATH"}},
    {{"library", "plan", "PATH", "--best", "PATH"}},
    {{"mailbox", "list", "PATH"}, {"folder"}},
    {{"mailbox", "show", "PATH"}},
    {{"model", "fit", "--db", "PATH"}},
    {{"occupancy", "PATH.cu"}},
    {{"problem", "check", "PATH"}},
    {{"problem", "confirm", "PATH"}},
    {{"problem", "judge", "PATH"}},
    {{"problem", "new", "made", "--from", "PATH"}},
    {{"query", "--db", "PATH", "SELECT 1"}, {"empty"}},
    {{"report", "--db", "PATH"}, {"empty"}},
    {{"session", "abandon", "1", "--db", "PATH"}},
    {{"session", "resume", "1", "--db", "PATH"}},
    {{"session", "start", "PATH"}},
    {{"session", "status", "--db", "PATH"}},
    {{"simulate", "PATH", "--strategy", "random"}},
    {{"space", "PATH"}}};

int times_in(const std::string& text, const std::string& part) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++times;
  return times;
}

}  // namespace

TEST_CASE("a path that a verb cannot read is named once, in one line, with the exit code of bad input") {
  Sandbox box;
  for (const char* end : {"", ".cu", ".result.json"}) make_wrong_things(box, end);
  const std::vector<int> documented{code(ExitCode::usage), code(ExitCode::bad_input),
                                    code(ExitCode::database)};
  for (const Reader& reader : kReaders) {
    for (const std::string& thing : kWrongThings) {
      if (std::ranges::find(reader.right, thing) != reader.right.end()) continue;
      std::vector<std::string> words = reader.words;
      std::string path;
      for (std::string& word : words) {
        if (!word.starts_with(kPath)) continue;
        word.replace(0, kPath.size(), (box.folder / thing).string());
        path = word;
      }
      const ProgramResult result = box.run(words);
      CAPTURE(words, result.exit_code, result.out, result.err);
      CHECK(std::ranges::find(documented, result.exit_code) != documented.end());
      CHECK(is_one_line(result.err));
      CHECK(result.err.starts_with("error: "));
      CHECK((times_in(result.err, path) == 1 || result.err.find("there is no session") != std::string::npos));
    }
  }
}

TEST_CASE("a database that is missing has one exit code, whatever reads it, and is not made") {
  Sandbox box;
  const std::string file = (box.folder / "missing.db").string();
  for (const Reader& reader : kReaders) {
    if (reader.words.size() < 2 || std::ranges::find(reader.words, "--db") == reader.words.end()) continue;
    if (reader.words[1] == "status") continue;  // of no sessions
    std::vector<std::string> words = reader.words;
    std::ranges::replace(words, std::string(kPath), file);
    const ProgramResult result = box.run(words);
    CAPTURE(words, result.exit_code, result.err);
    CHECK(result.exit_code == code(ExitCode::database));
    CHECK(result.err.find("there is no database") != std::string::npos);
    CHECK_FALSE(fs::exists(file));
  }
}
