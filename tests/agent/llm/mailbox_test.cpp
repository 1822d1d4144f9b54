// SPDX-License-Identifier: Apache-2.0
// Questions and answers as files, and everything that may lie in a folder that others write.
#include "agent/llm/mailbox/mailbox.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <future>
#include <set>

#include "agent/llm/api/provider.h"
#include "agent/llm/mailbox/mailbox_client.h"
#include "core/error.h"
#include "core/text/file.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_folder.h"

namespace ak::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Catch::Contains;
using State = AnswerLook::State;

const ModelEntry kPriced{
    .provider = "mailbox", .name = "box", .price = ModelPrice{.input = 1e6, .output = 0}};
constexpr MailTiming kQuickMail{.poll = 1ms, .again = 2ms, .settle = 5ms};

LlmRequest mailed_request(const std::string& id = "call1") {
  LlmRequest made{
      .model = "box", .system = "SYSTEM", .messages = {{"user", "QUESTION"}}, .max_output_tokens = 100};
  made.about = {{"id", id}, {"search", "search1"}, {"arm", "improve"}, {"parent_source", "// the parent"}};
  return made;
}

struct Box {
  [[nodiscard]] MailQuestion post(const std::string& id = "call1") const {
    return mailbox.post(mailed_request(id).about, [](const MailQuestion&) { return "the question"; });
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(mailbox.folder() / name, std::ios::binary) << text;
  }
  [[nodiscard]] Json json(int number) const { return parse_json(read_file(mailbox.file(number, "json"))); }
  [[nodiscard]] bool has(const std::string& name) const { return fs::exists(mailbox.folder() / name); }
  /// Asked on a thread of its own.
  [[nodiscard]] std::future<LlmReply> ask(const std::string& id = "call1") {
    return std::async(std::launch::async, [this, id] { return client.ask(mailed_request(id), &cancelled); });
  }
  [[nodiscard]] bool asked(int number) const { return has(mailbox.file(number, "question.md").filename()); }

  testing::TemporaryFolder folder;
  Mailbox mailbox{folder.path() / "box"};
  MailboxClient client{folder.path() / "box", kPriced, kQuickMail};
  std::atomic<bool> cancelled{false};

  Box() { mailbox.require_writable(); }
  ~Box() { cancelled = true; }
};

/// While it lives no file of this process gets longer than `bytes`. One is opened, and none is printed to.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes = 8) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_CASE("a question is whole when it is there, and an answer beside it ends the wait") {
  Box box;
  auto reply = box.ask();
  REQUIRE(testing::in_the_end([&] { return box.asked(1); }));
  const std::string text = read_file(box.mailbox.file(1, "question.md"));
  CHECK_THAT(text, Contains("# Question 0001-call1") && Contains("SYSTEM") && Contains("QUESTION") &&
                       Contains("0001.answer.md") && Contains("0001.parent.cu"));
  CHECK(read_file(box.mailbox.file(1, "parent.cu")) == "// the parent");
  const Json asked = box.json(1);
  CHECK(asked["state"] == "open");
  CHECK(asked["arm"] == "improve");
  CHECK_FALSE(asked.contains("parent_source"));
  box.mailbox.answer(box.mailbox.question(1), "a person", "the answer", false);
  const LlmReply answer = reply.get();
  REQUIRE(answer.ok());
  CHECK(answer.text == "the answer");
  CHECK(answer.request_id == "0001-call1 by a person");
  CHECK_FALSE(answer.usage.reported);  // estimated, and marked so
  CHECK(answer.usage.input_tokens > 0);
  CHECK(answer.usage.output_tokens > 0);
  CHECK(answer.cost_usd == static_cast<double>(answer.usage.input_tokens));
  CHECK(box.json(1)["state"] == "answered");
  CHECK(box.json(1)["by"] == "a person");
  CHECK(box.has("0001.answer.md"));
}

