// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"
#include "device_catalog_files.h"

namespace ak {
namespace {

namespace fs = std::filesystem;

constexpr Format kDeviceFormat{.name = "a device's file"};
constexpr std::string_view kFeature = "feature/";

/// Newer drivers put the maker's name before the product's.
std::string key_of(std::string_view name) {
  const std::string plain = plain_name(name);
  return plain.starts_with("nvidia") ? plain.substr(6) : plain;
}

std::string read_name(const JsonReader& at) {
  const std::string name = at.text();
  if (key_of(name).empty()) at.fail("a name");
  return name;
}

std::optional<double> read_value(const JsonReader& at, bool feature) {
  if (at.json().is_null()) return std::nullopt;
  if (feature) return at.boolean() ? 1 : 0;
  const double value = at.number();
  if (!std::isfinite(value) || value < 0) at.fail("a number >= 0 or null");
  return value;
}

/// [value, source], the source being a key of `sources` or the words themselves.
DeviceProperty read_property(const JsonReader& at, const Json& sources, bool feature) {
  const std::vector<JsonReader> items = at.items();
  if (items.size() != 2) at.fail("[value, source]");
  std::string source = items[1].text();
  if (source.empty()) items[1].fail("who says so, or why it is not known");
  if (const auto known = sources.find(source); known != sources.end()) source = known->get<std::string>();
  return {.value = read_value(items[0], feature), .source = std::move(source)};
}

void check_property_name(const JsonReader& at, const std::string& name) {
  std::vector<std::string> names;
  for (const DevicePropertyInfo& property : device_properties()) names.emplace_back(property.name);
  if (std::ranges::find(names, name) == names.end())
    at.reject(fmt::format("no such property{}; docs/devices.md lists them", did_you_mean(name, names)));
}

Json read_sources(const JsonReader& at) {
  for (const auto& [key, source] : at.members()) {
    if (source.text().empty()) source.fail("the source in words");
  }
  return at.json();
}

Arch read_arch(const JsonReader& at) {
  const std::optional<Arch> arch = parse_sm(at.text());
  if (!arch) at.fail("a target such as \"sm_90a\"");
  return *arch;
}

DeviceEntry read_entry(const JsonReader& at) {
  at.only({kDeviceFormat.key, "name", "aliases", "arch", "nominal", "sources", "figures"});
  DeviceEntry entry;
  entry.name = read_name(at.member("name"));
  if (const auto aliases = at.find("aliases")) {
    for (const JsonReader& alias : aliases->items()) entry.aliases.push_back(read_name(alias));
  }
  if (const auto arch = at.find("arch")) entry.arch = read_arch(*arch);
  if (const auto nominal = at.find("nominal")) entry.nominal = read_name(*nominal);
  const auto given = at.find("sources");
  const Json sources = given ? read_sources(*given) : Json::object();
  if (const auto properties = at.find("figures")) {
    for (const auto& [name, property] : properties->members()) {
      check_property_name(property, name);
      entry.properties[name] = read_property(property, sources, name.starts_with(kFeature));
    }
  }
  return entry;
}

bool is_called(const DeviceEntry& entry, const std::string& key) {
  const auto same = [&](const std::string& name) { return key_of(name) == key; };
  return same(entry.name) || std::ranges::any_of(entry.aliases, same);
}

template <class Entries>
auto find_entry(Entries& entries, std::string_view name) {
  const std::string key = key_of(name);
  const auto found = std::ranges::find_if(entries, [&](const auto& entry) { return is_called(entry, key); });
  return found == entries.end() ? nullptr : &*found;
}

void overlay(DeviceEntry& below, DeviceEntry above) {
  below.aliases.insert(below.aliases.end(), above.aliases.begin(), above.aliases.end());
  if (above.arch.major != 0) below.arch = above.arch;
  if (!above.nominal.empty()) below.nominal = std::move(above.nominal);
  for (auto& [name, property] : above.properties) below.properties[name] = std::move(property);
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& file : fs::directory_iterator(folder, none)) {
    if (file.path().extension() == ".json") files.push_back(file.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<double> DeviceEntry::value(std::string_view property) const {
  const auto found = properties.find(property);
  return found == properties.end() ? std::nullopt : found->second.value;
}

bool DeviceEntry::has(std::string_view feature) const {
  return value(fmt::format("{}{}", kFeature, feature)).value_or(0) != 0;
}

void DeviceCatalog::add_text(std::vector<DeviceEntry>& own, std::string_view text, const std::string& file) {
  try {
    const Json json = up_to_date(kDeviceFormat, parse_written_json(text));
    DeviceEntry entry = read_entry(JsonReader(json));
    if (DeviceEntry* known = find_entry(own, entry.name)) return overlay(*known, std::move(entry));
    if (entry.arch.major == 0)
      JsonReader(json).reject("the key 'arch' is missing, and no entry has that name");
    own.push_back(std::move(entry));
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file, input_error.what());
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file, error.what());
  }
}

DeviceCatalog::DeviceCatalog(std::vector<DeviceEntry> own) : entries_(std::move(own)) {
  std::ranges::sort(entries_, {}, [](const DeviceEntry& entry) {
    return std::tuple(entry.is_product(), entry.arch.number(), entry.name);
  });
  for (DeviceEntry& entry : entries_) {
    const DeviceEntry* common = architecture(entry.arch);
    if (entry.is_product() && common != nullptr)
      entry.properties.insert(common->properties.begin(), common->properties.end());
  }
}

const DeviceCatalog& DeviceCatalog::shipped() {
  static const DeviceCatalog catalog = [] {
    std::vector<DeviceEntry> own;
    for (const EmbeddedFile& file : device_catalog_files()) add_text(own, file.text, std::string(file.name));
    return DeviceCatalog(std::move(own));
  }();
  return catalog;
}

DeviceCatalog DeviceCatalog::with_folder(const fs::path& folder) {
  std::vector<DeviceEntry> own;
  for (const EmbeddedFile& file : device_catalog_files()) add_text(own, file.text, std::string(file.name));
  for (const fs::path& file : files_of(folder)) add_text(own, read_file(file), file.string());
  return DeviceCatalog(std::move(own));
}

const DeviceEntry* DeviceCatalog::find(std::string_view name) const { return find_entry(entries_, name); }

const DeviceEntry* DeviceCatalog::architecture(const Arch& arch) const {
  const auto found = std::ranges::find_if(entries_, [&](const DeviceEntry& entry) {
    return !entry.is_product() && entry.arch.major == arch.major && entry.arch.minor == arch.minor;
  });
  return found == entries_.end() ? nullptr : &*found;
}

const DeviceEntry* DeviceCatalog::of(const DeviceFacts& device) const {
  const DeviceEntry* product = find(device.name);
  if (product != nullptr && product->is_product() && product->arch.number() == device.arch.number())
    return product;
  return architecture(device.arch);
}

const DeviceEntry* DeviceCatalog::nominal(const Arch& arch) const {
  const DeviceEntry* product = nullptr;
  for (const DeviceEntry& entry : entries_) {
    if (!entry.nominal.empty() && entry.arch.number() <= arch.number()) product = find(entry.nominal);
  }
  return product;
}

Json to_json(const DeviceEntry& entry) {
  Json properties = Json::object();
  for (const DevicePropertyInfo& info : device_properties()) {
    const auto found = entry.properties.find(info.name);
    if (found == entry.properties.end()) continue;
    const auto& [value, source] = found->second;
    Json shown = value ? Json(*value) : Json();
    if (value && info.name.starts_with(kFeature)) shown = *value != 0;
    properties[found->first] = {shown, source};
  }
  Json json{
      {"name", entry.name}, {"aliases", entry.aliases}, {"arch", entry.arch.sm()}, {"figures", properties}};
  if (!entry.nominal.empty()) json["nominal"] = entry.nominal;
  return json;
}

}  // namespace ak
