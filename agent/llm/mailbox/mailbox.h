// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/mailbox/answer_file.h"
#include "core/text/json.h"

namespace ak::agent {

/// A question of a mailbox as its NNNN.json says it: whoever can write the folder may have written that, so it is only
/// ever shown, compared and checked.
struct MailQuestion {
  int number = 0;
  std::string id = {};           ///< of the question, the same in every copy of its database
  std::string search = {};       ///< the same of its search
  std::string state = {};        ///< "open", "answered" or "withdrawn"
  std::string reason = {};       ///< why it was withdrawn
  std::string answer_hash = {};  ///< of the answer that was taken
  Json about = {};               ///< the whole file (docs/mailbox.md)

  /// "0007-3f9c2a10": what an answer calls it.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool is_open() const { return state == "open"; }
};

/// Reads the text of NNNN.json, called `file` in messages. Throws Error(bad_input).
[[nodiscard]] MailQuestion read_mail_question(std::string_view text, const std::string& file, int number);

/// A file of a mailbox that cannot be what its name says.
struct MailFault {
  std::string file, problem;
};

/// A folder in which questions lie as files, and answers beside them (docs/mailbox.md). Any number of processes, on
/// several machines, may use it at once: a number is given once, and every file is complete when it is there. From any
/// thread: an object knows the folder alone.
class Mailbox {
 public:
  /// Nothing is looked at yet.
  explicit Mailbox(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Makes the folder where it is missing. Throws Error(output) where questions cannot be put there.
  void require_writable() const;

  /// Asks: `about` with a text "id" becomes the next NNNN.json, its "parent_source" NNNN.parent.cu, and what `render`
  /// writes NNNN.question.md, last. A question of the same id is there already: it is the same one, and what a process
  /// that was killed left out is added. What cannot be put there whole is taken away. A number with an answer already is left out: that answers something else. Throws
  /// Error(output), Error(bad_input) where the folder cannot be read.
  using Render = std::function<std::string(const MailQuestion&)>;
  [[nodiscard]] MailQuestion post(Json about, const Render& render) const;

  /// Throws Error(bad_input) where there is none of this number, or its file is broken.
  [[nodiscard]] MailQuestion question(int number) const;
  /// All of them, by number; what is broken goes to `faults`. Throws Error(bad_input) where there is no such folder.
  [[nodiscard]] std::vector<MailQuestion> questions(std::vector<MailFault>& faults) const;

  [[nodiscard]] AnswerLook answer_to(const MailQuestion& question) const;
  /// Puts an answer in its place. Throws Error(bad_input) with the reason where the question is not open, an answer is
  /// there (without `replace`), or the text cannot be one; Error(output).
  void answer(const MailQuestion& question, std::string_view by, std::string_view text, bool replace) const;
  /// Notes that its answer was taken. Throws Error(output).
  void note_taken(MailQuestion question, const AnswerLook& answer) const;
  /// Nobody waits for an answer any more: NNNN.question.md becomes NNNN.withdrawn.md. Throws Error(output).
  void withdraw(MailQuestion question, std::string_view why) const;
  /// Someone has withdrawn it, by this program or by the file's name.
  [[nodiscard]] bool is_withdrawn(const MailQuestion& question) const;
  /// The whole parent of a question that is about one; empty where it is about none.
  [[nodiscard]] std::string parent_source(const MailQuestion& question) const;

  /// "0007.answer.md" and the like, in the folder.
  [[nodiscard]] std::filesystem::path file(int number, std::string_view kind) const;

 private:
  [[nodiscard]] std::optional<MailQuestion> find(const std::string& id) const;
  [[nodiscard]] std::vector<int> numbers(std::string_view kind) const;
  [[nodiscard]] MailQuestion add(Json about) const;
  void write(const MailQuestion& question) const;

  std::filesystem::path folder_;
};

/// Names of the open questions of a search; none where the folder cannot be read.
[[nodiscard]] std::vector<std::string> open_questions(const std::filesystem::path& folder,
                                                      const std::string& search);
/// One of them has an answer that can be taken.
[[nodiscard]] bool has_answer(const std::filesystem::path& folder, const std::string& search);

/// What is there without belonging to anything, or was changed too late, in words: answers to no question, answers that
/// cannot be taken, and such that came after another one was taken or after the question was withdrawn.
[[nodiscard]] std::vector<MailFault> misplaced_answers(const Mailbox& mailbox);

/// Of "box/0007", "box/0007.question.md" or any other file of a question: its mailbox and number. Throws Error(usage).
struct MailPlace {
  std::filesystem::path folder;
  int number = 0;
};
[[nodiscard]] MailPlace mail_place(const std::filesystem::path& word);

/// A name that the search writes, such as 0007.parent.cu: no draft is called so.
[[nodiscard]] bool is_name_of_search(const std::filesystem::path& file);

}  // namespace ak::agent
