// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/lower/call_graph.h"
#include "emulator/parse/parser.h"

namespace ak::runtime {
namespace {

Outcome fault(Status status, std::string message) {
  return {.status = status, .stage = StageId::check, .message = std::move(message), .diagnostics = {}};
}

bool in_device_memory(const emulator::Variable& variable) {
  return !variable.is_extern && variable.bytes > 0 &&
         (variable.space == emulator::Space::global || variable.space == emulator::Space::constant);
}

}  // namespace

Result<std::unique_ptr<EmulatedModule>, Outcome> EmulatedModule::load(emulator::Arena& arena,
                                                                      std::string_view text) {
  auto parsed = emulator::parse(text);
  if (!parsed) {
    return fault(Status::invalid_candidate,
                 fmt::format("PTX line {}: {}", parsed.error().line, parsed.error().message));
  }
  std::unique_ptr<EmulatedModule> module(new EmulatedModule(arena, std::move(parsed).value()));
  for (const emulator::Variable* variable : module->variables()) {
    if (auto wrong = module->place(*variable)) return *wrong;
  }
  for (const emulator::Variable* variable : module->variables()) {
    if (const auto wrong = module->initialize(*variable)) return fault(Status::unsupported, *wrong);
  }
  return module;
}

EmulatedModule::~EmulatedModule() {
  for (const auto& [name, address] : addresses_) static_cast<void>(arena_.release(address));
}

std::vector<const emulator::Variable*> EmulatedModule::variables() const {
  std::vector<const emulator::Variable*> found;
  const auto collect = [&](const std::vector<emulator::Variable>& all) {
    for (const emulator::Variable& variable : all) {
      if (in_device_memory(variable)) found.push_back(&variable);
    }
  };
  collect(module_.variables);
  for (const emulator::Function& function : module_.functions) collect(function.variables);
  return found;
}

std::optional<Outcome> EmulatedModule::place(const emulator::Variable& variable) {
  if (addresses_.contains(variable.name))
    return fault(Status::unsupported, fmt::format("two variables are called '{}'", variable.name));
  const auto address = arena_.allocate(variable.bytes);
  if (!address)
    return fault(Status::out_of_memory,
                 fmt::format("no room for the {} bytes of variable '{}'", variable.bytes, variable.name));
  addresses_[variable.name] = *address;
  const bool constant = variable.space == emulator::Space::constant;
  arena_.set_region(*address, variable.bytes,
                    fmt::format("{} '{}'", constant ? "constant" : "variable", variable.name), constant);
  return std::nullopt;
}

/// Of a variable or function.
std::optional<std::uint64_t> EmulatedModule::address_of(const std::string& symbol) const {
  const auto variable = addresses_.find(symbol);
  if (variable != addresses_.end()) return variable->second;
  return emulator::function_address(module_, symbol);
}

// What goes wrong, if anything: an initializer may hold the address of something that has none here.
std::optional<std::string> EmulatedModule::initialize(const emulator::Variable& variable) {
  const std::uint64_t address = addresses_.at(variable.name);
  std::byte* bytes = arena_.host(address, variable.bytes);
  AK_ASSERT(bytes != nullptr, "an allocation lies in the arena");
  std::memset(bytes, 0, variable.bytes);
  if (!variable.contents.empty())
    std::memcpy(bytes, variable.contents.data(),
                std::min<std::size_t>(variable.contents.size(), variable.bytes));
  arena_.mark_initialized(address, variable.bytes, true);
  for (const emulator::Relocation& relocation : variable.relocations) {
    const auto target = address_of(relocation.symbol);
    if (!target)
      return fmt::format("the initial value of '{}' is the address of '{}', which has none", variable.name,
                         relocation.symbol);
    const std::uint64_t value = *target + static_cast<std::uint64_t>(relocation.offset);
    const auto size = static_cast<std::uint64_t>(std::clamp(relocation.bytes, 0, 8));
    if (relocation.at > variable.bytes || size > variable.bytes - relocation.at)
      return fmt::format("the initial value of '{}' is longer than the variable", variable.name);
    std::memcpy(bytes + relocation.at, &value, size);
  }
  return std::nullopt;
}

std::optional<BufferView> EmulatedModule::variable(const std::string& name) const {
  for (const emulator::Variable* variable : variables()) {
    if (variable->name == name) return BufferView{addresses_.at(name), variable->bytes};
  }
  return std::nullopt;
}

bool EmulatedModule::has_kernel(const std::string& name) const {
  return std::any_of(module_.functions.begin(), module_.functions.end(),
                     [&](const emulator::Function& f) { return f.entry && f.name == name; });
}

Result<EmulatedFunction*, Outcome> EmulatedModule::kernel(const std::string& name) {
  auto& kernel = kernels_[name];
  if (kernel) return kernel.get();
  const auto entry = std::find_if(module_.functions.begin(), module_.functions.end(),
                                  [&](const emulator::Function& f) { return f.entry && f.name == name; });
  AK_ASSERT(entry != module_.functions.end(), "has_kernel comes first");
  auto program = emulator::lower(module_, *entry, addresses_);
  if (!program) return program.error();
  kernel = std::make_unique<EmulatedFunction>();
  kernel->program = std::move(program).value();
  return kernel.get();
}

}  // namespace ak::runtime
