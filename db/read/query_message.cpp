// SPDX-License-Identifier: Apache-2.0
#include "db/read/query_message.h"

#include <bit>
#include <cstring>
#include <utility>

#include "db/read/reader.h"

namespace ak::db {
namespace {

enum class Frame : std::uint8_t { columns, row, end, failure };

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
// Of a frame without its cells, the names of 2,000 columns (SQLite's most) or a message: chosen, far above them.
constexpr std::size_t kMaxFrameOverhead = 8u << 20;

[[noreturn]] void fail_bytes() {
  fail(ExitCode::environment, "the process that ran the query sent something that is no answer");
}

void put(std::string& bytes, std::uint64_t number) {
  char word[kWordBytes];
  std::memcpy(word, &number, kWordBytes);
  bytes.append(word, kWordBytes);
}

void put(std::string& bytes, std::string_view text) {
  put(bytes, std::uint64_t{text.size()});
  bytes += text;
}

/// The number of its alternative, then its content.
void put(std::string& bytes, const Cell& cell) {
  bytes += static_cast<char>(cell.index());
  if (const auto* integer = std::get_if<std::int64_t>(&cell))
    put(bytes, static_cast<std::uint64_t>(*integer));
  if (const auto* real = std::get_if<double>(&cell)) put(bytes, std::bit_cast<std::uint64_t>(*real));
  if (const auto* text = std::get_if<std::string>(&cell)) put(bytes, std::string_view(*text));
  if (const auto* blob = std::get_if<std::vector<unsigned char>>(&cell))
    put(bytes, std::string_view(reinterpret_cast<const char*>(blob->data()), blob->size()));
}

std::string framed(Frame kind, std::string_view content) {
  std::string bytes;
  put(bytes, std::uint64_t{content.size() + 1});
  bytes += static_cast<char>(kind);
  return bytes += content;
}

/// Takes what put() wrote off the front of `bytes`.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::string_view bytes(std::size_t size) {
    if (size > rest_.size()) fail_bytes();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes(kWordBytes).data(), kWordBytes);
    return value;
  }
  std::string text() { return std::string(bytes(number())); }
  Cell cell() {
    switch (static_cast<unsigned char>(bytes(1)[0])) {
      case 0:
        return std::monostate{};
      case 1:
        return static_cast<std::int64_t>(number());
      case 2:
        return std::bit_cast<double>(number());
      case 3:
        return text();
      case 4: {
        const std::string_view blob = bytes(number());
        return std::vector<unsigned char>(blob.begin(), blob.end());
      }
      default:
        fail_bytes();
    }
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string encode(const QueryRequest& request) {
  std::string bytes;
  put(bytes, std::string_view(request.file));
  put(bytes, std::string_view(request.sql));
  put(bytes, request.row_limit);
  put(bytes, request.answer_limit_bytes);
  put(bytes, static_cast<std::uint64_t>(request.time_limit.count()));
  for (const auto& [name, cell] : request.values) {
    put(bytes, std::string_view(name));
    put(bytes, cell);
  }
  return bytes;
}

QueryRequest decode_request(std::string_view bytes) {
  Taker taker(bytes);
  QueryRequest request;
  request.file = taker.text();
  request.sql = taker.text();
  request.row_limit = taker.number();
  request.answer_limit_bytes = taker.number();
  request.time_limit = std::chrono::milliseconds(taker.number());
  while (!taker.empty()) {
    std::string name = taker.text();
    request.values[std::move(name)] = taker.cell();
  }
  return request;
}

std::string columns_frame(const std::vector<std::string>& columns) {
  std::string bytes;
  for (const std::string& column : columns) put(bytes, std::string_view(column));
  return framed(Frame::columns, bytes);
}

std::string row_frame(const std::vector<Cell>& row) {
  std::string bytes;
  for (const Cell& cell : row) put(bytes, cell);
  return framed(Frame::row, bytes);
}

std::string end_frame(bool truncated) { return framed(Frame::end, truncated ? "t" : ""); }

std::string failure_frame(ExitCode code, std::string_view message) {
  std::string bytes;
  put(bytes, static_cast<std::uint64_t>(code));
  put(bytes, message);
  return framed(Frame::failure, bytes);
}

void AnswerReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  std::size_t taken = 0;
  while (buffer_.size() - taken >= kWordBytes) {
    Taker taker(std::string_view(buffer_).substr(taken));
    const std::uint64_t size = taker.number();
    if (size == 0 || size > limit_bytes_ + kMaxFrameOverhead) fail_bytes();
    if (buffer_.size() - taken - kWordBytes < size) break;
    take_frame(taker.bytes(size));
    taken += kWordBytes + size;
  }
  buffer_.erase(0, taken);
}

void AnswerReader::take_frame(std::string_view frame) {
  Taker taker(frame);
  const auto kind = static_cast<Frame>(taker.bytes(1)[0]);
  if (ended_) fail_bytes();
  if (kind == Frame::columns) {
    while (!taker.empty()) table_.columns.push_back(taker.text());
  } else if (kind == Frame::row) {
    take_row(frame.substr(1));
  } else if (kind == Frame::end) {
    table_.truncated = !taker.empty();
    ended_ = true;
  } else if (kind == Frame::failure) {
    const auto code = static_cast<ExitCode>(taker.number());
    throw Error(code, taker.text());
  } else {
    fail_bytes();
  }
}

void AnswerReader::take_row(std::string_view cells) {
  Taker taker(cells);
  std::vector<Cell>& row = table_.rows.emplace_back();
  while (!taker.empty()) bytes_ += memory_of(row.emplace_back(taker.cell()));
  if (row.size() != table_.columns.size() || bytes_ > limit_bytes_) fail_bytes();
}

std::optional<Table> AnswerReader::take() {
  if (!ended_) return std::nullopt;
  return std::move(table_);
}

}  // namespace ak::db
