// SPDX-License-Identifier: Apache-2.0
#include <alphakernel/library.h>

#include "app/library/json_codec.h"
#include "app/library/library_locations.h"
#include "app/operations/operation.h"
#include "app/operations/operation_schema.h"
#include "core/error.h"

namespace alphakernel {
namespace {

constexpr bool same(ErrorCode ours, ak::ExitCode theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(same(ErrorCode::internal_error, ak::ExitCode::internal_error) &&
                  same(ErrorCode::usage, ak::ExitCode::usage) &&
                  same(ErrorCode::bad_input, ak::ExitCode::bad_input) &&
                  same(ErrorCode::no_kernel, ak::ExitCode::no_kernel) &&
                  same(ErrorCode::environment, ak::ExitCode::environment) &&
                  same(ErrorCode::database, ak::ExitCode::database) &&
                  same(ErrorCode::output, ak::ExitCode::output) &&
                  same(ErrorCode::expectation, ak::ExitCode::expectation) &&
                  same(ErrorCode::audit, ak::ExitCode::audit) &&
                  same(ErrorCode::suspended, ak::ExitCode::suspended) &&
                  same(ErrorCode::interrupted, ak::ExitCode::interrupted),
              "an error has the exit code of the command line");

/// Runs `body` with the exceptions that this library promises.
template <class Body>
auto with_public_errors(Body&& body) {
  try {
    return body();
  } catch (const ak::Error& error) {
    throw Error(static_cast<ErrorCode>(error.code()), error.what());
  } catch (const std::exception& error) {
    throw Error(ErrorCode::internal_error, error.what());
  }
}

ak::Json parsed_request(std::string_view text) {
  const ak::Result<ak::Json> json = ak::parse_json_line(text);
  if (!json) ak::fail(ak::ExitCode::usage, "request: {}", json.error().message);
  return *json;
}

template <class Answer, class Request>
Answer typed_call(Operations& operations, const char* name, const Request& request,
                  const Callbacks& callbacks) {
  const EventHandler on_event = [&](std::string_view event, std::string_view data) {
    callbacks.visit_events([&](std::string_view known, const auto& function, auto&& typed) {
      if (known != event || !function) return;
      ak::library::decode(ak::parse_json(data), typed);
      function(typed);
    });
  };
  const JsonAnswer answer =
      operations.call(name, ak::one_line(ak::library::encode(request)), on_event, callbacks.stop);
  Answer typed;
  ak::library::decode(ak::parse_json(answer.json), typed);
  typed.ok = answer.ok;
  return typed;
}

}  // namespace

#define AK_DEFINE_OPERATION(name, Type)                                                     \
  Type##Answer Operations::name(const Type##Request& request, const Callbacks& callbacks) { \
    return typed_call<Type##Answer>(*this, #name, request, callbacks);                      \
  }
ALPHAKERNEL_OPERATIONS(AK_DEFINE_OPERATION)
#undef AK_DEFINE_OPERATION

struct Library::State {
  explicit State(const Options& options)
      : hold({.program = ak::library::find_program(options.program),
              .config = options.config,
              .templates = options.templates}) {
    context.config = ak::app::load_config();
    context.database = ak::app::database_file(options.database, context.config);
    context.caller = "library";
  }

  ak::library::LocationsHold hold;
  ak::operations::Context context;
};

Library::Library(const Options& options)
    : state_(with_public_errors([&] { return std::make_unique<State>(options); })) {}

Library::~Library() = default;

JsonAnswer Library::call(std::string_view operation, std::string_view request_json,
                         const EventHandler& on_event, const std::atomic<bool>* stop) {
  return with_public_errors([&] {
    ak::operations::Callbacks callbacks{.stop = stop};
    if (on_event)
      callbacks.on_event = [&](std::string_view event, const ak::Json& data) {
        on_event(event, ak::one_line(data));
      };
    const ak::operations::Answer answer = ak::operations::call(
        ak::operations::operation_named(operation), parsed_request(request_json), state_->context, callbacks);
    return JsonAnswer{ak::one_line(answer.content), !answer.failed};
  });
}

std::string Library::operations_json() { return ak::one_line(ak::operations::operations_json()); }

std::string Library::version() { return AK_VERSION; }

}  // namespace alphakernel
