// What the caller passes: checked whole before anything is written, then packed row after row.
#include <algorithm>
#include <cstring>

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

Status check_length(size_t text, const char* name, size_t size, int64_t wanted) {
  if (size == 0 || size == static_cast<uint64_t>(wanted)) return {};
  return Status::error(Code::invalid_argument, "text %zu has %zu %s for %lld tokens", text, size, name,
                       static_cast<long long>(wanted));
}

bool is_kept(const Input& input, int32_t pad, size_t i) {
  return (input.mask.empty() || input.mask[i] != 0) && (input.tokens.empty() || input.tokens[i] != pad);
}

}  // namespace

int64_t Session::State::given_rows(const Input& input) const {
  if (encoder().embedding.tokens != absent) return static_cast<int64_t>(input.tokens.size());
  return static_cast<int64_t>(input.vectors.size() / encoder().embedding.vectors.width);
}

int64_t Session::State::output_rows(int64_t given) const {
  const EmbeddingDescription& embedding = encoder().embedding;
  if (embedding.prefix != absent) return given + 1;
  return embedding.prefix_token < 0 ? given : std::min<int64_t>(given + 1, encoder().max_tokens);
}

int64_t Session::State::kept_rows(const Input& input) const {
  int64_t kept = given_rows(input);
  if (program.plan.options.padding == Padding::strip && (encoder().pad_id >= 0 || !input.mask.empty())) {
    const size_t given = static_cast<size_t>(kept);
    kept = 0;
    for (size_t i = 0; i < given; ++i) kept += is_kept(input, encoder().pad_id, i);
  }
  return kept == 0 ? 0 : output_rows(kept);
}

int64_t Session::State::score_rows(const ClassificationHead& head, int64_t texts, int64_t rows) const {
  if (head.pooling == Pooling::none) return rows;
  return head.pairing == Pairing::none ? texts : texts / 2;
}

int64_t Session::State::hidden_width(int layer) const {
  if (layer < 0) return program.output_width;
  const int64_t streams = encoder().residual == ResidualKind::reversible ? 2 : 1;
  const size_t index = static_cast<size_t>(layer);
  return streams * (index == 0 ? encoder().d_model : program.layers[index - 1].width_out);
}

Status Session::State::check(const InputList& inputs, const Outputs& outputs) const {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const SessionOptions& options = program.plan.options;
  if (inputs.size() == 0) return Status::error(Code::invalid_argument, "the batch is empty: pass at least one text");
  if (inputs.size() > static_cast<uint64_t>(options.max_batch)) {
    return Status::error(Code::too_long, "the batch has %zu texts and the session was planned for %lld", inputs.size(),
                         static_cast<long long>(options.max_batch));
  }
  const bool needs_memory = std::any_of(e.layers.begin(), e.layers.end(), [](const LayerDescription& layer) {
    return layer.attention.key_source == KeySource::memory;
  });
  int64_t rows = 0;
  uint64_t hidden_rows = 0;
  for (size_t t = 0; t < inputs.size(); ++t) {
    const Input input = inputs[t];
    if (embedding.tokens == absent ? !input.tokens.empty() : !input.vectors.empty()) {
      return Status::error(Code::invalid_argument, "text %zu is made of %s, but this model takes %s", t,
                           input.tokens.empty() ? "vectors" : "tokens", input.tokens.empty() ? "tokens" : "vectors");
    }
    if (embedding.tokens == absent && input.vectors.size() % embedding.vectors.width != 0) {
      return Status::error(Code::invalid_argument, "text %zu has %zu floats, which are no vectors of %u", t,
                           input.vectors.size(), embedding.vectors.width);
    }
    const int64_t given = given_rows(input);
    LINFORMER_TRY(check_length(t, "token types", input.types.size(), given));
    LINFORMER_TRY(check_length(t, "mask entries", input.mask.size(), given));
    LINFORMER_TRY(check_length(t, "query mask entries", input.query_mask.size(), given));
    const int64_t kept = kept_rows(input);
    if (kept == 0) return Status::error(Code::invalid_argument, "text %zu has no tokens", t);
    if (kept > options.max_tokens) {
      return Status::error(Code::too_long,
                           "text %zu has %lld tokens and the session was planned for %lld: truncate it, or plan for "
                           "more (the model takes %u)",
                           t, static_cast<long long>(kept), static_cast<long long>(options.max_tokens), e.max_tokens);
    }
    for (size_t i = 0; i < input.tokens.size(); ++i) {
      const int32_t id = input.tokens[i];
      if (id < 0 || static_cast<uint32_t>(id) >= e.vocab_size) {
        return Status::error(Code::invalid_argument, "text %zu, token %zu: id %d is outside the vocabulary of %u", t, i,
                             id, e.vocab_size);
      }
    }
    if (embedding.token_types != absent) {
      const uint64_t types = description().tensors[static_cast<size_t>(embedding.token_types)].shape[0];
      for (size_t i = 0; i < input.types.size(); ++i) {
        if (input.types[i] < types) continue;
        return Status::error(Code::invalid_argument, "text %zu, token %zu: type %u, the model has %llu", t, i,
                             unsigned{input.types[i]}, static_cast<unsigned long long>(types));
      }
    }
    const uint64_t memory_width = std::max<uint32_t>(e.memory_width, 1);
    const uint64_t memory_rows = input.memory.size() / memory_width;
    if (e.memory_width == 0 ? !input.memory.empty() : input.memory.size() % memory_width != 0) {
      return Status::error(Code::invalid_argument, "text %zu has a memory of %zu floats, the model takes rows of %u", t,
                           input.memory.size(), e.memory_width);
    }
    if ((needs_memory && memory_rows == 0) || input.memory.empty() != inputs[0].memory.empty()) {
      return Status::error(Code::invalid_argument, "text %zu has no memory, which its cross attention reads", t);
    }
    if (memory_rows > static_cast<uint64_t>(options.max_memory)) {
      return Status::error(Code::too_long, "text %zu has a memory of %llu rows and the session was planned for %lld", t,
                           static_cast<unsigned long long>(memory_rows), static_cast<long long>(options.max_memory));
    }
    LINFORMER_TRY(check_length(t, "memory mask entries", input.memory_mask.size(), static_cast<int64_t>(memory_rows)));
    rows += kept;
    hidden_rows += static_cast<uint64_t>(output_rows(given));
  }
  if (rows > options.max_rows) {
    return Status::error(Code::too_long, "the batch has %lld tokens and the session was planned for %lld",
                         static_cast<long long>(rows), static_cast<long long>(options.max_rows));
  }
  return check_outputs(inputs, outputs, hidden_rows);
}

