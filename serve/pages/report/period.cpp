// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/report/period.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>

#include "core/error.h"

namespace ak::pages {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty() ||
      !std::isdigit(static_cast<unsigned char>(text[0])))
    return std::nullopt;
  return value;
}

std::string iso(sys_days day) {
  const year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

/// Monday of week 1, the week of January 4.
sys_days first_monday(int year) {
  const sys_days fourth = std::chrono::year(year) / 1 / 4;
  return fourth - (std::chrono::weekday(fourth) - std::chrono::Monday);
}

std::optional<sys_days> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number(text.substr(0, 4)), month = number(text.substr(5, 2)),
             day = number(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional<sys_days>(date) : std::nullopt;
}

/// "T22:00", "T22:00:30" or either with a Z.
bool is_time(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.size() != 6 && text.size() != 9) return false;
  const auto hour = number(text.substr(1, 2)), minute = number(text.substr(4, 2));
  const auto second = text.size() == 9 ? number(text.substr(7, 2)) : std::optional<int>(0);
  return text[0] == 'T' && text[3] == ':' && (text.size() == 6 || text[6] == ':') && hour && minute &&
         second && *hour < 24 && *minute < 60 && *second < 60;
}

/// The moment as the database writes it, so that texts compare; of a day its start, or with `end` that
/// of the next.
std::string moment(std::string_view text, bool end, std::string_view option) {
  const std::optional<sys_days> day = parse_day(text.substr(0, 10));
  if (!day || (text.size() > 10 && !is_time(text.substr(10))))
    fail(ExitCode::usage,
         "{}: expected a day like 2026-11-16 or a time like 2026-11-16T22:00 (UTC), got '{}'", option, text);
  if (text.size() == 10) return iso(*day + days(end ? 1 : 0)) + "T00:00:00.000Z";
  std::string_view time = text.substr(10);
  if (time.ends_with('Z')) time.remove_suffix(1);
  return fmt::format("{}{}{}.000Z", iso(*day), time, time.size() == 6 ? ":00" : "");
}

Period days_period(sys_days first, int count, std::string name) {
  return {iso(first) + "T00:00:00.000Z", iso(first + days(count)) + "T00:00:00.000Z",
          fmt::format("{}{} to {}", name, iso(first), iso(first + days(count - 1)))};
}

}  // namespace

Period week_period(std::string_view week) {
  const auto year = week.size() == 8 ? number(week.substr(0, 4)) : std::nullopt;
  const auto count = week.size() == 8 ? number(week.substr(6, 2)) : std::nullopt;
  if (!year || !count || week[4] != '-' || week[5] != 'W' || *count < 1 ||
      first_monday(*year) + days(7 * (*count - 1)) >= first_monday(*year + 1))
    fail(ExitCode::usage, "--week: expected an ISO week like 2026-W47, got '{}'", week);
  return days_period(first_monday(*year) + days(7 * (*count - 1)), 7, fmt::format("week {}: ", week));
}

Period date_period(std::string_view since, std::string_view until,
                   std::chrono::system_clock::time_point now) {
  const std::string today = iso(std::chrono::floor<days>(now));
  Period period{since.empty() ? "" : moment(since, false, "--since"),
                moment(until.empty() ? today : until, true, "--until"), ""};
  if (period.since >= period.until)
    fail(ExitCode::usage, "--since {} is not before --until {}", since, until.empty() ? today : until);
  period.title =
      fmt::format("{} to {}", since.empty() ? "the beginning" : since, until.empty() ? today : until);
  return period;
}

Period last_seven_days(std::chrono::system_clock::time_point now) {
  return days_period(std::chrono::floor<days>(now) - days(6), 7, "seven days: ");
}

}  // namespace ak::pages
