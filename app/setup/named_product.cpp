// SPDX-License-Identifier: Apache-2.0
#include "app/setup/named_product.h"

#include <fmt/format.h>

#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

Arch target_of(const std::string& name) {
  const Result<Arch> arch = parse_arch(name);
  if (!arch) fail(ExitCode::usage, "{}", arch.error().message);
  return *arch;
}

/// "sm_90a" of a product of that architecture says nothing of products, so that another one stood in.
bool stands_in(const DeviceEntry& entry, const std::string& name, const Arch& arch) {
  return !parse_sm(name) || entry.arch.number() != arch.number();
}

}  // namespace

std::string stand_in_note(const std::string& name, const DeviceFacts& device) {
  return fmt::format("the device catalogue has no figures of {}: those of the {} stand for it",
                     sanitize(name, 60), device.name);
}

NamedProduct named_product(const std::string& name) {
  const DeviceCatalog catalog = load_device_catalog();
  const DeviceEntry* named = catalog.find(name);
  const Arch arch = named != nullptr ? named->arch : target_of(name);
  const bool is_named = named != nullptr && named->is_product();
  const DeviceEntry* entry = is_named ? named : catalog.nominal(arch);
  if (entry == nullptr)
    fail(ExitCode::usage,
         "nothing is known of the bandwidth and the clock of {}: name a product, such as h200",
         sanitize(name, 60));
  const auto figure = [&](const char* property) {
    return static_cast<int>(entry->value(property).value_or(0));
  };
  NamedProduct product{.facts = runtime::nominal_device(arch),
                       .is_named = is_named,
                       .stands_in = !is_named && stands_in(*entry, name, arch)};
  product.facts.name = entry->name;
  product.facts.arch = arch;
  product.facts.sm_count = figure("sm_count");
  product.facts.clock_mhz = figure("boost_clock_mhz");
  product.facts.memory_clock_mhz = figure("memory_clock_mhz");
  product.facts.memory_bus_bits = figure("memory_bus_bits");
  product.facts.l2_bytes = static_cast<std::int64_t>(entry->value("l2_mib").value_or(0)) << 20;
  return product;
}

}  // namespace ak::app