Status Session::State::check_outputs(const InputList& inputs, const Outputs& outputs, uint64_t hidden_rows) const {
  const EncoderDescription& e = encoder();
  if (outputs.hidden_layer < -1 || outputs.hidden_layer > static_cast<int>(e.layers.size())) {
    return Status::error(Code::invalid_argument, "hidden layer %d: this model has 0 (embedding) to %zu, or -1",
                         outputs.hidden_layer, e.layers.size());
  }
  const uint64_t texts = inputs.size();
  const uint64_t width = static_cast<uint64_t>(program.output_width);
  LINFORMER_TRY(check_span("hidden", outputs.hidden.size(), hidden_rows,
                           static_cast<uint64_t>(hidden_width(outputs.hidden_layer))));
  LINFORMER_TRY(check_span("pooled", outputs.pooled.size(), texts, width));
  if (outputs.pooling == Pooling::none) {
    return Status::error(Code::invalid_argument, "the pooling of a pooled output can't be none");
  }
  const bool wants_scores = !outputs.logits.empty() || !outputs.probabilities.empty();
  if (!program.has_heads &&
      (wants_scores || !outputs.scores.empty() || !outputs.mlm_logits.empty() || !outputs.embeddings.empty())) {
    return Status::error(Code::invalid_argument, "the encoder of an encoder-decoder has no heads: run the decoder");
  }
  if (wants_scores) {
    LINFORMER_TRY(check_scores({outputs.head, outputs.logits, outputs.probabilities}, inputs, hidden_rows));
  }
  for (const HeadScores& scores : outputs.scores) LINFORMER_TRY(check_scores(scores, inputs, hidden_rows));
  if (!outputs.embeddings.empty()) {
    if (!description().embedding.present) {
      return Status::error(Code::invalid_argument, "this model doesn't say how its texts are embedded: ask for pooled");
    }
    LINFORMER_TRY(check_span("embeddings", outputs.embeddings.size(), texts, static_cast<uint64_t>(embedding_width())));
  }
  if (outputs.mlm_logits.empty() && outputs.mlm_positions.empty()) return {};
  if (!description().mlm.present()) {
    return Status::error(Code::invalid_argument, "this model has no masked-LM head");
  }
  if (outputs.mlm_logits.empty() || outputs.mlm_positions.empty()) {
    return Status::error(Code::invalid_argument, "masked-LM logits need both positions and room for the logits");
  }
  LINFORMER_TRY(check_span("masked-LM", outputs.mlm_logits.size(), outputs.mlm_positions.size(), e.vocab_size));
  for (const MaskPosition& p : outputs.mlm_positions) {
    if (p.text < 0 || static_cast<uint64_t>(p.text) >= texts || p.position < 0 ||
        p.position >= kept_rows(inputs[static_cast<size_t>(p.text)])) {
      return Status::error(Code::invalid_argument, "masked-LM position %lld of text %lld does not exist",
                           static_cast<long long>(p.position), static_cast<long long>(p.text));
    }
  }
  return {};
}

