// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ak::emulator {

/// Shadows of words that lie one after the other: ThreadRecords of their last write and reads.
struct ShadowWords {
  std::uint64_t *writes = nullptr, *reads = nullptr, *older_reads = nullptr;
  [[nodiscard]] ShadowWords from(std::uint64_t word) const {
    return {writes + word, reads + word, older_reads + word};
  }
};

/// Shadows of the words of a large memory of which a block touches little: in pages that exist once they are
/// touched.
class WordPages {
 public:
  /// Words of a page: the rows of a tile that lie far apart cost a page each (chosen: 1.5 KiB).
  static constexpr std::uint64_t kPageWords = 64;

  /// Shadow of `word` and those after it in its page.
  [[nodiscard]] ShadowWords at(std::uint64_t word) {
    const std::uint64_t number = word / kPageWords;
    if (last_ == nullptr || number != last_number_) {
      std::unique_ptr<Page>& page = pages_[number];
      if (page == nullptr) page = fresh();
      last_ = page.get();
      last_number_ = number;
    }
    return ShadowWords{last_->writes.data(), last_->reads.data(), last_->older_reads.data()}.from(word %
                                                                                                  kPageWords);
  }

  /// Forgets everything; the pages' memory stays for the next block.
  void clear() {
    for (auto& [number, page] : pages_) spare_.push_back(std::move(page));
    pages_.clear();
    last_ = nullptr;
  }

 private:
  struct Page {
    std::array<std::uint64_t, kPageWords> writes{}, reads{}, older_reads{};
  };
  [[nodiscard]] std::unique_ptr<Page> fresh() {
    if (spare_.empty()) return std::make_unique<Page>();
    std::unique_ptr<Page> page = std::move(spare_.back());
    spare_.pop_back();
    *page = {};
    return page;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<std::unique_ptr<Page>> spare_;
  Page* last_ = nullptr;
  std::uint64_t last_number_ = 0;
};

}  // namespace ak::emulator
