// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace ak::agent {
namespace {

/// Debian has builds with OpenSSL and with GnuTLS.
void* open_library() {
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  }
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

CurlLibrary load() {
  CurlLibrary curl;
  void* library = open_library();
  if (library == nullptr) {
    curl.unavailable_reason = "libcurl.so.4 is missing (Debian: libcurl4)";
    return curl;
  }
  decltype(&curl_global_init) global_init = nullptr;
  const bool whole = find(library, "curl_global_init", global_init) &&
                     find(library, "curl_easy_init", curl.easy_init) &&
                     find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                     find(library, "curl_easy_setopt", curl.easy_setopt) &&
                     find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                     find(library, "curl_easy_perform", curl.easy_perform) &&
                     find(library, "curl_easy_strerror", curl.easy_strerror) &&
                     find(library, "curl_slist_append", curl.slist_append) &&
                     find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!whole || global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    curl.unavailable_reason = "libcurl does not start";
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();
  return library;
}

}  // namespace ak::agent
