// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <string>

namespace ak::agent {

/// The functions of libcurl that are used. It is loaded at the first call, so that everything else runs where
/// it is absent.
struct CurlLibrary {
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  CURLcode (*easy_setopt)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*easy_getinfo)(CURL*, CURLINFO, ...) = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
  std::string unavailable_reason;  ///< why there is none; empty when it is there
};

/// Loaded with dlopen at the first call, for the rest of the process. May be called from any thread.
[[nodiscard]] const CurlLibrary& curl_library();

}  // namespace ak::agent
