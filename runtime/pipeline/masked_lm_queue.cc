#include "pipeline/masked_lm_queue.h"

#include <algorithm>

#include "base/description.h"
#include "pipeline/session_options.h"
#include "text/tokenizer_factory.h"

namespace LINFORMER_NAMESPACE {
namespace {

constexpr size_t most_bad_texts = 1024;  // The limit of the texts with errors that wait together with a batch.

Status no_memory_for_texts() { return Status::error(Code::out_of_memory, "no memory for texts of a masked-LM head"); }

Result<Tokenizer> tokenizer_of(const std::shared_ptr<const Model>& model, const TextOptions& texts,
                               bool always_match_mask) {
  const TokenizerDescription& description = model->description().tokenizer;
  if (!always_match_mask || texts.match_special_tokens || description.kind == TokenizerKind::none) {
    return Tokenizer::create(model);
  }
  return TokenizerFactory::create(description, model, true);
}

}  // namespace

Result<MaskedLmParts> MaskedLmQueue::create_parts(std::shared_ptr<const Model> model, const TextOptions& texts,
                                                  bool always_match_mask) {
  Result<Session> session = Session::create(model, session_options_of(*model, texts, 1));
  if (!session.ok()) return session.status();
  Result<MaskedLm> masked_lm = MaskedLm::create(*session);
  if (!masked_lm.ok()) return masked_lm.status();
  TextReaderOptions reading;
  reading.texts = texts;
  reading.session = &*session;
  Result<Tokenizer> tokenizer = tokenizer_of(model, texts, always_match_mask);
  if (!tokenizer.ok()) return tokenizer.status();
  Result<TextReader> reader = TextReader::create(model, std::move(*tokenizer), reading);
  if (!reader.ok()) return reader.status();
  LINFORMER_TRY(check_pad_to(*model, texts, reader->max_tokens()));
  const int32_t pad_id = model->description().encoder.pad_id;
  const bool strips = session->plan().options.run.padding == Padding::strip;
  Result<SequenceBatch> batch = SequenceBatch::create(*session, {0, strips ? 0 : texts.pad_to, pad_id});
  if (!batch.ok()) return batch.status();
  return MaskedLmParts{std::move(model),
                       std::move(*session),
                       std::move(*masked_lm),
                       std::move(*reader),
                       std::move(*batch),
                       pad_id,
                       strips};
}

MaskedLmQueue::MaskedLmQueue(MaskedLmParts parts, size_t most_texts, size_t most_positions)
    : parts_(std::move(parts)),
      most_texts_(most_texts),
      most_positions_(most_positions),
      max_waiting_texts_(most_texts + std::min(most_texts, most_bad_texts)) {}

Status MaskedLmQueue::run(const TextList& texts, const RunControl& control) {
  control_ = control;
  control_.progress = nullptr;  // The progress of a single batch must not be reported as that of the call.
  visited_ = 0;
  // An earlier call that was cancelled or failed may have left texts in the queue.
  clear();
  bool wanted = true;
  for (size_t i = 0; i < texts.size() && wanted; ++i) {
    if (control.cancel != nullptr && control.cancel->load(std::memory_order_relaxed)) {
      return Status::error(Code::cancelled, "the call was cancelled");
    }
    LINFORMER_TRY(add_text(texts[i], &wanted));
    if (wanted && (is_full() || i + 1 == texts.size())) LINFORMER_TRY(flush(&wanted));
    if (wanted && control.progress != nullptr && waiting_.empty()) {
      control.progress(control.context, static_cast<double>(i + 1) / static_cast<double>(texts.size()));
    }
  }
  return {};
}

// Returns whether the batch must be run. Texts with errors are not in the batch, but they wait in memory until they are
// visited, so their number is limited too.
bool MaskedLmQueue::is_full() const {
  const SequenceBatch& batch = parts_.batch;
  return waiting_.size() >= max_waiting_texts_ || batch.size() >= most_texts_ ||
         (!batch.empty() && !batch.fits(batch.rows_of(1)));
}

Status MaskedLmQueue::add_text(const TextInput& input, bool* wants_more) {
  QueuedText text;
  const Status read = parts_.reader.read(input, &text.report);
  if (read.code() == Code::out_of_memory) return read;
  if (read.ok()) {
    const Result<TextSequence> sequence = parts_.reader.sequence(0);
    if (!sequence.ok()) return sequence.status();
    LINFORMER_TRY(copy_kept_tokens(*sequence));
    if (wanted_tokens_.empty()) {
      report_no_wanted_token(&text.report);
    } else {
      const SequenceBatch& batch = parts_.batch;
      const bool fits =
          batch.fits(batch.rows_of(kept_ids_.size())) && positions_.size() + wanted_tokens_.size() <= most_positions_;
      if (!batch.empty() && !fits) LINFORMER_TRY(flush(wants_more));
      if (!*wants_more) return {};
      LINFORMER_TRY(add_to_batch(*sequence, &text));
    }
  }
  return waiting_.try_push(std::move(text)) ? Status() : no_memory_for_texts();
}

// Copies the tokens that the session keeps to kept_ids_ and kept_types_. The list wanted_tokens_ gets those of them
// whose logits the derived class wants.
Status MaskedLmQueue::copy_kept_tokens(const TextSequence& sequence) {
  kept_ids_.clear();
  kept_types_.clear();
  wanted_tokens_.clear();
  for (size_t i = 0; i < sequence.ids.size(); ++i) {
    const int32_t id = sequence.ids[i];
    if (parts_.strips && id == parts_.pad_id) continue;
    if (wants_logits_of(id) && !wanted_tokens_.try_push({i, kept_ids_.size()})) return no_memory_for_texts();
    if (!kept_ids_.try_push(id) || !kept_types_.try_push(sequence.types[i])) return no_memory_for_texts();
  }
  return {};
}

// Adds the tokens in kept_ids_ and kept_types_ to the batch.
Status MaskedLmQueue::add_to_batch(const TextSequence& sequence, QueuedText* text) {
  const int64_t in_batch = static_cast<int64_t>(parts_.batch.size()), prefix = parts_.session.output_rows(0);
  LINFORMER_TRY(parts_.batch.add(kept_ids_.span(), kept_types_.span()));
  text->first_position = positions_.size();
  text->positions = wanted_tokens_.size();
  for (const WantedToken& wanted : wanted_tokens_) {
    if (!positions_.try_push({in_batch, static_cast<int64_t>(wanted.token) + prefix})) return no_memory_for_texts();
  }
  // The batch has added pads if the session keeps them, so on_text_added() gets the batch's tokens.
  return on_text_added(sequence, parts_.batch.inputs().back().tokens, text);
}

Status MaskedLmQueue::run_batch() {
  if (parts_.batch.empty()) return {};
  LINFORMER_TRY(on_batch_start(positions_.size()));
  size_t owner = 0;  // The index in waiting_ of the text that has position i.
  Status failed;
  LINFORMER_TRY(parts_.masked_lm.run(
      &parts_.session, parts_.batch.inputs(), positions_.span(),
      [&](size_t i, std::span<const float> logits) {
        while (i >= waiting_[owner].first_position + waiting_[owner].positions) ++owner;
        failed = on_logits(i, logits, &waiting_[owner]);
        return failed.ok();
      },
      control_));
  return failed;
}

Status MaskedLmQueue::flush(bool* wants_more) {
  LINFORMER_TRY(run_batch());
  for (const QueuedText& text : waiting_) {
    if (!visit(visited_++, text)) {
      *wants_more = false;
      break;
    }
  }
  clear();
  return {};
}

void MaskedLmQueue::clear() {
  parts_.batch.clear();
  waiting_.clear();
  positions_.clear();
  on_batch_cleared();
}

}  // namespace LINFORMER_NAMESPACE
