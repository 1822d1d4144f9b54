// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/command_client.h"

#include <fmt/format.h>

#include "agent/llm/api/child_program.h"
#include "agent/llm/api/http_client.h"
#include "agent/llm/api/redact.h"
#include "core/error.h"

namespace ak::agent {
namespace {

std::string prompt_text(const LlmRequest& request) {
  std::string text = request.system;
  for (const LlmMessage& message : request.messages)
    text += fmt::format("\n\n[{}]\n{}", message.role, message.text);
  return text;
}

}  // namespace

LlmReply CommandLlmClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  AK_ASSERT(!command_.argv.empty(), "a command has a program");
  const FileDescriptor prompt = nameless_file(prompt_text(request));
  ProgramOutput output = run_to_answer({.argv = command_.argv,
                                        .environment = set_variables(command_.environment),
                                        .input = prompt.get(),
                                        .timeout = command_.timeout},
                                       cancelled);
  if (!output.failure && output.exit_code != 0)
    output.failure = {LlmFault::malformed, fmt::format("the command failed: {}", output.error_text)};
  const Redactor redactor(secret_values(command_.environment));
  LlmReply reply{.text = redactor(output.text), .stop = LlmStop::end};
  reply.raw = reply.text;
  if (output.failure) {
    reply.failure = {output.failure->fault, ForeignText(output.failure->message).line(redactor)};
  } else if (output.text.empty()) {
    reply.failure = {LlmFault::malformed, "the command printed nothing"};
  }
  estimate_usage(request, !reply.text.empty(), reply);
  return reply;
}

}  // namespace ak::agent
