#include "linformer/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "base/array.h"
#include "base/description.h"
#include "linformer/masked_lm.h"
#include "linformer/sequence_batch.h"
#include "linformer/text_reader.h"
#include "pipeline/session_options.h"
#include "text/tokenizer_factory.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t most_candidates = size_t{1} << 22;  // that wait to be visited, where one text has no more: 32 MiB

constexpr size_t most_bad_texts = 1024;  // that wait beside a batch

Status no_memory() { return Status::error(Code::out_of_memory, "no memory for masked tokens"); }

// A text that waits for its batch. Bad ones keep their place.
struct Waiting {
  TextReport report;
  size_t first_id = 0, ids = 0;      // in State::ids
  size_t first_mask = 0, masks = 0;  // in State::masks
};

// The mask token as it is written in a text.
Status spell_mask(const TokenizerDescription& description, const Tokenizer& tokenizer, Array<char>* to) {
  const auto& added = description.added_tokens;
  const auto own = std::find_if(added.begin(), added.end(), [&](const auto& t) { return t.id == description.mask; });
  if (own != added.end()) {
    return to->try_append(own->content.data(), own->content.size()) ? Status() : no_memory();
  }
  TextBuffer buffer;
  const Status decoded = tokenizer.decode({&description.mask, 1}, {}, &buffer);
  if (decoded.code() == Code::out_of_memory) return decoded;
  const std::string_view text = decoded.ok() ? buffer.view() : "<mask>";
  return to->try_append(text.data(), text.size()) ? Status() : no_memory();
}

// Special tokens may be plain characters in a text, but its masks are always masks.
Result<Tokenizer> tokenizer_of(const std::shared_ptr<const Model>& model, const TextOptions& texts) {
  const TokenizerDescription& description = model->description().tokenizer;
  if (texts.match_special_tokens || description.kind == TokenizerKind::none) return Tokenizer::create(model);
  return TokenizerFactory::create(description, model, true);
}

}  // namespace

struct MaskFiller::State {
  State(std::shared_ptr<const Model> given, Session made, TextReader reads, SequenceBatch collects, MaskedLm scores)
      : model(std::move(given)),
        session(std::move(made)),
        reader(std::move(reads)),
        batch(std::move(collects)),
        masked_lm(std::move(scores)) {}

  // Reads a text; runs what waits before it where there is no room for both. *wanted: whether the visitor wants more.
  Status add(const TextInput& input, Visit visit, void* context, bool* wanted);
  // Runs what waits, and visits it.
  Status flush(Visit visit, void* context, bool* wanted);
  void forget();
  Status keep(const TextSequence& sequence);
  Status take(Waiting* text);
  Status run();
  void choose(std::span<const float> logits, double sum, MaskCandidate* to);
  bool is_full() const;

  std::shared_ptr<const Model> model;
  Session session;
  TextReader reader;
  SequenceBatch batch;
  MaskedLm masked_lm;
  Array<char> mask;  // as text
  int32_t mask_id = -1, pad_id = -1;
  bool strips = true;
  size_t top_k = 1, most_waiting = 1, most_masks = 1;

