// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/http.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>

#include "agent/llm/api/curl_library.h"
#include "core/error.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxErrorBody = 64u << 10;
constexpr std::size_t kMaxHeaderBytes = 256u << 10;  // libcurl 7.88 has no limit of its own on their sum

/// TLS writes to sockets without MSG_NOSIGNAL: a closed connection must not end the program.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

/// What libcurl's callbacks share.
struct Transfer {
  const HttpRequest& request;
  const HttpBody& body;
  HttpReply reply = {};
  std::size_t body_bytes = 0, header_bytes = 0;
  steady_clock::time_point last_byte = steady_clock::now();
  curl_off_t seen_bytes = 0, sent_bytes = 0;
  bool enough = false;
  std::optional<LlmFailure> stopped = {};  ///< why a callback ended the transfer
};

bool success(long status) { return status >= 200 && status < 300; }

/// Of the last response only: a 100 or a proxy's answer may come before it.
std::size_t on_header(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  std::string_view line(bytes, count);
  transfer.header_bytes += count;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.stopped = {LlmFault::malformed, "the headers of the answer are too large"};
    return 0;
  }
  if (line.starts_with("HTTP/")) transfer.reply.headers.clear();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return count;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  line.remove_prefix(colon + 1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  transfer.reply.headers[name] = std::string(line);
  return count;
}

std::size_t on_body(CURL* handle, std::string_view bytes, Transfer& transfer) {
  HttpReply& reply = transfer.reply;
  curl_library().easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
  if (!success(reply.status)) {
    reply.error_body += bytes.substr(0, kMaxErrorBody - std::min(kMaxErrorBody, reply.error_body.size()));
    transfer.enough = reply.error_body.size() >= kMaxErrorBody;
    return transfer.enough ? 0 : bytes.size();
  }
  if (!reply.began) transfer.body.begin(reply.headers);
  reply.began = true;
  transfer.body_bytes += bytes.size();
  if (transfer.body_bytes > transfer.request.limits.max_bytes) {
    transfer.stopped = {LlmFault::cut_short,
                        fmt::format("the answer is larger than {} bytes", transfer.request.limits.max_bytes)};
    return 0;
  }
  transfer.enough = !transfer.body.data(bytes);
  return transfer.enough ? 0 : bytes.size();
}

struct BodyTarget {
  CURL* handle;
  Transfer* transfer;
};

std::size_t write_body(char* bytes, std::size_t, std::size_t count, void* user) {
  const auto& target = *static_cast<BodyTarget*>(user);
  return on_body(target.handle, {bytes, count}, *target.transfer);
}

/// Called at least once a second.
int on_progress(void* user, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up) {
  auto& transfer = *static_cast<Transfer*>(user);
  const auto now = steady_clock::now();
  transfer.sent_bytes = up;
  if (down + up != transfer.seen_bytes) {
    transfer.seen_bytes = down + up;
    transfer.last_byte = now;
  }
  if (transfer.request.cancelled != nullptr && transfer.request.cancelled->load()) {
    transfer.stopped = {LlmFault::cancelled, "the run was stopped"};
  } else if (now - transfer.last_byte > transfer.request.limits.idle) {
    transfer.stopped = {transfer.reply.began ? LlmFault::cut_short : LlmFault::timeout,
                        fmt::format("no byte for {} ms", transfer.request.limits.idle.count())};
  }
  return transfer.stopped ? 1 : 0;
}

std::string_view authority_of(std::string_view rest) { return rest.substr(0, rest.find_first_of("/?#")); }

