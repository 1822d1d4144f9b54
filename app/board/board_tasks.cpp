// SPDX-License-Identifier: Apache-2.0
#include "app/board/board_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// Enough of a hash to tell the versions of one file apart (chosen).
constexpr std::size_t kVersionDigits = 8;
// Of a path, to tell files apart whose names are one (chosen).
constexpr std::size_t kPathDigits = 6;
// Next to a file of GPU MODE: what its cases are.
constexpr const char* kCasesFile = "task.yml";

/// False also where it cannot be looked at: a word of a text may be longer than a name can be.
bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_own_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !fs::is_symlink(path, error);
}

/// A file with what decides, too: the cases of GPU MODE.
std::string text_of(const fs::path& file) {
  std::string text = read_file(file);
  const fs::path cases = file.parent_path() / kCasesFile;
  if (file.filename() == "reference.py" && is_file(cases)) text += read_file(cases);
  return text;
}

bool is_of_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Every word of a text of Python: what it imports is among them, also where it does so by a function.
std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_of_word(text[end])) ++end;
    if (end > i) words.emplace(text.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

/// Modules that a text names and that lie in `folder`, or in packages there, with what those name in turn. A module that
/// is only named, in a comment perhaps, is taken too: a search too many is better than one that is not seen to be old.
void add_modules(const std::string& text, const fs::path& folder, std::map<fs::path, std::string>& modules) {
  for (const std::string& word : words_of(text)) {
    const fs::path module = folder / (word + ".py");
    if (is_file(module) && modules.emplace(module, "").second) {
      modules[module] = read_file(module);
      add_modules(modules[module], folder, modules);
    }
    if (!is_own_folder(folder / word)) continue;
    const fs::path init = folder / word / "__init__.py";
    if (is_file(init) && modules.emplace(init, "").second) modules[init] = read_file(init);
    // The text names the modules of a package, or its own __init__.py does.
    if (folder.filename() != word)
      add_modules(text + (modules.contains(init) ? "\n" + modules[init] : ""), folder / word, modules);
  }
}

/// The texts of modules that a task imports from its own folder, with their paths.
std::string imports_of(const fs::path& file, const std::string& text) {
  const fs::path folder = file.parent_path();
  std::map<fs::path, std::string> modules;
  add_modules(text, folder, modules);
  std::string all;
  for (const auto& [module, source] : modules)
    if (module != file)
      all += fmt::format("{}\n{}\n", module.lexically_relative(folder).generic_string(), sha256_hex(source));
  return all;
}

/// Where a board's own file is on the disk: written there, as the board may be compiled in.
fs::path own_file(const BoardManifest& manifest, const BoardFolder& folder, const std::string& file) {
  const fs::path to = folder.path / "own" / file;
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) fail(ExitCode::output, "cannot make {}: {}", to.parent_path().string(), error.message());
  write_file_atomically(to, own_file_text(manifest, file));
  if (to.filename() == "reference.py")
    write_file_atomically(
        to.parent_path() / kCasesFile,
        own_file_text(manifest, (fs::path(file).parent_path() / kCasesFile).generic_string()));
  return to;
}

void look_for_file(FoundTask& task, const BoardManifest& manifest, const BoardFolder& folder) {
  if (task.listed.file.empty()) return;
  const fs::path file =
      task.listed.own ? own_file(manifest, folder, task.listed.file) : folder.tasks_folder / task.listed.file;
  if (is_file(file))
    task.file = file;
  else
    task.missing = fmt::format("there is no file {}", file.string());
}

/// A template serves the file that it was matched with, and no other one of that name.
void choose_way(FoundTask& task, const BoardManifest& manifest, bool from_files) {
  task.use_template = task.listed.served_by_template() && (!from_files || task.listed.file.empty());
  const std::string text = task.file.empty() ? "" : text_of(task.file);
  const std::string& matched = task.listed.sha256;
  if (task.use_template && !task.file.empty() && !matched.empty() && !sha256_hex(text).starts_with(matched)) {
    task.use_template = false;
    task.listed.note =
        "another file than the one that a template was matched with: searched as it is written";
  }
  task.content =
      sha256_hex(fmt::format("{}\n{}\n{}\n{}", text, task.listed.run.dump(), manifest.defaults.dump(),
                             task.file.empty() ? "" : imports_of(task.file, text)));
}

FoundTask found(const ListedTask& listed, const BoardManifest& manifest, const BoardFolder& folder,
                bool from_files) {
  FoundTask task;
  task.listed = listed;
  look_for_file(task, manifest, folder);
  if (task.missing.empty()) choose_way(task, manifest, from_files);
  return task;
}

/// "A-b.py" and "a_b.py" have one name: the later of them, by their paths, has a part of its path's hash behind it.
std::string free_name(const std::vector<FoundTask>& tasks, const BoardTask& other, const std::string& path) {
  std::string name = task_name(other.name);
  const auto is_taken = [&](const FoundTask& task) { return task.listed.name == name; };
  if (std::ranges::any_of(tasks, is_taken)) name += "_" + sha256_hex(path).substr(0, kPathDigits);
  return name;
}

