// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/batch_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "agent/llm/api/batch_protocol.h"
#include "agent/llm/api/http_client.h"
#include "core/text/hash.h"

namespace ak::agent {
BatchQueue::BatchQueue(Provider provider, std::string key, RetryPolicy retry, HttpLimits limits,
                       BatchTiming timing)
    : provider_(std::move(provider)),
      key_(std::move(key)),
      redactor_({key_}),
      retry_(retry),
      limits_(limits),
      timing_(timing) {}

LlmReply BatchQueue::ask(Json body, const std::atomic<bool>* cancelled) {
  const auto mine =
      std::make_shared<Waiting>(Waiting{.body = std::move(body), .cancelled = cancelled, .reply = {}});
  std::unique_lock lock(mutex_);
  const bool first = gathering_ == nullptr;
  if (first) gathering_ = std::make_shared<Batch>();
  const std::shared_ptr<Batch> batch = gathering_;
  batch->push_back(mine);
  if (!first) {
    done_.wait(lock, [&] { return mine->done; });
    return std::move(mine->reply);
  }
  lock.unlock();
  static_cast<void>(sleep_unless(cancelled, timing_.gather));
  lock.lock();
  gathering_ = nullptr;
  lock.unlock();
  carry_out(*batch);
  lock.lock();
  for (const auto& waiting : *batch) waiting->done = true;
  done_.notify_all();
  return std::move(mine->reply);
}

/// True when no one waits for an answer any more.
bool BatchQueue::abandoned(const Batch& batch) {
  return std::ranges::all_of(batch, [](const auto& one) { return one->cancelled && one->cancelled->load(); });
}

/// What ends a transfer for the batch: the flag of one that still waits for its answer; null where no one does.
const std::atomic<bool>* BatchQueue::flag_of_waiting(const Batch& batch) {
  const auto one = std::ranges::find_if(
      batch, [](const auto& waiting) { return !waiting->cancelled || !waiting->cancelled->load(); });
  return one == batch.end() ? nullptr : (*one)->cancelled;
}

void BatchQueue::carry_out(const Batch& batch) const {
  for (const auto& waiting : batch)
    waiting->reply.failure = {LlmFault::malformed, "the batch has no answer to this request"};
  std::vector<Json> bodies;
  for (const auto& waiting : batch) bodies.push_back(waiting->body);
  const BatchCaller call = [&](HttpRequest request) { return send(std::move(request), batch); };
  const BatchProtocol protocol(provider_, call);
  const BatchStep created = protocol.create(bodies);
  BatchStep ended = created;
  if (!created.failure) ended = await_end(protocol, created.id, batch);
  if (!ended.failure) ended = protocol.results(ended);
  if (ended.failure) {
    for (const auto& waiting : batch) waiting->reply.failure = ended.failure;
    return;
  }
  for (const BatchResult& result : ended.results) {
    if (result.index >= batch.size()) continue;
    LlmReply& reply = batch[result.index]->reply;
    reply = {};
    if (result.failure) {
      reply.failure = result.failure->shown(redactor_);
      continue;
    }
    AnswerReader reader(*provider_.dialect, false, redactor_);
    static_cast<void>(reader.feed(result.body.dump(-1, ' ', false, Json::error_handler_t::replace)));
    reply = reader.finish();
  }
}

/// Looks after the batch until it has ended; cancels it when no one waits any more.
BatchStep BatchQueue::await_end(const BatchProtocol& protocol, const std::string& id,
                                const Batch& batch) const {
  std::chrono::milliseconds pause = timing_.first_poll;
  while (true) {
    const auto until = std::chrono::steady_clock::now() + pause;
    while (!abandoned(batch) && std::chrono::steady_clock::now() < until)
      static_cast<void>(sleep_unless(nullptr, std::min(pause, std::chrono::milliseconds(100))));
    if (abandoned(batch)) {
      protocol.cancel(id);
      return {.id = id, .failure = LlmFailure{LlmFault::cancelled, "the run was stopped"}};
    }
    BatchStep step = protocol.look(id);
    // Looking fails while the network is away, and when an asker leaves meanwhile; the batch does not.
    const bool passing =
        step.failure && (info(step.failure->fault).retry || step.failure->fault == LlmFault::cancelled);
    if (step.ended || (step.failure && !passing)) return step;
    pause = std::min(timing_.longest_poll, pause * 3 / 2);
  }
}

PlainAnswer BatchQueue::send(HttpRequest request, const Batch& batch) const {
  request.limits = limits_;
  for (int attempt = 1;; ++attempt) {
    request.cancelled = flag_of_waiting(batch);
    PlainAnswer answer = send_plainly(provider_, key_, request);
    if (!answer.failure || abandoned(batch)) return answer;
    const auto delay = retry_delay(retry_, attempt, *answer.failure, answer.headers, random_fraction());
    if (!delay || !sleep_unless(request.cancelled, *delay)) return answer;
  }
}

std::shared_ptr<BatchQueue> BatchQueues::of(const Provider& provider, const std::string& key,
                                            const LlmSettings& settings) {
  std::shared_ptr<BatchQueue>& queue = queues_[provider.name + " " + provider.url];
  if (!queue) queue = std::make_shared<BatchQueue>(provider, key, settings.retry, settings.limits, timing_);
  return queue;
}

BatchLlmClient::BatchLlmClient(std::shared_ptr<BatchQueue> queue, Provider provider, ModelEntry model)
    : queue_(std::move(queue)), provider_(std::move(provider)), model_(std::move(model)) {
  model_.stream = false;
}

LlmReply BatchLlmClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  LlmReply reply = queue_->ask(provider_.dialect->body(request, model_, provider_.compatible), cancelled);
  estimate_usage(request, reply.ok(), reply);
  if (reply.ok() || reply.usage.reported) reply.cost_usd = model_.cost_usd(reply.usage);
  return reply;
}

bool takes_batches(const Provider& provider) { return !provider.compatible; }

}  // namespace ak::agent