bool is_this_machine(std::string_view authority) {
  const std::size_t end = authority.starts_with('[') ? authority.find(']') : authority.find(':');
  const std::string_view host = authority.starts_with('[') && end != std::string_view::npos
                                    ? authority.substr(0, end + 1)
                                    : authority.substr(0, end);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

LlmFailure failure_of(CURLcode code, const Transfer& transfer, const char* detail) {
  if (transfer.stopped) return *transfer.stopped;
  const bool late = code == CURLE_OPERATION_TIMEDOUT;
  const LlmFault fault = transfer.reply.began ? LlmFault::cut_short
                         : late               ? LlmFault::timeout
                                              : LlmFault::unreachable;
  return {fault, *detail != 0 ? detail : curl_library().easy_strerror(code)};
}

void cleanup(CURL* handle) noexcept { curl_library().easy_cleanup(handle); }
void free_list(curl_slist* list) noexcept { curl_library().slist_free_all(list); }
using CurlHandle = std::unique_ptr<CURL, decltype(&cleanup)>;
using CurlList = std::unique_ptr<curl_slist, decltype(&free_list)>;

CurlList header_list(const HttpRequest& request) {
  const CurlLibrary& curl = curl_library();
  CurlList list(nullptr, free_list);
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl.slist_append(list.get(), line.c_str());
    AK_ASSERT(longer != nullptr, "a header fits into memory");
    static_cast<void>(list.release());
    list.reset(longer);
  };
  for (const auto& [name, value] : request.headers) add(name + ": " + value);
  if (!request.key.empty())
    add(request.key_header + (request.key_header == "authorization" ? ": Bearer " : ": ") + request.key);
  add("Expect:");  // no waiting for a 100
  return list;
}

/// The answer without the key, except for its body.
HttpReply redacted(HttpReply reply, const Redactor& redactor) {
  for (auto& [name, value] : reply.headers) value = redactor(value);
  reply.error_body = redactor(reply.error_body);
  if (reply.failure) reply.failure->message = ForeignText(reply.failure->message).line(redactor);
  return reply;
}

/// Where it goes, what it carries and how long it may take. The request must outlive the transfer.
void set_request(const CurlLibrary& curl, CURL* handle, const HttpRequest& request) {
  const auto set = [&](CURLoption option, auto value) { curl.easy_setopt(handle, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, request.url.starts_with("https") ? "https" : "http");
  if (request.url.starts_with("http://")) set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  if (!request.is_get) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request.body.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  set(CURLOPT_ACCEPT_ENCODING, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.limits.connect.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.limits.total.count()));
}

}  // namespace

std::string url_error(std::string_view url) {
  constexpr std::string_view kSecure = "https://", kPlain = "http://";
  const bool secure = url.starts_with(kSecure), plain = url.starts_with(kPlain);
  if (!secure && !plain) return "expected https://... (or http://localhost... for a server on this machine)";
  const std::string_view authority = authority_of(url.substr(secure ? kSecure.size() : kPlain.size()));
  const bool odd = std::ranges::any_of(url, [](char c) { return c <= ' ' || c == '\\' || c == 0x7f; });
  if (authority.empty() || odd || authority.find('@') != std::string_view::npos)
    return "expected a plain address without spaces, user or password";
  if (plain && !is_this_machine(authority)) return "http is for this machine only; use https";
  return "";
}

HttpReply http_send(const HttpRequest& request, const HttpBody& body) {
  Transfer transfer{.request = request, .body = body};
  const auto give_up = [&](LlmFailure failure) {
    transfer.reply.failure = std::move(failure);
    return std::move(transfer.reply);
  };
  if (const std::string input_error = url_error(request.url); !input_error.empty())
    return give_up({LlmFault::no_model, input_error});
  const CurlLibrary& curl = curl_library();
  if (!curl.unavailable_reason.empty()) return give_up({LlmFault::no_model, curl.unavailable_reason});
  const NoBrokenPipeSignal guard;
  const CurlHandle handle(curl.easy_init(), cleanup);
  AK_ASSERT(handle != nullptr, "libcurl gives a handle");
  const CurlList headers = header_list(request);
  BodyTarget target{handle.get(), &transfer};
  std::array<char, CURL_ERROR_SIZE> detail{};
  set_request(curl, handle.get(), request);
  const auto set = [&](CURLoption option, auto value) { curl.easy_setopt(handle.get(), option, value); };
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_HEADERFUNCTION, on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  set(CURLOPT_WRITEFUNCTION, write_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&target));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, on_progress);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
  set(CURLOPT_ERRORBUFFER, detail.data());
  const CURLcode code = curl.easy_perform(handle.get());
  curl.easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &transfer.reply.status);
  if (code != CURLE_OK && !transfer.enough)
    transfer.reply.failure = failure_of(code, transfer, detail.data());
  transfer.reply.sent =
      transfer.reply.status != 0 ||
      (transfer.sent_bytes > 0 && transfer.sent_bytes >= static_cast<curl_off_t>(request.body.size()));
  return redacted(std::move(transfer.reply), Redactor({request.key}));
}

}  // namespace ak::agent
