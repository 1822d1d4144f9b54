// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/llm/api/batch_protocol.h"

namespace ak::agent {

/// What tokens cost in a batch, of their usual price; so say both providers.
inline constexpr double kBatchPriceShare = 0.5;

/// When a batch is sent and how often it is looked after. Most batches of the providers end within an hour.
struct BatchTiming {
  std::chrono::milliseconds gather{5'000};       ///< from the first request: others that come join it
  std::chrono::milliseconds first_poll{15'000};  ///< between looks; it grows by a half
  std::chrono::milliseconds longest_poll{120'000};
};

/// Where requests of several clients become batches of one provider: the first to come waits for others,
/// sends all of them and looks after the batch; each gets its own answer. Used by several threads.
class BatchQueue {
 public:
  BatchQueue(Provider provider, std::string key, RetryPolicy retry, HttpLimits limits, BatchTiming timing);
  /// @param body of a single request
  [[nodiscard]] LlmReply ask(Json body, const std::atomic<bool>* cancelled);

 private:
  struct Waiting {
    Json body;
    const std::atomic<bool>* cancelled;
    LlmReply reply;
    bool done = false;
  };
  using Batch = std::vector<std::shared_ptr<Waiting>>;

  void carry_out(const Batch& batch) const;
  [[nodiscard]] BatchStep await_end(const BatchProtocol& protocol, const std::string& id,
                                    const Batch& batch) const;
  [[nodiscard]] PlainAnswer send(HttpRequest request, const Batch& batch) const;
  [[nodiscard]] static bool abandoned(const Batch& batch);
  [[nodiscard]] static const std::atomic<bool>* flag_of_waiting(const Batch& batch);

  Provider provider_;
  std::string key_;
  Redactor redactor_;
  RetryPolicy retry_;
  HttpLimits limits_;
  BatchTiming timing_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::shared_ptr<Batch> gathering_;  ///< null while no one waits for others
};

/// One queue for each provider and key, so that all clients of a run meet there.
class BatchQueues {
 public:
  explicit BatchQueues(BatchTiming timing = {}) : timing_(timing) {}
  [[nodiscard]] std::shared_ptr<BatchQueue> of(const Provider& provider, const std::string& key,
                                               const LlmSettings& settings);

 private:
  BatchTiming timing_;
  std::map<std::string, std::shared_ptr<BatchQueue>> queues_;
};

/// Asks one model through a queue.
class BatchLlmClient final : public LlmClient {
 public:
  BatchLlmClient(std::shared_ptr<BatchQueue> queue, Provider provider, ModelEntry model);
  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;

 private:
  std::shared_ptr<BatchQueue> queue_;
  Provider provider_;
  ModelEntry model_;
};

/// Whether a provider takes batches.
[[nodiscard]] bool takes_batches(const Provider& provider);

}  // namespace ak::agent
