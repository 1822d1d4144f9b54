// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/model_catalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_quantity.h"
#include "core/text/written_json.h"
#include "model_catalog_files.h"

namespace ak::agent {
namespace {

constexpr Format kModelsFormat{.name = "a file of language models"};

constexpr double kMillion = 1e6;
/// Of a million tokens: a dollar a token is far above what any provider asks.
constexpr QuantityRange kPrice{.kind = QuantityRange::Kind::money, .max = 1e6};

double read_amount(const JsonReader& at) { return quantity_in(at, kPrice); }

std::int64_t read_count(const JsonReader& at) { return integer_in(at, {}); }

/// Without prices of their own, cached tokens cost as much as others.
ModelPrice read_price(const JsonReader& at) {
  at.only({"input", "output", "cache_read", "cache_write"});
  ModelPrice price{.input = read_amount(at.member("input")), .output = read_amount(at.member("output"))};
  price.cache_read = price.cache_write = price.input;
  if (const auto read = at.find("cache_read")) price.cache_read = read_amount(*read);
  if (const auto write = at.find("cache_write")) price.cache_write = read_amount(*write);
  return price;
}

void overlay(ModelEntry& entry, const JsonReader& at) {
  at.only({"name", "context_tokens", "max_output_tokens", "temperature", "stop", "stream", "efforts",
           "usd_per_million"});
  if (const auto value = at.find("context_tokens")) entry.context_tokens = read_count(*value);
  if (const auto value = at.find("max_output_tokens")) entry.max_output_tokens = read_count(*value);
  if (const auto value = at.find("temperature")) entry.temperature = value->boolean();
  if (const auto value = at.find("stop")) entry.stop = value->boolean();
  if (const auto value = at.find("stream")) entry.stream = value->boolean();
  if (const auto value = at.find("usd_per_million")) entry.price = read_price(*value);
  if (const auto value = at.find("efforts")) {
    entry.efforts.clear();
    for (const JsonReader& effort : value->items()) entry.efforts.push_back(effort.text());
  }
}

}  // namespace

std::optional<double> ModelEntry::cost_usd(const LlmUsage& usage) const {
  if (!price) return std::nullopt;
  const auto times = [](std::int64_t tokens, double usd) {
    return static_cast<double>(tokens) * usd / kMillion;
  };
  const std::int64_t plain = usage.input_tokens - usage.cached_tokens - usage.cache_written_tokens;
  return times(std::max<std::int64_t>(plain, 0), price->input) +
         times(usage.cached_tokens, price->cache_read) +
         times(usage.cache_written_tokens, price->cache_write) + times(usage.output_tokens, price->output);
}

void ModelCatalog::add(const Json& written) {
  const Json json = up_to_date(kModelsFormat, written);
  const JsonReader at(json);
  at.only({kModelsFormat.key, "provider", "source", "models"});
  const std::string provider = at.member("provider").text(), source = at.member("source").text();
  for (const JsonReader& model : at.member("models").items()) {
    ModelEntry entry = of(provider, model.member("name").text());
    entry.source = source;
    overlay(entry, model);
    std::erase_if(entries_, [&](const ModelEntry& old) {
      return old.provider == entry.provider && old.name == entry.name;
    });
    entries_.push_back(std::move(entry));
  }
}

void ModelCatalog::add_text(std::string_view text, const std::string& file) {
  try {
    const Json json = parse_written_json(text);
    if (!json.is_array()) return add(json);
    for (const Json& one : json) add(one);
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file, input_error.what());
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file, error.what());
  }
}

ModelCatalog ModelCatalog::with_file(const std::filesystem::path& file) {
  ModelCatalog catalog;
  for (const EmbeddedFile& shipped : model_catalog_files())
    catalog.add_text(shipped.text, std::string(shipped.name));
  if (!file.empty() && std::filesystem::exists(file)) catalog.add_text(read_file(file), file.string());
  return catalog;
}

ModelEntry ModelCatalog::of(std::string_view provider, std::string_view name) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const ModelEntry& entry) { return entry.provider == provider && entry.name == name; });
  if (found != entries_.end()) return *found;
  return {.provider = std::string(provider), .name = std::string(name), .source = "no entry"};
}

}  // namespace ak::agent