  // The call in progress.
  RunControl control;
  size_t visited = 0;  // texts
  Array<Waiting> waiting;
  Array<int32_t> ids;  // of the texts that wait
  Array<MaskedToken> masks;
  Array<MaskPosition> positions;    // of each mask, in the batch
  Array<MaskCandidate> candidates;  // top_k of each mask
  Array<int32_t> order;             // of the vocabulary
  // Of the text that is being added.
  Array<int32_t> kept_ids;
  Array<uint8_t> kept_types;
  Array<MaskedToken> found;
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
  Result<Session> session = Session::create(model, session_options_of(*model, options.texts, 1));
  if (!session.ok()) return session.status();
  Result<MaskedLm> masked_lm = MaskedLm::create(*session);
  if (!masked_lm.ok()) return masked_lm.status();
  TextReaderOptions reading;
  reading.texts = options.texts;
  reading.session = &*session;
  Result<Tokenizer> tokenizer = tokenizer_of(model, options.texts);
  if (!tokenizer.ok()) return tokenizer.status();
  Result<TextReader> reader = TextReader::create(model, std::move(*tokenizer), reading);
  if (!reader.ok()) return reader.status();
  LINFORMER_TRY(check_pads(*model, options.texts, reader->max_tokens()));
  const int32_t mask_id = model->description().tokenizer.mask;
  if (mask_id < 0) {
    return Status::error(Code::unsupported,
                         "this model's tokenizer has no mask token: convert it again with the one it learned with");
  }
  const int32_t pad_id = model->description().encoder.pad_id;
  const bool strips = session->plan().options.run.padding == Padding::strip;
  // Pads that the session strips are taken out before.
  const int64_t pad_to = strips ? 0 : options.texts.pad_to;
  Result<SequenceBatch> batch = SequenceBatch::create(*session, {0, pad_to, pad_id});
  if (!batch.ok()) return batch.status();
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(model), std::move(*session), std::move(*reader),
                                                        std::move(*batch), std::move(*masked_lm)));
  if (!state) return no_memory();
  State& s = *state;
  LINFORMER_TRY(spell_mask(s.model->description().tokenizer, s.reader.tokenizer(), &s.mask));
  s.mask_id = mask_id;
  s.pad_id = pad_id;
  s.strips = strips;
  const size_t vocabulary = static_cast<size_t>(s.masked_lm.vocabulary());
  s.top_k = static_cast<size_t>(std::min<int64_t>(options.top_k, s.masked_lm.vocabulary()));
  s.most_masks = std::max<size_t>(1, most_candidates / s.top_k);
  const size_t max_batch = static_cast<size_t>(s.session.plan().options.memory.max_batch);
  s.most_waiting = max_batch + std::min(max_batch, most_bad_texts);
  if (!s.order.try_resize_for_overwrite(vocabulary)) return no_memory();
  return MaskFiller(std::move(state));
}

std::string_view MaskFiller::mask() const { return {state_->mask.data(), state_->mask.size()}; }
const Tokenizer& MaskFiller::tokenizer() const { return state_->reader.tokenizer(); }
int64_t MaskFiller::max_tokens() const { return state_->reader.max_tokens(); }
size_t MaskFiller::texts_at_once() const { return state_->most_waiting; }
std::span<const Session> MaskFiller::sessions() const { return {&state_->session, 1}; }

Status MaskFiller::fill(const TextList& texts, Visit visit, void* context, const RunControl& control) {
  State& s = *state_;
  s.control = control;
  s.control.progress = nullptr;  // the session's own shares mean nothing here
  s.visited = 0;
  // A call that was stopped or failed may have left texts behind.
  s.forget();
  bool wanted = true;
  for (size_t i = 0; i < texts.size() && wanted; ++i) {
    if (control.cancel != nullptr && control.cancel->load(std::memory_order_relaxed)) {
      return Status::error(Code::cancelled, "the call was cancelled");
    }
    LINFORMER_TRY(s.add(texts[i], visit, context, &wanted));
    if (wanted && (s.is_full() || i + 1 == texts.size())) LINFORMER_TRY(s.flush(visit, context, &wanted));
    if (wanted && control.progress != nullptr && s.waiting.empty()) {
      control.progress(control.context, static_cast<double>(i + 1) / static_cast<double>(texts.size()));
    }
  }
  return {};
}

// Bad texts fill no batch, and must not pile up behind one either.
bool MaskFiller::State::is_full() const {
  return waiting.size() >= most_waiting || (!batch.empty() && !batch.fits(batch.rows_of(1)));
}

Status MaskFiller::State::add(const TextInput& input, Visit visit, void* context, bool* wanted) {
  Waiting text;
  const Status read = reader.read(input, &text.report);
  if (read.code() == Code::out_of_memory) return read;
  if (read.ok()) {
    const Result<TextSequence> sequence = reader.sequence(0);
    if (!sequence.ok()) return sequence.status();
    LINFORMER_TRY(keep(*sequence));
    const size_t wanted_masks = found.size();
    const bool fits = batch.fits(batch.rows_of(kept_ids.size())) && masks.size() + wanted_masks <= most_masks;
    if (wanted_masks > 0 && !batch.empty() && !fits) LINFORMER_TRY(flush(visit, context, wanted));
    if (!*wanted) return {};
    LINFORMER_TRY(take(&text));
  }
  return waiting.try_push(std::move(text)) ? Status() : no_memory();
}

