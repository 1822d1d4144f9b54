// SPDX-License-Identifier: Apache-2.0
#include "core/plan/input_draw.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/error.h"

namespace ak {
namespace {

/// What a kind's parentheses hold apart from scale and shift.
enum class DrawArguments : std::uint8_t { none, numbers, range, size, total, matrix, prefix };

struct InputKindName {
  std::string_view name;  ///< written in problem.json; never renamed
  InputKind kind;
  DrawArguments arguments = DrawArguments::none;
};
/// Kinds in the order of ak_random::Kind; then further names of some, which differ in what their arguments are.
constexpr std::array kInputKinds{
    InputKindName{"normal", InputKind::normal},
    InputKindName{"uniform", InputKind::uniform},
    InputKindName{"small_integer", InputKind::small_integer},
    InputKindName{"zero_one", InputKind::zero_one},
    InputKindName{"outliers", InputKind::outliers},
    InputKindName{"ramp", InputKind::ramp},
    InputKindName{"peaked", InputKind::peaked},
    InputKindName{"cauchy", InputKind::cauchy},
    InputKindName{"rising", InputKind::rising},
    InputKindName{"spiked", InputKind::spiked},
    InputKindName{"late_spike", InputKind::late_spike},
    InputKindName{"row_scales", InputKind::row_scales},
    InputKindName{"ascending", InputKind::ascending, DrawArguments::range},
    InputKindName{"constant", InputKind::constant, DrawArguments::numbers},
    InputKindName{"choices", InputKind::choices, DrawArguments::numbers},
    InputKindName{"integers", InputKind::integers, DrawArguments::range},
    InputKindName{"lengths", InputKind::lengths, DrawArguments::total},
    InputKindName{"permutation", InputKind::permutation},
    InputKindName{"offsets", InputKind::offsets, DrawArguments::total},
    InputKindName{"even_offsets", InputKind::even_offsets, DrawArguments::total},
    InputKindName{"skewed_offsets", InputKind::skewed_offsets, DrawArguments::total},
    InputKindName{"single_offsets", InputKind::single_offsets, DrawArguments::total},
    InputKindName{"row_pointers", InputKind::row_pointers, DrawArguments::matrix},
    InputKindName{"row_columns", InputKind::row_columns, DrawArguments::matrix},
    InputKindName{"even_row_columns", InputKind::even_row_columns, DrawArguments::matrix},
    InputKindName{"prefixes", InputKind::prefixes, DrawArguments::prefix},
    InputKindName{"given", InputKind::given},
    InputKindName{"index", InputKind::integers, DrawArguments::size},
    InputKindName{"block_table", InputKind::permutation, DrawArguments::size}};

/// Kinds in the order of ak_random::Kind, in words.
constexpr std::array<std::string_view, static_cast<std::size_t>(InputKind::given) + 1> kKindWords{
    "normal",
    "uniform from -1 to 1",
    "integers from -3 to 3",
    "0 or 1",
    "normal, one element in 1024 multiplied by 100",
    "(index mod 1024) / 1024 - 0.5",
    "normal, one element in 256 raised by 20",
    "a Cauchy distribution, cut off at 4096",
    "normal, and a rise by 512 along every row",
    "normal, one random element of every row raised by 256",
    "normal, the last element of every row raised by 256",
    "normal, every row multiplied by a power of two from 2^-8 to 2^8",
    "rising over the whole tensor",
    "constant",
    "one of",
    "integers",
    "lengths of sequences",
    "each number once in a row",
    "offsets of parts",
    "offsets of equal parts",
    "offsets of parts that grow",
    "offsets of parts of which one has everything",
    "where the rows of a sparse matrix begin",
    "columns of a sparse matrix",
    "columns of a sparse matrix with equal rows",
    "the first of each group normal, the others a number that must not be looked at",
    "by the problem's own generator"};
static_assert(!kKindWords.back().empty(), "every kind has its words");

constexpr double kLargestDrawnFloat = 1 << 24;  // floating values are drawn as fp32, which has gaps beyond

/// Low and high of a dtype that nothing was said of.
struct Range {
  std::int64_t low, high;
};
/// The integers that a type holds without a gap.
Range whole(DType dtype) {
  if (info(dtype).floating) {
    const double gapless = std::min(1 / info(dtype).unit_roundoff, kLargestDrawnFloat);
    return {-static_cast<std::int64_t>(gapless), static_cast<std::int64_t>(gapless)};
  }
  if (dtype == DType::boolean) return {0, 1};
  if (dtype == DType::int4x2) return {-8, 7};
  if (dtype == DType::uint4x2) return {0, 15};
  const int bits = 8 * info(dtype).bytes;
  if (info(dtype).is_unsigned) return {0, (std::int64_t{1} << bits) - 1};
  if (bits == 64) return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

Range unstated(DType dtype) {
  const bool is_signed = !info(dtype).is_unsigned && dtype != DType::boolean;
  return is_signed ? Range{-8, 8} : whole(dtype);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Split at commas outside of parentheses.
std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '(' || text[i] == '[')) ++depth;
    if (i < text.size() && (text[i] == ')' || text[i] == ']')) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

InputError wrong(std::string_view text, const std::string& what) {
  return InputError{fmt::format("'{}': {}", text, what)};
}

/// Takes "scale=2" or "shift=-1". Nothing where it is another argument.
std::optional<InputError> take_named(std::string_view argument, InputDraw& draw, bool& taken) {
  for (const auto& [name, value] : {std::pair{"scale=", &draw.scale}, {"shift=", &draw.shift}}) {
    if (!argument.starts_with(name)) continue;
    const auto number = number_of(trimmed(argument.substr(std::string_view(name).size())));
    if (!number) return wrong(argument, "expected a number after the equals sign");
    *value = static_cast<float>(*number);
    taken = true;
  }
  return std::nullopt;
}

std::optional<InputError> take_expression(std::string_view argument, InputDraw& draw) {
  auto parsed = Expression::parse(argument);
  if (!parsed) return wrong(argument, parsed.error().message);
  draw.bounds.push_back(std::move(parsed).value());
  return std::nullopt;
}

std::optional<InputError> take_argument(std::string_view argument, DrawArguments kind, InputDraw& draw) {
  bool taken = false;
  if (auto error = take_named(argument, draw, taken); error || taken) return error;
  if (kind == DrawArguments::none)
    return wrong(argument, "this kind takes scale=NUMBER and shift=NUMBER, no other argument");
  const bool after_sizes = kind == DrawArguments::prefix && draw.bounds.size() == 2;
  if (kind != DrawArguments::numbers && !after_sizes) return take_expression(argument, draw);
  const auto number = number_of(argument);
  if (!number) return wrong(argument, "expected a number");
  draw.choices.push_back(*number);
  return std::nullopt;
}

/// What is missing or too much, or nothing.
std::string wrong_count(const InputDraw& draw, const InputKindName& kind) {
  const std::size_t bounds = draw.bounds.size(), choices = draw.choices.size();
  if (kind.arguments == DrawArguments::size && bounds != 1)
    return "expected one size, such as the name of an axis";
  if (kind.arguments == DrawArguments::matrix && bounds != 2)
    return kind.kind == InputKind::row_pointers
               ? "expected how many entries there are, and the width of the matrix"
               : "expected how many rows the matrix has, and its width";
  if (kind.arguments == DrawArguments::prefix && (bounds != 2 || choices != 1))
    return "expected how many values are drawn, of how many, and the number that the others are";
  if (kind.arguments == DrawArguments::total && (bounds < 1 || bounds > 2))
    return "expected one size, such as the name of an axis, or a lowest and a highest value";
  if (kind.arguments == DrawArguments::range && bounds != 0 && bounds != 2)
    return "expected a lowest and a highest value, or none for all that the dtype holds";
  if (kind.kind == InputKind::constant && choices != 1) return "expected one number";
  if (kind.kind == InputKind::choices && (choices < 1 || choices > ak_random::kMaxChoices))
    return fmt::format("expected 1 to {} numbers", ak_random::kMaxChoices);
  return "";
}

Expression literal(std::int64_t value) {
  auto parsed = Expression::parse(std::to_string(value));
  AK_ASSERT(parsed.ok(), "a number is an expression");
  return std::move(parsed).value();
}

/// An expression less one.
Expression last_of(const Expression& size) {
  auto last = Expression::parse(fmt::format("({}) - 1", size.text()));
  AK_ASSERT(last.ok(), "an expression less one is an expression");
  return std::move(last).value();
}

/// Makes low and high of a size: index(N) is 0 to N - 1, lengths(N) is 1 to N, offsets(N) is 0 to N, unless both are
/// given. Of
/// row_pointers(TOTAL, WIDTH) they are 0 and TOTAL, of row_columns(ROWS, WIDTH) 0 and WIDTH - 1.
void make_range(InputDraw& draw, const InputKindName& kind) {
  if (kind.arguments == DrawArguments::matrix) {
    const bool pointers = kind.kind == InputKind::row_pointers;
    draw.bound = pointers ? draw.bounds.back() : draw.bounds.front();
    draw.bounds = {literal(0), pointers ? draw.bounds.front() : last_of(draw.bounds.back())};
    return;
  }
  if (kind.arguments == DrawArguments::total && draw.bounds.size() == 1)
    draw.bounds.insert(draw.bounds.begin(), literal(kind.kind == InputKind::lengths ? 1 : 0));
  if (kind.arguments != DrawArguments::size) return;
  draw.bounds = {literal(0), last_of(draw.bounds.front())};
  draw.over_tensor = kind.kind == InputKind::permutation;
}

Result<Range> range_of(const InputDraw& draw, DType dtype, std::int64_t row, const Environment& environment) {
  if (draw.bounds.empty()) {
    if (draw.kind == InputKind::permutation) return Range{0, row - 1};
    return says_nothing_of_integers(draw) ? unstated(dtype) : whole(dtype);
  }
  Range range{};
  for (const auto& [bound, into] :
       {std::pair{&draw.bounds.front(), &range.low}, {&draw.bounds.back(), &range.high}}) {
    const auto value = bound->evaluate_integer(environment);
    if (!value) return InputError{fmt::format("'{}': {}", bound->text(), value.error().message)};
    *into = *value;
  }
  if (range.high < range.low)
    return InputError{fmt::format("the range {} to {} is empty", range.low, range.high)};
  if (draw.kind == InputKind::prefixes) {
    if (range.low < 0 || range.high < 1)
      return InputError{fmt::format("the first {} of {} values are none", range.low, range.high)};
    return range;
  }
  const Range all = whole(dtype);
  if (range.low < all.low || range.high > all.high)
    return InputError{
        fmt::format("{} does not hold every value from {} to {}", info(dtype).name, range.low, range.high)};
  return range;
}

/// Takes `bound` of a sparse matrix, whose entries have to fit its rows.
std::optional<InputError> take_bound(const InputDraw& draw, const Environment& environment,
                                     ak_random::Draw& drawn) {
  if (!draw.bound) return std::nullopt;
  const auto value = draw.bound->evaluate_integer(environment);
  if (!value) return InputError{fmt::format("'{}': {}", draw.bound->text(), value.error().message)};
  drawn.bound = *value;
  const bool pointers = draw.kind == InputKind::row_pointers;
  const std::int64_t rows = pointers ? drawn.row - 1 : *value, width = pointers ? *value : drawn.high + 1,
                     entries = pointers ? drawn.high : drawn.row;
  if (rows < 1 || width < 1 || (entries + width - 1) / width > rows)
    return InputError{fmt::format("{} entries do not fit {} rows of {}", entries, rows, width)};
  return std::nullopt;
}

/// The kind that an integer tensor is drawn with.
InputKind kind_for(const InputDraw& draw, DType dtype) {
  return !info(dtype).floating && says_nothing_of_integers(draw) ? InputKind::integers : draw.kind;
}

}  // namespace

std::string_view to_string(InputKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  AK_ASSERT(index < kInputKinds.size() && kInputKinds[index].kind == kind,
            "the rows of kInputKinds begin in the order of InputKind");
  return kInputKinds[index].name;
}

std::string in_words(const InputDraw& draw) {
  std::string words(kKindWords.at(static_cast<std::size_t>(draw.kind)));
  if (!draw.choices.empty()) words += fmt::format(" {}", fmt::join(draw.choices, ", "));
  if (draw.bounds.size() == 2)
    words += fmt::format(" from {} to {}", draw.bounds[0].text(), draw.bounds[1].text());
  if (draw.scale != 1) words += fmt::format(", times {:g}", draw.scale);
  if (draw.shift != 0) words += fmt::format(", plus {:g}", draw.shift);
  return words;
}

std::optional<InputKind> parse_input_kind(std::string_view text) {
  const auto* found = std::ranges::find(kInputKinds, text, &InputKindName::name);
  if (found == kInputKinds.end()) return std::nullopt;
  return found->kind;
}

std::string input_kind_names() {
  std::vector<std::string_view> names;
  for (const InputKindName& kind : kInputKinds) names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool draws_offsets(InputKind kind) { return kind >= InputKind::offsets && kind <= InputKind::row_pointers; }

bool says_nothing_of_integers(const InputDraw& draw) { return draw.kind < InputKind::ascending; }

Result<InputDraw> parse_input_draw(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::string_view name = trimmed(text.substr(0, open));
  const auto* kind = std::ranges::find(kInputKinds, name, &InputKindName::name);
  if (kind == kInputKinds.end())
    return InputError{fmt::format("'{}' is not a kind of input; those are {}", name, input_kind_names())};
  InputDraw draw{.kind = kind->kind};
  if (open != std::string_view::npos) {
    const std::string_view rest = trimmed(text.substr(open + 1));
    if (!rest.ends_with(')')) return wrong(text, "expected a closing parenthesis at the end");
    const std::string_view inside = trimmed(rest.substr(0, rest.size() - 1));
    for (const std::string_view argument :
         inside.empty() ? std::vector<std::string_view>{} : split_arguments(inside)) {
      if (auto error = take_argument(argument, kind->arguments, draw)) return *error;
    }
  }
  if (const std::string error = wrong_count(draw, *kind); !error.empty()) return wrong(text, error);
  make_range(draw, *kind);
  return draw;
}

Result<ak_random::Draw> resolve_draw(const InputDraw& draw, DType dtype,
                                     const std::vector<std::int64_t>& shape, const Environment& environment) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  const std::int64_t row = draw.over_tensor || shape.empty() ? count : shape.back();
  ak_random::Draw drawn{};
  drawn.kind = kind_for(draw, dtype);
  drawn.scale = draw.scale;
  drawn.shift = draw.shift;
  drawn.count = count;
  drawn.row = std::max<std::int64_t>(row * info(dtype).values, 1);
  drawn.choice_count = static_cast<int>(draw.choices.size());
  std::ranges::copy(draw.choices, drawn.choices);
  if (draw.kind == InputKind::given && (draw.scale != 1 || draw.shift != 0))
    return InputError{"the kind 'given' is the problem's own generator: it takes neither scale nor shift"};
  const Range all = whole(dtype);
  for (const double choice : draw.choices) {
    const bool held = choice >= static_cast<double>(all.low) && choice <= static_cast<double>(all.high) &&
                      static_cast<double>(static_cast<std::int64_t>(choice)) == choice;
    if (!info(dtype).floating && !held)
      return InputError{fmt::format("{} does not hold {}", info(dtype).name, choice)};
  }
  const auto range = range_of(draw, dtype, drawn.row, environment);
  if (!range) return range.error();
  drawn.low = range->low;
  drawn.high = range->high;
  if (auto error = take_bound(draw, environment, drawn)) return *error;
  return drawn;
}

}  // namespace ak