/// Adds the tasks of the folder that the manifest does not list.
void add_others(std::vector<FoundTask>& tasks, const BoardManifest& manifest, const BoardFiles& files,
                const BoardFolder& folder) {
  for (const BoardTask& other : files.tasks) {
    const fs::path& file = other.source.file;
    const auto has_file = [&](const FoundTask& task) {
      return !task.file.empty() && fs::absolute(task.file).lexically_normal() == file;
    };
    if (std::ranges::any_of(tasks, has_file)) continue;
    FoundTask task;
    task.listed.file = file.lexically_relative(fs::absolute(folder.tasks_folder)).generic_string();
    task.listed.name = free_name(tasks, other, task.listed.file);
    task.file = file;
    choose_way(task, manifest, true);
    tasks.push_back(std::move(task));
  }
}

/// A file that is listed, where it lies in another folder than the one that was given: a board's folder, below it.
std::string place_below(const BoardFiles& files, const std::string& listed) {
  const auto has_name = [&](const BoardTask& task) {
    return task.source.file.filename() == fs::path(listed).filename();
  };
  const auto found = std::ranges::find_if(files.tasks, has_name);
  return found == files.tasks.end() ? "" : fmt::format(" in {}", found->source.file.parent_path().string());
}

/// A folder without any file that is listed is another one, whichever tasks it has: other levels of the benchmark, say.
void require_listed(const std::vector<FoundTask>& tasks, const BoardFiles& files,
                    const BoardManifest& manifest, const BoardFolder& folder) {
  const auto is_of_folder = [](const FoundTask& task) {
    return !task.listed.file.empty() && !task.listed.own;
  };
  const auto first = std::ranges::find_if(tasks, is_of_folder);
  if (first == tasks.end() || std::ranges::any_of(tasks, [&](const FoundTask& task) {
        return is_of_folder(task) && task.missing.empty();
      }))
    return;
  fail(ExitCode::bad_input, "{} has no task of the board {}; it lists such as {}{}",
       folder.tasks_folder.string(), manifest.name, first->listed.file,
       place_below(files, first->listed.file));
}

/// How files are written is seen by their content, once for the folder.
void note_forms(std::vector<FoundTask>& tasks, const BoardFiles& files) {
  for (FoundTask& task : tasks)
    for (const BoardTask& known : files.tasks)
      if (!task.file.empty() && fs::absolute(task.file).lexically_normal() == known.source.file)
        task.form = known.source.kind;
}

/// Where the problem of a task's file is made, below the board's folder.
std::string place_of_problem(const FoundTask& task) {
  return fmt::format("problems/{}_{}", task.listed.name, task.content.substr(0, kVersionDigits));
}

void note_problem(const FoundTask& task, const fs::path& problem, TaskState& state) {
  state.degenerate = codegen::degenerate_evidence(codegen::load_problem(problem));
  state.for_judge = task.form == "kernelbench";
}

}  // namespace

std::vector<FoundTask> found_tasks(const BoardManifest& manifest, const BoardFolder& folder,
                                   bool from_files) {
  const bool has_folder = !folder.tasks_folder.empty();
  if (manifest.needs_folder() && !has_folder)
    fail(ExitCode::usage, "{}: its tasks are files of a folder of yours; name it with --tasks DIR",
         manifest.name);
  const BoardFiles files = has_folder ? board_files(folder.tasks_folder) : BoardFiles{};
  std::vector<FoundTask> tasks;
  for (const ListedTask& listed : manifest.tasks)
    tasks.push_back(found(listed, manifest, folder, from_files));
  require_listed(tasks, files, manifest, folder);
  if (manifest.other_files) add_others(tasks, manifest, files, folder);
  note_forms(tasks, files);
  if (tasks.empty())
    fail(ExitCode::bad_input, "{} has no task: no file with class Model and get_inputs()",
         folder.tasks_folder.string());
  return tasks;
}

void note_content(const FoundTask& task, const BoardFolder& folder, TaskState& state) {
  if (state.content == task.content) return;
  state.content = task.content;
  state.degenerate.clear();
  state.for_judge = false;
  const fs::path problem = folder.path / place_of_problem(task);
  if (!fs::exists(problem)) return;
  try {
    note_problem(task, problem, state);
  } catch (const Error&) {
    // Its search says what is wrong with the folder.
  }
}

std::string problem_of_file(const FoundTask& task, const BoardFolder& folder, TaskState& state,
                            const std::string& python, const std::atomic<bool>& stop) {
  const std::string below = place_of_problem(task);
  const fs::path path = folder.path / below;
  if (!fs::exists(path)) {
    const auto installation = runtime::find_python(python);
    const PythonSource source{.file = task.file, .kind = task.form, .stop = &stop};
    static_cast<void>(make_python_problem(path, source, installation));
  }
  note_problem(task, path, state);
  return below;
}

}  // namespace ak::app
