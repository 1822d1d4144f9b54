// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ak::emulator {

/// Shadows of words that lie one after the other: ThreadRecords of their last write and reads.
struct ShadowWords {
  std::uint64_t *writes = nullptr, *reads = nullptr, *older_reads = nullptr;
  [[nodiscard]] ShadowWords from(std::uint64_t word) const {
    return {writes + word, reads + word, older_reads + word};
  }
};

struct ConstShadowWords {
  const std::uint64_t *writes = nullptr, *reads = nullptr, *older_reads = nullptr;
};

/// Shadows of the words of a large memory of which a block touches little: in pages that exist once
/// they are touched.
class WordPages {
 public:
  /// Words of a page: the rows of a tile that lie far apart cost a page each (chosen: 1.5 KiB).
  static constexpr std::uint64_t kPageWords = 64;

  /// Shadow of `word` and those after it in its page.
  [[nodiscard]] ShadowWords at(std::uint64_t word) {
    const std::uint64_t number = word / kPageWords;
    if (last_ == nullptr || number != last_number_) {
      last_ = page_of(number);
      last_number_ = number;
    }
    return ShadowWords{last_->writes.data(), last_->reads.data(), last_->older_reads.data()}.from(word %
                                                                                                  kPageWords);
  }

  /// Null where the page does not exist.
  [[nodiscard]] ConstShadowWords find(std::uint64_t word) const {
    if (table_.empty()) return {};
    const Entry& entry = table_[slot_of(word / kPageWords)];
    return entry.round == round_ ? words_of(*entry.page, word % kPageWords) : ConstShadowWords{};
  }
  /// visit(word, its shadow) for all words of all pages.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry& entry : table_) {
      if (entry.round != round_) continue;
      for (std::uint64_t i = 0; i < kPageWords; ++i)
        visit(entry.number * kPageWords + i, words_of(*entry.page, i));
    }
  }

  /// A further block begins. Its pages hold records of earlier ones, of other words: their clocks must lie before
  /// all of its own.
  void begin() {
    ++round_;
    used_ = 0;
    last_ = nullptr;
  }
  /// Forgets every record, since clocks start again.
  void clear() {
    begin();
    pages_.clear();
  }

 private:
  struct Page {
    std::array<std::uint64_t, kPageWords> writes{}, reads{}, older_reads{};
  };
  /// Of a hash table with open addressing; it is empty when its round is over, so that a block begins at no cost.
  struct Entry {
    std::uint64_t number = 0, round = 0;
    Page* page = nullptr;
  };

  [[nodiscard]] static ConstShadowWords words_of(const Page& page, std::uint64_t i) {
    return {&page.writes[i], &page.reads[i], &page.older_reads[i]};
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t number) const {
    constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15ull;  // 2^64 divided by the golden ratio
    const std::size_t mask = table_.size() - 1;
    std::size_t i = (number * kSpread >> 32) & mask;
    while (table_[i].round == round_ && table_[i].number != number) i = (i + 1) & mask;
    return i;
  }
  [[nodiscard]] Entry& entry_of(std::uint64_t number) { return table_[slot_of(number)]; }
  [[nodiscard]] Page* page_of(std::uint64_t number) {
    if (2 * (used_ + 1) > table_.size()) grow();
    Entry& entry = entry_of(number);
    if (entry.round != round_) {
      if (used_ == pages_.size()) pages_.push_back(std::make_unique<Page>());
      entry = {.number = number, .round = round_, .page = pages_[used_++].get()};
    }
    return entry.page;
  }
  void grow() {
    constexpr std::size_t kFirst = 64;
    const std::vector<Entry> before = std::exchange(table_, {});
    table_.resize(std::max(kFirst, 2 * before.size()));
    for (const Entry& entry : before) {
      if (entry.round == round_) entry_of(entry.number) = entry;
    }
  }

  std::vector<std::unique_ptr<Page>> pages_;  ///< the first `used_` of them belong to this block
  std::vector<Entry> table_;                  ///< as many as a power of two
  std::size_t used_ = 0;
  std::uint64_t round_ = 1;
  Page* last_ = nullptr;
  std::uint64_t last_number_ = 0;
};

}  // namespace ak::emulator
