// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/llm/api/provider.h"

namespace ak::agent {

/// Asks a program: system prompt and messages on its standard input, the answer on its standard output. What
/// it prints on standard error is quoted when it fails.
class CommandLlmClient final : public LlmClient {
 public:
  explicit CommandLlmClient(LlmCommand command) : command_(std::move(command)) {}
  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;

 private:
  LlmCommand command_;
};

}  // namespace ak::agent
