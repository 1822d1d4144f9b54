// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/device_calls.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

constexpr std::size_t kLongestString =
    1024;  // the driver's own limit on a %s argument is not documented (chosen)

/// Host memory behind a generic address of one lane; null when nothing is there.
const std::byte* generic(const Warp& warp, int lane, std::uint64_t address, std::uint64_t bytes) {
  const Launch& launch = *warp.launch;
  const std::uint64_t offset = address & ~kWindowMask;
  if ((address & kWindowMask) == kLocalWindow) {
    const std::uint32_t stride = launch.program.local_bytes;
    if (offset > stride || bytes > stride - offset) return nullptr;
    return warp.local + static_cast<std::size_t>(lane) * stride + offset;
  }
  if ((address & kWindowMask) == kSharedWindow) {
    const bool inside = offset <= warp.block->shared_bytes && bytes <= warp.block->shared_bytes - offset;
    return inside ? warp.block->shared + offset : nullptr;
  }
  return launch.arena.host(address, bytes);
}

std::string text_at(const Warp& warp, int lane, std::uint64_t address) {
  std::string text;
  while (text.size() < kLongestString) {
    const std::byte* at = generic(warp, lane, address + text.size(), 1);
    if (at == nullptr || *at == std::byte{0}) break;
    text += static_cast<char>(*at);
  }
  return text;
}

template <class T>
T argument(const Warp& warp, int lane, std::uint32_t offset) {
  T value{};
  const std::size_t base = static_cast<std::size_t>(lane) * warp.launch->program.local_bytes;
  std::memcpy(&value, warp.local + base + offset, sizeof value);
  return value;
}

void set_result(Warp& warp, int lane, std::uint32_t offset, std::int32_t value) {
  const std::size_t at = static_cast<std::size_t>(lane) * warp.launch->program.local_bytes + offset;
  std::memcpy(warp.local + at, &value, sizeof value);
  if (warp.local_written != nullptr) std::memset(warp.local_written + at, 1, sizeof value);
}

/// Reads the arguments that nvcc packed for vprintf, each at a multiple of its size.
class PackedArguments {
 public:
  PackedArguments(const Warp& warp, int lane, std::uint64_t address)
      : warp_(warp), lane_(lane), at_(address) {}
  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    if (const std::byte* from = generic(warp_, lane_, at_, sizeof(T))) std::memcpy(&value, from, sizeof(T));
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  std::string next_text() { return text_at(warp_, lane_, next<std::uint64_t>()); }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  const Warp& warp_;
  int lane_;
  std::uint64_t at_;
  std::int32_t count_ = 0;
};