// What the session keeps of a sequence, and its masks.
Status MaskFiller::State::keep(const TextSequence& sequence) {
  kept_ids.clear();
  kept_types.clear();
  found.clear();
  for (size_t i = 0; i < sequence.ids.size(); ++i) {
    const int32_t id = sequence.ids[i];
    if (strips && id == pad_id) continue;
    const size_t token = kept_ids.size();
    if (id == mask_id && !found.try_push({token, sequence.texts[i], sequence.offsets[i], {}})) return no_memory();
    if (!kept_ids.try_push(id) || !kept_types.try_push(sequence.types[i])) return no_memory();
  }
  return {};
}

// Puts what keep() found into the batch.
Status MaskFiller::State::take(Waiting* text) {
  if (found.empty()) {
    text->report.without_mask = true;
    text->report.status =
        Status::error(Code::invalid_argument, "no mask in the text%s: write %.*s where a word is missing",
                      text->report.truncated() ? " that is left after cutting it" : "",
                      static_cast<int>(std::min<size_t>(mask.size(), 64)), mask.data());
    return {};
  }
  const int64_t in_batch = static_cast<int64_t>(batch.size()), prefix = session.output_rows(0);
  LINFORMER_TRY(batch.add(kept_ids.span(), kept_types.span()));
  const Tokens read = batch.inputs().back().tokens;  // with the pads that are kept
  text->first_id = ids.size();
  text->ids = read.size();
  text->first_mask = masks.size();
  text->masks = found.size();
  if (!ids.try_append(read.data(), read.size())) return no_memory();
  for (const MaskedToken& masked : found) {
    const MaskPosition position = {in_batch, static_cast<int64_t>(masked.token) + prefix};
    if (!masks.try_push(masked) || !positions.try_push(position)) return no_memory();
  }
  return {};
}

Status MaskFiller::State::run() {
  if (batch.empty()) return {};
  if (masks.size() > SIZE_MAX / top_k || !candidates.try_resize_for_overwrite(masks.size() * top_k)) {
    return no_memory();
  }
  size_t owner = 0;  // in `waiting`, of the mask
  return masked_lm.run(
      &session, batch.inputs(), positions.span(),
      [&](size_t i, std::span<const float> logits) {
        while (i >= waiting[owner].first_mask + waiting[owner].masks) ++owner;
        const double sum = log_sum_exp(logits);
        if (std::isnan(sum)) {
          waiting[owner].report.status =
              Status::error(Code::internal, "the model gave a number that is not finite; check its weights");
          return true;
        }
        MaskCandidate* best = candidates.data() + i * top_k;
        choose(logits, sum, best);
        masks[i].candidates = {best, top_k};
        return true;
      },
      control);
}

// The `top_k` largest, equal ones by id.
void MaskFiller::State::choose(std::span<const float> logits, double sum, MaskCandidate* to) {
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(top_k), order.end(),
                    [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  for (size_t i = 0; i < top_k; ++i) {
    to[i] = {order[i], static_cast<float>(std::exp(static_cast<double>(logit(order[i])) - sum))};
  }
}

Status MaskFiller::State::flush(Visit visit, void* context, bool* wanted) {
  LINFORMER_TRY(run());
  for (const Waiting& text : waiting) {
    const bool good = text.report.status.ok();
    const MaskFilling filling{text.report, ids.span().subspan(text.first_id, text.ids),
                              masks.span().subspan(text.first_mask, good ? text.masks : 0)};
    if (!visit(context, visited++, filling)) {
      *wanted = false;
      break;
    }
  }
  forget();
  return {};
}

void MaskFiller::State::forget() {
  batch.clear();
  waiting.clear();
  ids.clear();
  masks.clear();
  positions.clear();
}

}  // namespace LINFORMER_NAMESPACE
