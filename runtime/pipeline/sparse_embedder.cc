#include "linformer/sparse_embedder.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/array.h"
#include "base/description.h"
#include "linformer/masked_lm.h"
#include "linformer/sequence_batch.h"
#include "linformer/text_reader.h"
#include "pipeline/session_options.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t most_weights = size_t{1} << 22;  // that wait to be visited, where one text has no more: 32 MiB
constexpr size_t most_bad_texts = 1024;           // that wait beside a batch

Status no_memory() { return Status::error(Code::out_of_memory, "no memory for sparse vectors"); }

// A text that waits for its batch. Bad ones keep their place.
struct Waiting {
  TextReport report;
  bool runs = false;              // it is in the batch
  size_t first = 0, weights = 0;  // in State::weights
};

}  // namespace

struct SparseEmbedder::State {
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
  Status run();
  bool take(std::span<const float> logits);
  Status finish(Waiting* text);
  bool is_full() const;

  std::shared_ptr<const Model> model;
  Session session;
  TextReader reader;
  SequenceBatch batch;
  MaskedLm masked_lm;
  int32_t pad_id = -1;
  bool strips = true;
  size_t most_waiting = 1, most_running = 1;

  // The call in progress.
  RunControl control;
  size_t visited = 0;  // texts
  Array<Waiting> waiting;
  Array<MaskPosition> positions;  // of each token, in the batch
  Array<TokenWeight> weights;     // of the texts that wait
  Array<float> largest;           // logit of each token of the vocabulary, of the text that is visited
  bool finite = true;             // all of that text's logits are
  // Of the text that is being added.
  Array<int32_t> kept_ids;
  Array<uint8_t> kept_types;
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
  Result<Session> session = Session::create(model, session_options_of(*model, options.texts, 1));
  if (!session.ok()) return session.status();
  Result<MaskedLm> masked_lm = MaskedLm::create(*session);
  if (!masked_lm.ok()) return masked_lm.status();
  TextReaderOptions reading;
  reading.texts = options.texts;
  reading.session = &*session;
  Result<TextReader> reader = TextReader::create(model, reading);
  if (!reader.ok()) return reader.status();
  LINFORMER_TRY(check_pads(*model, options.texts, reader->max_tokens()));
  const int32_t pad_id = model->description().encoder.pad_id;
  const bool strips = session->plan().options.run.padding == Padding::strip;
  // Pads that the session strips are taken out before.
  Result<SequenceBatch> batch = SequenceBatch::create(*session, {0, strips ? 0 : options.texts.pad_to, pad_id});
  if (!batch.ok()) return batch.status();
  std::unique_ptr<State> state(new (std::nothrow) State(std::move(model), std::move(*session), std::move(*reader),
                                                        std::move(*batch), std::move(*masked_lm)));
  if (!state) return no_memory();
  State& s = *state;
  s.pad_id = pad_id;
  s.strips = strips;
  const size_t vocabulary = static_cast<size_t>(s.masked_lm.vocabulary());
  const size_t max_batch = static_cast<size_t>(s.session.plan().options.memory.max_batch);
  s.most_running = std::clamp<size_t>(most_weights / std::max<size_t>(vocabulary, 1), 1, max_batch);
  s.most_waiting = s.most_running + std::min(s.most_running, most_bad_texts);
  if (!s.largest.try_resize_for_overwrite(vocabulary)) return no_memory();
  return SparseEmbedder(std::move(state));
}

const Tokenizer& SparseEmbedder::tokenizer() const { return state_->reader.tokenizer(); }
int64_t SparseEmbedder::vocabulary() const { return state_->masked_lm.vocabulary(); }
int64_t SparseEmbedder::max_tokens() const { return state_->reader.max_tokens(); }
size_t SparseEmbedder::texts_at_once() const { return state_->most_waiting; }
std::span<const Session> SparseEmbedder::sessions() const { return {&state_->session, 1}; }

