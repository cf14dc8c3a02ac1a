// What the caller passes: checked whole before anything is written, then packed row after row.
#include "base/checked.h"
#include "session/state.h"

namespace linformer {
namespace {

Status check_span(const char* name, size_t size, uint64_t a, uint64_t b) {
  CheckedSize wanted;
  wanted.add_product(a, b);
  if (size == 0 || (wanted.valid() && size == wanted.value())) return {};
  return Status::error(Code::invalid_argument, "the %s output holds %zu floats where %llu x %llu are computed", name,
                       size, static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
}

}  // namespace

int64_t Session::State::kept_tokens(Tokens text) const {
  if (program.plan.options.padding == Padding::keep || encoder().pad_id < 0) return static_cast<int64_t>(text.size());
  int64_t kept = 0;
  for (int32_t id : text) kept += id != encoder().pad_id;
  return kept;
}

Status Session::State::check(std::span<const Tokens> texts, const Outputs& outputs) const {
  const SessionOptions& options = program.plan.options;
  const EncoderDescription& e = encoder();
  if (texts.empty()) return Status::error(Code::invalid_argument, "the batch is empty: pass at least one text");
  if (texts.size() > static_cast<uint64_t>(options.max_batch)) {
    return Status::error(Code::too_long, "the batch has %zu texts and the session was planned for %lld", texts.size(),
                         static_cast<long long>(options.max_batch));
  }
  int64_t rows = 0;
  uint64_t input_rows = 0;
  for (size_t t = 0; t < texts.size(); ++t) {
    const int64_t kept = kept_tokens(texts[t]);
    if (kept == 0) return Status::error(Code::invalid_argument, "text %zu has no tokens", t);
    if (kept > options.max_tokens) {
      return Status::error(Code::too_long,
                           "text %zu has %lld tokens and the session was planned for %lld: truncate it, or plan for "
                           "more (the model takes %u)",
                           t, static_cast<long long>(kept), static_cast<long long>(options.max_tokens), e.max_tokens);
    }
    for (size_t i = 0; i < texts[t].size(); ++i) {
      const int32_t id = texts[t][i];
      if (id < 0 || static_cast<uint32_t>(id) >= e.vocab_size) {
        return Status::error(Code::invalid_argument, "text %zu, token %zu: id %d is outside the vocabulary of %u", t, i,
                             id, e.vocab_size);
      }
    }
    rows += kept;
    input_rows += texts[t].size();
  }
  if (rows > options.max_rows) {
    return Status::error(Code::too_long, "the batch has %lld tokens and the session was planned for %lld",
                         static_cast<long long>(rows), static_cast<long long>(options.max_rows));
  }

  LINFORMER_TRY(check_span("hidden", outputs.hidden.size(), input_rows, e.d_model));
  if (outputs.hidden_layer < -1 || outputs.hidden_layer > static_cast<int>(e.layers.size())) {
    return Status::error(Code::invalid_argument, "hidden layer %d: this model has 0 (embedding) to %zu, or -1",
                         outputs.hidden_layer, e.layers.size());
  }
  LINFORMER_TRY(check_span("pooled", outputs.pooled.size(), texts.size(), e.d_model));
  if (!outputs.logits.empty() || !outputs.probabilities.empty()) {
    const auto& heads = description().heads;
    if (outputs.head < 0 || static_cast<size_t>(outputs.head) >= heads.size()) {
      return Status::error(Code::invalid_argument, "classification head %d: this model has %zu", outputs.head,
                           heads.size());
    }
    const uint64_t classes = description().tensors[heads[outputs.head].output.weight].shape[0];
    LINFORMER_TRY(check_span("logits", outputs.logits.size(), texts.size(), classes));
    LINFORMER_TRY(check_span("probabilities", outputs.probabilities.size(), texts.size(), classes));
  }
  if (!outputs.mlm_logits.empty() || !outputs.mlm_positions.empty()) {
    if (!description().mlm.present()) {
      return Status::error(Code::invalid_argument, "this model has no masked-LM head");
    }
    if (outputs.mlm_logits.empty() || outputs.mlm_positions.empty()) {
      return Status::error(Code::invalid_argument, "masked-LM logits need both positions and room for the logits");
    }
    LINFORMER_TRY(check_span("masked-LM", outputs.mlm_logits.size(), outputs.mlm_positions.size(), e.vocab_size));
    for (const MaskPosition& p : outputs.mlm_positions) {
      if (p.text < 0 || static_cast<uint64_t>(p.text) >= texts.size() || p.position < 0 ||
          p.position >= kept_tokens(texts[static_cast<size_t>(p.text)])) {
        return Status::error(Code::invalid_argument, "masked-LM position %lld of text %lld does not exist",
                             static_cast<long long>(p.position), static_cast<long long>(p.text));
      }
    }
  }
  return {};
}

void Session::State::pack(std::span<const Tokens> texts) {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const bool strip = program.plan.options.padding == Padding::strip;
  batch.texts = static_cast<int64_t>(texts.size());
  batch.row_starts = buffer<int64_t>(buffer_row_starts);
  batch.ids = buffer<int32_t>(buffer_ids);
  batch.positions = buffer<int32_t>(buffer_positions);
  int64_t row = 0;
  for (int64_t t = 0; t < batch.texts; ++t) {
    batch.row_starts[t] = row;
    int32_t position = static_cast<int32_t>(embedding.position_offset);
    for (int32_t id : texts[static_cast<size_t>(t)]) {
      const bool pad = id == e.pad_id;
      if (pad && strip) continue;
      batch.ids[row] = id;
      const bool uncounted = pad && embedding.positions_count_non_pad;
      batch.positions[row] = uncounted ? static_cast<int32_t>(embedding.pad_position) : position++;
      ++row;
    }
  }
  batch.row_starts[batch.texts] = row;
  batch.rows = row;
}

}  // namespace linformer