Status Session::State::check_scores(const HeadScores& scores, const InputList& inputs, uint64_t hidden_rows) const {
  const auto& heads = description().heads;
  if (scores.head < 0 || static_cast<size_t>(scores.head) >= heads.size()) {
    return Status::error(Code::invalid_argument, "classification head %d: this model has %zu", scores.head,
                         heads.size());
  }
  const ClassificationHead& head = heads[static_cast<size_t>(scores.head)];
  if (head.pairing != Pairing::none && inputs.size() % 2 != 0) {
    return Status::error(Code::invalid_argument, "head '%s' compares texts two by two, and the batch has %zu",
                         head.name.c_str(), inputs.size());
  }
  const uint64_t rows =
      static_cast<uint64_t>(score_rows(head, static_cast<int64_t>(inputs.size()), static_cast<int64_t>(hidden_rows)));
  const uint64_t classes = static_cast<uint64_t>(outputs_of(head.output));
  LINFORMER_TRY(check_span("logits", scores.logits.size(), rows, classes));
  return check_span("probabilities", scores.probabilities.size(), rows, classes);
}

void Session::State::pack(const InputList& inputs) {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const bool strip = program.plan.options.padding == Padding::strip;
  batch.inputs = inputs;
  batch.texts = static_cast<int64_t>(inputs.size());
  batch.row_starts = buffer<int64_t>(buffer_row_starts);
  batch.ids = buffer<int32_t>(buffer_ids);
  batch.positions = buffer<int32_t>(buffer_positions);
  batch.types = embedding.token_types != absent ? buffer<uint8_t>(buffer_types) : nullptr;
  batch.masks = buffer<uint8_t>(buffer_masks);
  batch.has_masks = false;
  int64_t row = 0;
  for (int64_t t = 0; t < batch.texts; ++t) {
    const Input input = inputs[static_cast<size_t>(t)];
    const int64_t end = row + kept_rows(input);
    batch.row_starts[t] = row;
    int32_t position = static_cast<int32_t>(embedding.position_offset);
    const auto add = [&](int32_t id, bool pad, uint8_t mask, uint8_t type) {
      const bool uncounted = pad && embedding.positions_count_non_pad;
      batch.ids[row] = id;
      batch.positions[row] = uncounted ? static_cast<int32_t>(embedding.pad_position) : position++;
      if (batch.types != nullptr) batch.types[row] = type;
      batch.masks[row] = mask;
      batch.has_masks = batch.has_masks || mask != 0;
      ++row;
    };
    if (embedding.prefix != absent) add(-1, false, 0, 0);
    if (embedding.prefix_token >= 0) add(embedding.prefix_token, false, 0, 0);
    const size_t given = static_cast<size_t>(given_rows(input));
    for (size_t i = 0; i < given && row < end; ++i) {
      const bool kept = is_kept(input, e.pad_id, i);
      if (strip && !kept) continue;
      const bool query = input.query_mask.empty() || input.query_mask[i] != 0;
      const uint8_t mask = static_cast<uint8_t>((kept ? 0 : mask_row) | (query ? 0 : mask_query));
      const int32_t id = input.tokens.empty() ? static_cast<int32_t>(i) : input.tokens[i];
      add(id, !input.tokens.empty() && id == e.pad_id, mask, input.types.empty() ? uint8_t{0} : input.types[i]);
    }
  }
  batch.row_starts[batch.texts] = row;
  batch.rows = row;
  pack_memory();
}

void Session::State::pack_memory() {
  batch.has_memory = encoder().memory_width > 0 && !batch.inputs[0].memory.empty();
  if (!batch.has_memory) return;
  const size_t width = encoder().memory_width;
  batch.memory_starts = buffer<int64_t>(buffer_memory_starts);
  batch.memory_masks = buffer<uint8_t>(buffer_memory_masks);
  float* memory = buffer(buffer_memory);
  int64_t row = 0;
  for (int64_t t = 0; t < batch.texts; ++t) {
    const Input input = batch.inputs[static_cast<size_t>(t)];
    const size_t rows = input.memory.size() / width;
    const bool own = input.memory_mask.empty() && input.mask.size() == rows;
    const std::span<const uint8_t> mask = own ? input.mask : input.memory_mask;
    batch.memory_starts[t] = row;
    std::memcpy(memory + row * static_cast<int64_t>(width), input.memory.data(), input.memory.size_bytes());
    for (size_t i = 0; i < rows; ++i) {
      const bool masked = !mask.empty() && mask[i] == 0;
      batch.memory_masks[row++] = masked ? mask_row : 0;
      batch.has_masks = batch.has_masks || masked;
    }
  }
  batch.memory_starts[batch.texts] = row;
}

}  // namespace linformer