Status SparseEmbedder::embed(const TextList& texts, Visit visit, void* context, const RunControl& control) {
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
bool SparseEmbedder::State::is_full() const {
  return waiting.size() >= most_waiting || batch.size() >= most_running ||
         (!batch.empty() && !batch.fits(batch.rows_of(1)));
}

Status SparseEmbedder::State::add(const TextInput& input, Visit visit, void* context, bool* wanted) {
  Waiting text;
  const Status read = reader.read(input, &text.report);
  if (read.code() == Code::out_of_memory) return read;
  if (read.ok()) {
    const Result<TextSequence> sequence = reader.sequence(0);
    if (!sequence.ok()) return sequence.status();
    kept_ids.clear();
    kept_types.clear();
    for (size_t i = 0; i < sequence->ids.size(); ++i) {
      if (strips && sequence->ids[i] == pad_id) continue;
      if (!kept_ids.try_push(sequence->ids[i]) || !kept_types.try_push(sequence->types[i])) return no_memory();
    }
    if (!batch.empty() && !batch.fits(batch.rows_of(kept_ids.size()))) LINFORMER_TRY(flush(visit, context, wanted));
    if (!*wanted) return {};
    const int64_t in_batch = static_cast<int64_t>(batch.size()), prefix = session.output_rows(0);
    LINFORMER_TRY(batch.add(kept_ids.span(), kept_types.span()));
    for (size_t i = 0; i < kept_ids.size(); ++i) {
      if (kept_ids[i] == pad_id) continue;
      if (!positions.try_push({in_batch, static_cast<int64_t>(i) + prefix})) return no_memory();
      text.runs = true;
    }
  }
  return waiting.try_push(std::move(text)) ? Status() : no_memory();
}

Status SparseEmbedder::State::run() {
  if (batch.empty()) return {};
  size_t owner = 0;  // in `waiting`, of the position
  int64_t in_batch = -1;
  Status failed;
  LINFORMER_TRY(masked_lm.run(
      &session, batch.inputs(), positions.span(),
      [&](size_t i, std::span<const float> logits) {
        if (positions[i].text != in_batch) {
          if (in_batch >= 0) failed = finish(&waiting[owner++]);
          if (!failed.ok()) return false;
          while (!waiting[owner].runs) ++owner;
          in_batch = positions[i].text;
          std::fill(largest.begin(), largest.end(), 0.f);
          finite = true;
        }
        finite = take(logits) && finite;
        return true;
      },
      control));
  LINFORMER_TRY(failed);
  return in_batch >= 0 ? finish(&waiting[owner]) : Status();
}

// Whether all of them are numbers.
bool SparseEmbedder::State::take(std::span<const float> logits) {
  float zero = 0;  // or NaN
  for (size_t i = 0; i < logits.size(); ++i) {
    zero += logits[i] * 0.f;
    largest[i] = logits[i] > largest[i] ? logits[i] : largest[i];
  }
  return zero == 0;
}

Status SparseEmbedder::State::finish(Waiting* text) {
  if (!finite) {
    text->report.status =
        Status::error(Code::internal, "the model gave a number that is not finite; check its weights");
    return {};
  }
  text->first = weights.size();
  for (size_t i = 0; i < largest.size(); ++i) {
    const float weight = std::log1p(largest[i]);
    if (weight > 0 && !weights.try_push({static_cast<int32_t>(i), weight})) return no_memory();
  }
  text->weights = weights.size() - text->first;
  std::sort(weights.begin() + text->first, weights.end(), [](const TokenWeight& a, const TokenWeight& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  });
  return {};
}

Status SparseEmbedder::State::flush(Visit visit, void* context, bool* wanted) {
  LINFORMER_TRY(run());
  for (const Waiting& text : waiting) {
    if (!visit(context, visited++, text.report, weights.span().subspan(text.first, text.weights))) {
      *wanted = false;
      break;
    }
  }
  forget();
  return {};
}

void SparseEmbedder::State::forget() {
  batch.clear();
  waiting.clear();
  positions.clear();
  weights.clear();
}

}  // namespace LINFORMER_NAMESPACE
