// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ak::dashboard {

using Fields = std::vector<std::pair<std::string, std::string>>;  ///< name and value

/// The value of the first field of that name; nothing without one.
[[nodiscard]] std::optional<std::string_view> find_field(const Fields& fields, std::string_view name);

struct HttpRequest {
  std::string method;
  std::string path;     ///< decoded, begins with '/', no control characters
  Fields query = {};    ///< decoded
  Fields headers = {};  ///< names in lower case
};

// What a request may have. Browsers send a tenth of it; servers at large allow as much.
inline constexpr std::size_t kMaxRequestLineBytes = 8u << 10;
inline constexpr std::size_t kMaxHeadBytes = 16u << 10;
inline constexpr std::size_t kMaxHeadFields = 100;  ///< headers, and as many values in the query

/// A request, or the status to refuse it with: 400, 414, 431 or 505.
using ReadRequest = std::variant<HttpRequest, int>;

/// Reads the head of one request, in pieces of any size. Keeps at most kMaxHeadBytes; what follows the
/// head is dropped.
class RequestReader {
 public:
  /// The request as soon as its head is whole, the status as soon as it cannot become one; else nothing.
  [[nodiscard]] std::optional<ReadRequest> feed(std::string_view bytes);
  /// True before the first byte.
  [[nodiscard]] bool empty() const { return head_.empty(); }

 private:
  std::string head_;
};

}  // namespace ak::dashboard
