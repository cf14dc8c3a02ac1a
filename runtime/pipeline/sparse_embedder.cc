#include "linformer/sparse_embedder.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/array.h"
#include "pipeline/masked_lm_queue.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The most weights that wait until their texts are visited, which take 32 MiB. Only a single text may have more.
constexpr size_t most_weights = size_t{1} << 22;

Status no_memory_for_sparse_vectors() { return Status::error(Code::out_of_memory, "no memory for sparse vectors"); }

}  // namespace

struct SparseEmbedder::State final : MaskedLmQueue {
  State(MaskedLmParts parts, size_t most_texts) : MaskedLmQueue(std::move(parts), most_texts, SIZE_MAX) {}

  bool wants_logits_of(int32_t id) const override { return id != parts().pad_id; }
  // A text of pads only is no error. It has no weights.
  void report_no_wanted_token(TextReport* /*report*/) const override {}
  Status on_text_added(const TextSequence& /*sequence*/, Tokens /*read*/, QueuedText* /*text*/) override { return {}; }
  Status on_batch_start(size_t /*positions*/) override { return {}; }
  Status on_logits(size_t position, std::span<const float> logits, QueuedText* text) override;
  bool visit(size_t index, const QueuedText& text) override;
  void on_batch_cleared() override { weights.clear(); }
  bool add(std::span<const float> logits);
  Status finish(QueuedText* text);

  // The call in progress.
  Visit visitor = nullptr;
  void* context = nullptr;
  Array<TokenWeight> weights;  // The weights of the texts that wait.
  Array<float> largest;        // The current text's largest logit for each token of the vocabulary, at least 0.
  bool finite = true;          // All logits of the current text are finite.
};

SparseEmbedder::SparseEmbedder(std::unique_ptr<State> state) : state_(std::move(state)) {}
SparseEmbedder::SparseEmbedder(SparseEmbedder&&) noexcept = default;
SparseEmbedder& SparseEmbedder::operator=(SparseEmbedder&&) noexcept = default;
SparseEmbedder::~SparseEmbedder() = default;

Result<SparseEmbedder> SparseEmbedder::create(std::shared_ptr<const Model> model,
                                              const SparseEmbedderOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (options.texts.on_long == OnLong::window) {
    return Status::error(Code::invalid_argument,
                         "a sparse vector is made of one window of a text: choose truncate or error");
  }
  Result<MaskedLmParts> parts = MaskedLmQueue::create_parts(std::move(model), options.texts, false);
  if (!parts.ok()) return parts.status();
  const size_t vocabulary = static_cast<size_t>(parts->masked_lm.vocabulary());
  const size_t most_texts =
      std::clamp<size_t>(most_weights / std::max<size_t>(vocabulary, 1), 1, static_cast<size_t>(parts->max_batch()));
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*parts), most_texts));
  if (!state || !state->largest.try_resize_for_overwrite(vocabulary)) return no_memory_for_sparse_vectors();
  return SparseEmbedder(std::move(state));
}

const Tokenizer& SparseEmbedder::tokenizer() const { return state_->parts().reader.tokenizer(); }
int64_t SparseEmbedder::vocabulary() const { return state_->parts().masked_lm.vocabulary(); }
int64_t SparseEmbedder::max_tokens() const { return state_->parts().reader.max_tokens(); }
size_t SparseEmbedder::texts_at_once() const { return state_->max_waiting_texts(); }
std::span<const Session> SparseEmbedder::sessions() const { return {&state_->parts().session, 1}; }

Status SparseEmbedder::embed(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  state_->visitor = visit;
  state_->context = context;
  return state_->run(texts, control);
}

Status SparseEmbedder::State::on_logits(size_t position, std::span<const float> logits, QueuedText* text) {
  if (position == text->first_position) {
    std::fill(largest.begin(), largest.end(), 0.f);
    finite = true;
  }
  finite = add(logits) && finite;
  return position + 1 == text->first_position + text->positions ? finish(text) : Status();
}

// Updates `largest` with the logits of one position. Returns whether all of them are finite.
bool SparseEmbedder::State::add(std::span<const float> logits) {
  float zero = 0;  // Becomes NaN if a logit is infinite or NaN.
  for (size_t i = 0; i < logits.size(); ++i) {
    zero += logits[i] * 0.f;
    largest[i] = logits[i] > largest[i] ? logits[i] : largest[i];
  }
  return zero == 0;
}

Status SparseEmbedder::State::finish(QueuedText* text) {
  if (!finite) {
    text->report.status =
        Status::error(Code::internal, "the model gave a number that is not finite; check its weights");
    return {};
  }
  text->first = weights.size();
  for (size_t i = 0; i < largest.size(); ++i) {
    const float weight = std::log1p(largest[i]);
    if (weight > 0 && !weights.try_push({static_cast<int32_t>(i), weight})) return no_memory_for_sparse_vectors();
  }
  text->count = weights.size() - text->first;
  std::sort(weights.begin() + text->first, weights.end(), [](const TokenWeight& a, const TokenWeight& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  });
  return {};
}

bool SparseEmbedder::State::visit(size_t index, const QueuedText& text) {
  return visitor(context, index, text.report, weights.span().subspan(text.first, text.count));
}

}  // namespace LINFORMER_NAMESPACE
