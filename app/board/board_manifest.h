// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/text/json.h"

namespace ak::app {

/// A task as the manifest of a board lists it.
struct ListedTask {
  std::string name;  ///< lower-case letters, digits, _
  std::string
      file;  ///< below the folder of tasks or, where it is the board's own, beside the manifest; or empty
  bool own = false;    ///< the file comes with the board
  std::string sha256;  ///< of the file that the template was matched with; empty: any file
  std::string cell;    ///< tasks of one cell are shown together; empty: it is one alone
  std::string note;    ///< what a reader of the page should know
  Json run =
      Json::object();  ///< keys of a session's run (docs/sessions.md); with "algorithm" a template serves it

  [[nodiscard]] bool served_by_template() const { return run.contains("algorithm"); }
};

/// Tasks of a public benchmark, and how each is searched (docs/boards.md).
struct BoardManifest {
  std::filesystem::path file;
  std::string name, question;
  bool other_files = false;        ///< tasks of the folder that are not listed belong to it, too
  Json defaults = Json::object();  ///< keys of every run
  std::vector<ListedTask> tasks;

  [[nodiscard]] bool needs_folder() const;  ///< of tasks that do not come with it
};

/// A name for what is called so: "19_ReLU" is "19_relu".
[[nodiscard]] std::string task_name(std::string_view text);

/// Throws Error(bad_input) naming the file, the key and what was expected.
[[nodiscard]] BoardManifest read_board_manifest(const std::filesystem::path& file);

/// The text of a board's own file, which may be compiled in. Throws Error(bad_input).
[[nodiscard]] std::string own_file_text(const BoardManifest& manifest, const std::string& file);

/// Those of $ALPHAKERNEL_BOARDS (folders with colons between), the installed tree and the source tree, then those that
/// are compiled in, sorted by name; the first of a name hides the others.
[[nodiscard]] std::vector<std::filesystem::path> list_board_manifests();

/// The file itself, or the known board of that name. Throws Error(usage) with the nearest known name.
[[nodiscard]] std::filesystem::path find_board_manifest(const std::string& file_or_name);

}  // namespace ak::app