TEST_CASE("who asks the same question again finds it, with its answer, in whatever state a kill left it") {
  Box box;
  static_cast<void>(box.post());
  fs::remove(box.mailbox.file(1, "question.md"));  // the process was killed before it wrote that
  fs::remove(box.mailbox.file(1, "parent.cu"));
  CHECK(box.post().number == 1);
  CHECK(box.has("0001.question.md"));
  CHECK(box.has("0001.parent.cu"));
  CHECK(box.post("call2").number == 2);
  box.mailbox.answer(box.mailbox.question(1), "", "the answer", false);
  CHECK(box.ask().get().text == "the answer");
  CHECK(box.ask().get().text == "the answer");  // killed after it was taken, before it was committed
}

TEST_CASE("a question that cannot be put there whole is not put there at all") {
  Box box;
  // Stands for a disk that is filled up meanwhile.
  fs::create_directory(box.mailbox.file(1, "parent.cu"));
  CHECK_THROWS_AS(box.post(), Error);
  std::vector<MailFault> faults;
  CHECK(box.mailbox.questions(faults).empty());
  CHECK(box.post().number == 1);
}

TEST_CASE(
    "what a full disk refuses is named alike each time, so that a search that tries again says it once") {
  const Box box;
  const auto refusal = [&] {
    const FullDisk full;
    try {
      static_cast<void>(box.post());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string said = refusal();
  CHECK_THAT(said, Contains("cannot write " + box.mailbox.file(1, "json").string() + ": "));
  CHECK(refusal() == said);
}

TEST_CASE("questions of many processes at once get a number each") {
  Box box;
  std::vector<std::future<int>> numbers;
  for (int i = 0; i < 8; ++i)
    numbers.push_back(std::async(std::launch::async, [&, i] {
      return Mailbox(box.mailbox.folder())
          .post({{"id", "q" + std::to_string(i)}}, [](const auto&) { return "?"; })
          .number;
    }));
  std::set<int> seen;
  for (auto& number : numbers) seen.insert(number.get());
  CHECK(seen.size() == 8);
  CHECK(*seen.rbegin() == 8);
  CHECK(box.folder.file_count() == 1);
  std::vector<MailFault> faults;
  CHECK(box.mailbox.questions(faults).size() == 8);
  CHECK(faults.empty());
}

TEST_CASE("an answer that cannot be one is not taken, says why, and may be replaced") {
  struct Row {
    std::string what, content, words;
  };
  const std::vector<Row> rows{
      {"empty", "", "it is empty"},
      {"blank", " \n\t", "it is empty"},
      {"only its first lines", "answers: 0001-call1\nby: me\n", "nothing follows"},
      {"for another question", "answers: 0002-call2\nx", "it says that it answers 0002-call2"},
      {"with an escape in a name", "answers: \x1b[31m\nx", "it says that it answers ?[31m"},
      {"binary", std::string("a\0b", 3), "no text in UTF-8"},
      {"not UTF-8", "\xff\xfe", "no text in UTF-8"},
      {"for another question, behind a mark of its editor",
       "\xef\xbb\xbf"
       "answers: 0002-call2\nx",
       "0002-call2"},
      {"huge", std::string(kMaxMailBytes + 1, 'x'), "larger than 16 MiB"}};
  Box box;
  auto reply = box.ask();
  REQUIRE(testing::in_the_end([&] { return box.asked(1); }));
  for (const Row& row : rows) {
    INFO(row.what);
    box.write("0001.answer.md", row.content);
    const AnswerLook look = box.mailbox.answer_to(box.mailbox.question(1));
    CHECK(look.state == State::bad);
    CHECK_THAT(look.problem, Contains(row.words));
    CHECK(misplaced_answers(box.mailbox).size() == 1);
    CHECK_FALSE(has_answer(box.mailbox.folder(), "search1"));
  }
  std::this_thread::sleep_for(4 * kQuickMail.settle);  // it could have been taken
  CHECK(reply.wait_for(0s) == std::future_status::timeout);
  box.mailbox.answer(box.mailbox.question(1), "", "a good one", false);
  CHECK(reply.get().text == "a good one");
}

TEST_CASE("a key in the first lines of an answer is kept nowhere, also where it is cut") {
  const std::string key = "sk-ant-api03-" + std::string(60, 'A');
  const AnswerLook look =
      read_answer_file("answers: 0001-call1\nby: me " + key + "\nthe answer", "0001-call1");
  REQUIRE(look.state == State::ready);
  CHECK_THAT(look.by, Catch::StartsWith("me ") && !Contains("sk-ant"));
  const AnswerLook other = read_answer_file("answers: " + key + "\nthe answer", "0001-call1");
  CHECK_THAT(other.problem, Contains("it says that it answers") && !Contains("sk-ant"));
}

TEST_CASE("an answer that was there before its question is not taken for its answer") {
  Box box;
  box.write("0001.answer.md", "to a question that someone has removed");
  CHECK(box.post().number == 2);
  CHECK_THAT(misplaced_answers(box.mailbox).at(0).problem, Contains("no question"));
}

TEST_CASE("a link, a pipe or a folder in the place of an answer is not followed") {
  Box box;
  const MailQuestion question = box.post();
  const fs::path answer = box.mailbox.file(1, "answer.md");
  box.write("secret", "not for the search");
  fs::create_symlink(box.mailbox.folder() / "secret", answer);
  CHECK_THAT(box.mailbox.answer_to(question).problem, Contains("a link"));
  fs::remove(answer);
  REQUIRE(mkfifo(answer.c_str(), 0600) == 0);
  CHECK(box.mailbox.answer_to(question).state == State::bad);
  fs::remove(answer);
  fs::create_directory(answer);
  CHECK(box.mailbox.answer_to(question).state == State::bad);
}

TEST_CASE("a file that may still grow is not taken") {
  Box box;
  MailboxClient patient(box.mailbox.folder(), {}, {.poll = 1ms, .settle = 1h});
  auto reply = std::async(std::launch::async, [&] { return patient.ask(mailed_request(), &box.cancelled); });
  REQUIRE(testing::in_the_end([&] { return box.asked(1); }));
  box.write("0001.answer.md", "half of an ans");
  CHECK(reply.wait_for(50 * kQuickMail.poll) == std::future_status::timeout);
  box.cancelled = true;
  CHECK(reply.get().failure->fault == LlmFault::cancelled);
  CHECK(box.mailbox.question(1).is_open());
}

TEST_CASE("a question is withdrawn with its reason, and who waits for it is told") {
  Box box;
  auto reply = box.ask();
  REQUIRE(testing::in_the_end([&] { return box.asked(1); }));
  const MailQuestion other =
      box.mailbox.post({{"id", "x"}, {"search", "search2"}}, [](const auto&) { return "?"; });
  box.client.withdraw({.search = "search1", .id = "call1"}, "overtaken");
  const LlmReply answer = reply.get();
  REQUIRE(answer.failure);
  CHECK(answer.failure->fault == LlmFault::withdrawn);
  CHECK_THAT(answer.failure->message, Contains("0001-call1") && Contains("overtaken"));
  CHECK(box.has("0001.withdrawn.md"));
  CHECK_FALSE(box.has("0001.question.md"));
  CHECK(box.mailbox.question(other.number).is_open());  // of another search
  CHECK_THROWS_WITH(box.mailbox.answer(box.mailbox.question(1), "", "late", false), Contains("overtaken"));
  box.write("0001.answer.md", "late");
  CHECK_THAT(misplaced_answers(box.mailbox).at(0).problem, Contains("withdrawn"));
}

TEST_CASE(
    "an overtaken question that has its answer keeps it, and the end of its search withdraws what is open") {
  Box box;
  const MailQuestion first = box.post("call1");
  static_cast<void>(box.post("call2"));
  box.mailbox.answer(first, "", "in time", false);
  box.client.withdraw({.search = "search1", .id = "call1"}, "overtaken");
  CHECK(box.mailbox.question(1).is_open());
  CHECK(box.ask("call1").get().text == "in time");
  CHECK(open_questions(box.mailbox.folder(), "search1") == std::vector<std::string>{"0002-call2"});
  box.client.withdraw({.search = "search1", .id = ""}, "its search has ended");
  CHECK(box.mailbox.question(1).state == "answered");
  CHECK(box.mailbox.question(2).reason == "its search has ended");
}

TEST_CASE("whoever renames a question declines it") {
  Box box;
  auto reply = box.ask();
  REQUIRE(testing::in_the_end([&] { return box.asked(1); }));
  fs::rename(box.mailbox.file(1, "question.md"), box.mailbox.file(1, "withdrawn.md"));
  CHECK(reply.get().failure->fault == LlmFault::withdrawn);
  CHECK(box.mailbox.question(1).state == "withdrawn");
}

TEST_CASE("a second answer is refused, or replaces one that was not taken yet") {
  Box box;
  const MailQuestion question = box.post();
  box.mailbox.answer(question, "", "first", false);
  CHECK_THROWS_WITH(box.mailbox.answer(question, "", "second", false), Contains("--replace"));
  box.mailbox.answer(question, "", "second", true);
  CHECK(box.ask().get().text == "second");
  CHECK_THROWS_WITH(box.mailbox.answer(box.mailbox.question(1), "", "third", true), Contains("was answered"));
  CHECK(misplaced_answers(box.mailbox).empty());
  box.write("0001.answer.md", "third, by hand");
  CHECK_THAT(misplaced_answers(box.mailbox).at(0).problem, Contains("after the search had taken it"));
}

TEST_CASE("what lies in a mailbox is believed in nothing") {
  Box box;
  static_cast<void>(box.post());
  box.write("0002.json", "{");
  box.write("0003.json", R"({"format": 1, "id": 7, "state": "open"})");
  box.write("0004.json", R"({"format": 1, "id": "x", "state": "shut"})");
  box.write("0005.json", R"({"format": 99, "id": "x", "state": "open"})");
  box.write("0006.json", std::string(2u << 20, '['));
  box.write("0099.answer.md", "to nothing");
  box.write("../0001.json.txt", "elsewhere");
  box.write("99999999999999999999.json", "{}");
  std::vector<MailFault> faults;
  CHECK(box.mailbox.questions(faults).size() == 1);
  CHECK(faults.size() == 5);
  const auto named = misplaced_answers(box.mailbox);
  CHECK(named.size() == 6);
  CHECK(named.back().file == "0099.answer.md");
  CHECK(box.post("call2").number == 7);  // a broken one keeps its number
  box.write("2147483647.json", "{}");
  CHECK(box.post("call3").number == 8);
  box.write("999999999.json", "{}");
  CHECK_THROWS_WITH(box.post("call4"), Contains("no number is left"));
}

TEST_CASE("a folder that cannot be read has no questions for who only looks whether to go on") {
  CHECK(open_questions("nowhere", "search1").empty());
  CHECK_FALSE(has_answer("nowhere", "search1"));
}

TEST_CASE("the folder of a mailbox is the same with and without a stroke at its end") {
  CHECK(mailbox_folder("mailbox:/a/box/").filename() == "box");
  CHECK(mailbox_folder("mailbox:/") == "/");
  CHECK(mailbox_folder("openai:box").empty());
}

TEST_CASE("a mailbox that cannot be written is refused before the run") {
  Box box;
  box.write("file", "");
  CHECK_THROWS_AS(open_model("mailbox:" + (box.mailbox.folder() / "file" / "box").string(), {}), Error);
  CHECK_THROWS_WITH(open_model("mailbox:", {}), Contains("mailbox:FOLDER"));
  CHECK(open_model("mailbox:" + (box.folder.path() / "new").string(), {}).client->keeps_questions());
  CHECK(fs::is_directory(box.folder.path() / "new"));
}

TEST_CASE("a folder that refuses a question for a while is waited for as its answer is") {
  Box box;
  // Stands for a disk that was filled up.
  const fs::path away = box.mailbox.folder() / "full";
  box.write("full", "");
  MailboxClient client(away, {}, kQuickMail);
  auto reply = std::async(std::launch::async, [&] { return client.ask(mailed_request(), &box.cancelled); });
  REQUIRE(testing::in_the_end([&] { return client.is_waiting(); }));
  CHECK(reply.wait_for(10 * kQuickMail.again) == std::future_status::timeout);
  fs::remove(away);
  Mailbox(away).require_writable();
  REQUIRE(testing::in_the_end([&] { return fs::exists(away / "0001.question.md"); }));
  Mailbox(away).answer(Mailbox(away).question(1), "", "at last", false);
  CHECK(reply.get().text == "at last");

  MailboxClient nowhere(box.mailbox.folder() / "0001.json" / "box", {}, kQuickMail);
  box.cancelled = true;
  const LlmReply none = nowhere.ask(mailed_request(), &box.cancelled);
  REQUIRE(none.failure);
  CHECK(none.failure->fault == LlmFault::cancelled);  // so it is asked again by the next process
}

TEST_CASE("that an answer was taken is said as soon as the disk has room for it") {
  Box box;
  static_cast<void>(box.post());
  box.mailbox.answer(box.mailbox.question(1), "a person", "the answer", false);
  {
    // The limit stands for the disk: writes beyond it fail as they do when no block is left.
    const FullDisk full;
    const LlmReply reply = box.ask().get();
    CHECK(reply.text == "the answer");
    CHECK_THAT(reply.note, Contains("0001-call1"));
    CHECK(box.mailbox.question(1).is_open());
    box.client.withdraw({.search = "search1", .id = ""}, "its search has ended");
  }
  CHECK(box.mailbox.question(1).is_open());  // it was answered, so it is not withdrawn
  box.client.withdraw({.search = "search1", .id = ""}, "its search has ended");
  CHECK(box.mailbox.question(1).state == "answered");
  CHECK(box.json(1)["by"] == "a person");
}

TEST_CASE("a question whose answer was taken is not withdrawn where the disk has room for that alone") {
  Box box;
  static_cast<void>(box.post("call1"));
  static_cast<void>(box.post("call2"));
  box.mailbox.answer(box.mailbox.question(1), "a person", "the answer", false);
  {
    // That it was taken is 150 bytes with the hash of the answer, that it is withdrawn 90.
    const FullDisk full(fs::file_size(box.mailbox.file(1, "json")) + 115);
    CHECK(box.ask().get().text == "the answer");
    box.client.withdraw({.search = "search1", .id = ""}, "its search has ended");
    CHECK(box.mailbox.question(1).is_open());
    CHECK(box.mailbox.question(2).state == "withdrawn");  // so there was room
  }
  box.client.withdraw({.search = "search1", .id = ""}, "its search has ended");
  CHECK(box.mailbox.question(1).state == "answered");
}

TEST_CASE("who goes on for a process that could not say so says that an answer was taken") {
  Box box;
  static_cast<void>(box.post());
  box.mailbox.answer(box.mailbox.question(1), "", "the answer", false);
  auto first = std::make_unique<MailboxClient>(box.mailbox.folder(), ModelEntry{}, kQuickMail);
  LlmReply taken;
  {
    const FullDisk full;
    taken = first->ask(mailed_request(), nullptr);
    first.reset();
  }
  CHECK(box.mailbox.question(1).is_open());
  LlmReply other = taken;
  other.text = "of another mailbox";
  box.client.pass_over(other);
  CHECK(box.mailbox.question(1).is_open());
  box.client.pass_over(taken);
  CHECK(box.mailbox.question(1).state == "answered");
  box.client.pass_over({.text = "of a provider", .request_id = "req_1"});
}

TEST_CASE("a question stays when the process that asked it ends") {
  Box box;
  auto reply = box.ask();
  REQUIRE(testing::in_the_end([&] { return box.asked(1); }));
  box.cancelled = true;
  CHECK(reply.get().failure->fault == LlmFault::cancelled);
  CHECK(box.mailbox.question(1).is_open());
}

TEST_CASE("keys do not reach a question") {
  Box box;
  LlmRequest asked = mailed_request();
  asked.messages[0].text = "see sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
  asked.about["parent_source"] = "// sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
  CHECK_THAT(question_text({.number = 1, .id = "x"}, asked), !Contains("abcdefghijklmnop"));
  box.cancelled = true;
  static_cast<void>(box.client.ask(asked, &box.cancelled));
  CHECK_THAT(read_file(box.mailbox.file(1, "parent.cu")), !Contains("abcdefghijklmnop"));
}

TEST_CASE("any file of a question names it") {
  for (const char* word : {"box/0007", "box/0007.question.md", "box/0007.draft.md", "box/0007.json"}) {
    CHECK(mail_place(word).folder == "box");
    CHECK(mail_place(word).number == 7);
  }
  CHECK(mail_place("0012").folder == ".");
  for (const char* word : {"box", "box/7", "box/draft.md", "box/0000", "box/-007", ""})
    CHECK_THROWS_AS(mail_place(word), Error);
}

}  // namespace
}  // namespace ak::agent
