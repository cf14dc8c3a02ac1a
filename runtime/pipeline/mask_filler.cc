#include "linformer/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "base/array.h"
#include "base/description.h"
#include "pipeline/masked_lm_queue.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The most candidates that wait until their texts are visited, which take 32 MiB. Only a single text may have more.
constexpr size_t most_candidates = size_t{1} << 22;

Status no_memory_to_fill() { return Status::error(Code::out_of_memory, "no memory to fill masks"); }

// Appends the mask token to `to`, as it is written in a text.
Status spell_mask(const TokenizerDescription& description, const Tokenizer& tokenizer, Array<char>* to) {
  const auto& added = description.added_tokens;
  const auto own = std::find_if(added.begin(), added.end(), [&](const auto& t) { return t.id == description.mask; });
  if (own != added.end()) {
    return to->try_append(own->content.data(), own->content.size()) ? Status() : no_memory_to_fill();
  }
  TextBuffer buffer;
  const Status decoded = tokenizer.decode({&description.mask, 1}, {}, &buffer);
  if (decoded.code() == Code::out_of_memory) return decoded;
  const std::string_view text = decoded.ok() ? buffer.view() : "<mask>";
  return to->try_append(text.data(), text.size()) ? Status() : no_memory_to_fill();
}

}  // namespace

struct MaskFiller::State final : MaskedLmQueue {
  State(MaskedLmParts parts, size_t most_texts, size_t top)
      : MaskedLmQueue(std::move(parts), most_texts, std::max<size_t>(1, most_candidates / top)), top_k(top) {}

  bool wants_logits_of(int32_t id) const override { return id == mask_id; }
  void report_no_wanted_token(TextReport* report) const override;
  Status on_text_added(const TextSequence& sequence, Tokens read, QueuedText* text) override;
  Status on_batch_start(size_t positions) override;
  Status on_logits(size_t position, std::span<const float> logits, QueuedText* text) override;
  bool visit(size_t index, const QueuedText& text) override;
  void on_batch_cleared() override;
  void choose(std::span<const float> logits, double sum, MaskCandidate* to);

  Array<char> mask;  // The mask token as it is written in a text.
  int32_t mask_id = -1;
  size_t top_k = 1;

  // The call in progress.
  Visit visitor = nullptr;
  void* context = nullptr;
  Array<int32_t> ids;               // The ids of the texts that wait.
  Array<MaskedToken> masks;         // The masks of the texts that wait.
  Array<MaskCandidate> candidates;  // The top_k candidates of each mask.
  Array<int32_t> order;             // A buffer for the ids of the vocabulary, which choose() sorts.
};

MaskFiller::MaskFiller(std::unique_ptr<State> state) : state_(std::move(state)) {}
MaskFiller::MaskFiller(MaskFiller&&) noexcept = default;
MaskFiller& MaskFiller::operator=(MaskFiller&&) noexcept = default;
MaskFiller::~MaskFiller() = default;

Result<MaskFiller> MaskFiller::create(std::shared_ptr<const Model> model, const MaskFillerOptions& options) {
  if (model == nullptr) return Status::error(Code::invalid_argument, "no model: load one first");
  if (options.top_k < 1) {
    return Status::error(Code::invalid_argument, "top_k is %lld: ask for at least one candidate",
                         static_cast<long long>(options.top_k));
  }
  if (options.texts.on_long == OnLong::window) {
    return Status::error(Code::invalid_argument, "masks are filled in one window of a text: choose truncate or error");
  }
  Result<MaskedLmParts> parts = MaskedLmQueue::create_parts(model, options.texts, true);
  if (!parts.ok()) return parts.status();
  const TokenizerDescription& tokenizer = model->description().tokenizer;
  if (tokenizer.mask < 0) {
    return Status::error(Code::unsupported,
                         "this model's tokenizer has no mask token: convert it again with the one it was trained with");
  }
  const int64_t vocabulary = parts->masked_lm.vocabulary();
  const size_t top_k = static_cast<size_t>(std::min<int64_t>(options.top_k, vocabulary));
  const size_t max_batch = static_cast<size_t>(parts->max_batch());
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(*parts), max_batch, top_k));
  if (!state) return no_memory_to_fill();
  LINFORMER_TRY(spell_mask(tokenizer, state->parts().reader.tokenizer(), &state->mask));
  state->mask_id = tokenizer.mask;
  if (!state->order.try_resize_for_overwrite(static_cast<size_t>(vocabulary))) return no_memory_to_fill();
  return MaskFiller(std::move(state));
}

std::string_view MaskFiller::mask() const { return {state_->mask.data(), state_->mask.size()}; }
const Tokenizer& MaskFiller::tokenizer() const { return state_->parts().reader.tokenizer(); }
int64_t MaskFiller::max_tokens() const { return state_->parts().reader.max_tokens(); }
size_t MaskFiller::texts_at_once() const { return state_->max_waiting_texts(); }
std::span<const Session> MaskFiller::sessions() const { return {&state_->parts().session, 1}; }

Status MaskFiller::fill(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  state_->visitor = visit;
  state_->context = context;
  return state_->run(texts, control);
}

void MaskFiller::State::report_no_wanted_token(TextReport* report) const {
  report->without_mask = true;
  report->status = Status::error(Code::invalid_argument, "no mask in the text%s: write %.*s where a word is missing",
                                 report->truncated() ? " that is left after cutting it" : "",
                                 static_cast<int>(std::min<size_t>(mask.size(), 64)), mask.data());
}

Status MaskFiller::State::on_text_added(const TextSequence& sequence, Tokens read, QueuedText* text) {
  text->first = ids.size();
  text->count = read.size();
  if (!ids.try_append(read.data(), read.size())) return no_memory_to_fill();
  for (const WantedToken& at : wanted_tokens()) {
    const MaskedToken masked = {at.token, sequence.texts[at.in_sequence], sequence.offsets[at.in_sequence], {}};
    if (!masks.try_push(masked)) return no_memory_to_fill();
  }
  return {};
}

Status MaskFiller::State::on_batch_start(size_t positions) {
  if (positions > SIZE_MAX / top_k || !candidates.try_resize_for_overwrite(positions * top_k))
    return no_memory_to_fill();
  return {};
}

Status MaskFiller::State::on_logits(size_t position, std::span<const float> logits, QueuedText* text) {
  const double sum = log_sum_exp(logits);
  if (std::isnan(sum)) {
    text->report.status =
        Status::error(Code::internal, "the model gave a number that is not finite; check its weights");
    return {};
  }
  MaskCandidate* best = candidates.data() + position * top_k;
  choose(logits, sum, best);
  masks[position].candidates = {best, top_k};
  return {};
}

// Writes the candidates of the `top_k` largest logits to `to`, best first. Equal logits are ordered by id. `sum` is the
// logarithm of the sum of the exponentials of all logits.
void MaskFiller::State::choose(std::span<const float> logits, double sum, MaskCandidate* to) {
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(top_k), order.end(),
                    [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  for (size_t i = 0; i < top_k; ++i) {
    to[i] = {order[i], static_cast<float>(std::exp(static_cast<double>(logit(order[i])) - sum))};
  }
}

bool MaskFiller::State::visit(size_t index, const QueuedText& text) {
  const size_t good = text.report.status.ok() ? text.positions : 0;
  return visitor(
      context, index,
      {text.report, ids.span().subspan(text.first, text.count), masks.span().subspan(text.first_position, good)});
}

void MaskFiller::State::on_batch_cleared() {
  ids.clear();
  masks.clear();
}

}  // namespace LINFORMER_NAMESPACE