template <class T>
std::string print_one(const std::string& conversion, T value) {
  char text[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  // The conversion was picked apart by next_conversion(): flags, digits and one letter that fits T.
  std::snprintf(text, sizeof text, conversion.c_str(), value);
#pragma GCC diagnostic pop
  return text;
}

/// One "%-08.3llx": text up to and including the letter; empty when it is none that is known.
struct Conversion {
  std::string flags;  ///< with digits and '.', without length modifiers; '*' is not supported by CUDA either
  int long_count = 0;
  char letter = 0;
};

bool among(std::string_view set, const std::string& format, std::size_t i) {
  return i < format.size() && set.find(format[i]) != std::string_view::npos;
}

/// A width or precision. One that the text buffer could not hold anyway is cut: the C library would spend
/// time and memory on it.
void read_number(const std::string& format, std::size_t& i, std::string& to) {
  constexpr std::size_t kMaxDigits = 3;
  for (std::size_t digits = 0; among("0123456789", format, i); ++i) {
    if (digits++ < kMaxDigits) to += format[i];
  }
}

Conversion read_conversion(const std::string& format, std::size_t& i) {
  Conversion conversion;
  for (; among("-+ #0", format, i); ++i) {
    if (conversion.flags.find(format[i]) == std::string::npos) conversion.flags += format[i];
  }
  read_number(format, i, conversion.flags);
  if (among(".", format, i)) {
    conversion.flags += format[i++];
    read_number(format, i, conversion.flags);
  }
  while (among("hljztL", format, i)) {
    conversion.long_count += format[i] == 'l' || format[i] == 'j' || format[i] == 'z' || format[i] == 't';
    ++i;
  }
  if (i < format.size()) conversion.letter = format[i++];
  return conversion;
}

std::string convert(const Conversion& conversion, PackedArguments& arguments) {
  const std::string head = "%" + conversion.flags;
  const std::string tail(1, conversion.letter);
  switch (conversion.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      if (conversion.long_count > 0) return print_one(head + "ll" + tail, arguments.next<long long>());
      return print_one(head + tail, arguments.next<int>());
    case 'c':
      return print_one(head + tail, arguments.next<int>());
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return print_one(head + tail, arguments.next<double>());
    case 'p':
      return fmt::format("0x{:x}", arguments.next<std::uint64_t>());
    case 's':
      return print_one(head + tail, arguments.next_text().c_str());
    case '%':
      return "%";
    default:
      return head + tail;
  }
}

std::string formatted(const std::string& format, PackedArguments& arguments) {
  std::string text;
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      text += format[i++];
      continue;
    }
    ++i;
    text += convert(read_conversion(format, i), arguments);
  }
  return text;
}

// op.a, op.b: local offsets of the two pointers; op.c: of the result, which is the number of arguments (CUDA
// C++ Programming Guide, "Formatted Output").
void vprintf_call(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) {
    const std::string format = text_at(warp, lane, argument<std::uint64_t>(warp, lane, op.a));
    PackedArguments arguments(warp, lane, argument<std::uint64_t>(warp, lane, op.b));
    const std::string text = formatted(format, arguments);
    set_result(warp, lane, op.c, arguments.count());
    if (warp.launch->print) warp.launch->print(text);
  });
}

// __assertfail(message, file, line, function, char size); op.more: their local offsets.
void assert_call(Warp& warp, const Op& op) {
  const Slot* at = warp.launch->program.slots.data() + op.more;
  for_each_lane(warp.mask, [&](int lane) {
    const std::string message = text_at(warp, lane, argument<std::uint64_t>(warp, lane, at[0]));
    const std::string function = text_at(warp, lane, argument<std::uint64_t>(warp, lane, at[3]));
    warp.launch->fault(
        warp, op, FaultKind::assertion, lane,
        fmt::format("`{}` in {}, line {}", message, function, argument<std::uint32_t>(warp, lane, at[2])));
  });
  warp.launch->stop = true;
  exit_lanes(warp);
}

}  // namespace

std::optional<Op> device_call(Lowering& lowering, const std::string& name,
                              const std::vector<Operand>& results, const std::vector<Operand>& arguments) {
  const auto offset_of = [&lowering](const Operand& operand, std::uint32_t bytes) {
    const LocalSlice slice = lowering.local_slice(operand.name);
    if (slice.bytes != bytes) Lowering::unsupported("an argument of another size");
    return slice.offset;
  };
  if (name == "vprintf" && arguments.size() == 2 && results.size() == 1)
    return Op{.run = vprintf_call,
              .a = offset_of(arguments[0], 8),
              .b = offset_of(arguments[1], 8),
              .c = offset_of(results.front(), 4)};
  if (name == "__assertfail" && arguments.size() == 5) {
    constexpr std::uint32_t kBytes[] = {8, 8, 4, 8, 8};
    std::vector<Slot> offsets;
    for (std::size_t i = 0; i < 5; ++i) offsets.push_back(offset_of(arguments[i], kBytes[i]));
    Op op{.run = assert_call};
    lowering.more(op, offsets);
    return op;
  }
  Lowering::unsupported("a call of '" + name + "' with these arguments");
}

}  // namespace ak::emulator
