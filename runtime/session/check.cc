// What the caller passes: checked whole before anything is written.
#include <algorithm>

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

}  // namespace

int64_t Session::State::given_rows(const Input& input) const {
  if (encoder().embedding.tokens != absent) return static_cast<int64_t>(input.tokens.size());
  return static_cast<int64_t>(input.vectors.size() / encoder().embedding.vectors.width);
}

int64_t Session::State::output_rows(int64_t given) const {
  const EmbeddingDescription& embedding = encoder().embedding;
  return embedding.prefix != absent || embedding.prefix_token >= 0 ? given + 1 : given;
}

int64_t Session::State::score_rows(int head, int64_t sequences, int64_t rows) const {
  const HeadSections& sections = program().heads[static_cast<size_t>(head)];
  if (sections.each_row) return rows;
  return sections.pairs ? sequences / 2 : sequences;
}

int64_t Session::State::hidden_width(int layer) const {
  if (layer < 0) return program().output_width;
  const LayerSections& first = program().layers[0];
  if (layer == 0) return first.streams * encoder().d_model;
  const LayerSections& sections = program().layers[static_cast<size_t>(layer) - 1];
  return sections.streams * sections.width;
}

// One sequence, by itself.
Status Session::State::check_input(const InputList& inputs, size_t t) const {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const SessionOptions& options = plan.options;
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
                         "text %zu has %lld tokens%s and the session was planned for %lld: truncate it, or plan for "
                         "more (the model takes %u)",
                         t, static_cast<long long>(kept), output_rows(0) > 0 ? " with its prefix" : "",
                         static_cast<long long>(options.max_tokens), e.max_tokens);
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
  const uint64_t states_width = std::max<uint32_t>(e.memory_width, 1);
  const uint64_t states = input.memory.size() / states_width;
  if (e.memory_width == 0 ? !input.memory.empty() : input.memory.size() % states_width != 0) {
    return Status::error(Code::invalid_argument, "text %zu has a memory of %zu floats, the model takes rows of %u", t,
                         input.memory.size(), e.memory_width);
  }
  const bool needs_states = std::any_of(program().attentions.begin(), program().attentions.end(),
                                        [](const Attention& a) { return a.key_source == KeySource::memory; });
  if ((needs_states && states == 0) || input.memory.empty() != inputs[0].memory.empty()) {
    return Status::error(Code::invalid_argument, "text %zu has no memory, which its cross attention reads", t);
  }
  if (states > static_cast<uint64_t>(options.max_memory)) {
    return Status::error(Code::too_long, "text %zu has a memory of %llu rows and the session was planned for %lld", t,
                         static_cast<unsigned long long>(states), static_cast<long long>(options.max_memory));
  }
  return check_length(t, "memory mask entries", input.memory_mask.size(), static_cast<int64_t>(states));
}

Status Session::State::check(const InputList& inputs, const Outputs& outputs) const {
  const SessionOptions& options = plan.options;
  if (inputs.size() == 0) return Status::error(Code::invalid_argument, "the batch is empty: pass at least one text");
  if (inputs.size() > static_cast<uint64_t>(options.max_batch)) {
    return Status::error(Code::too_long, "the batch has %zu texts and the session was planned for %lld", inputs.size(),
                         static_cast<long long>(options.max_batch));
  }
  int64_t rows = 0;
  uint64_t hidden_rows = 0;
  for (size_t t = 0; t < inputs.size(); ++t) {
    LINFORMER_TRY(check_input(inputs, t));
    const Input input = inputs[t];
    rows += kept_rows(input);
    hidden_rows += static_cast<uint64_t>(output_rows(given_rows(input)));
  }
  if (rows > options.max_rows) {
    return Status::error(Code::too_long, "the batch has %lld tokens and the session was planned for %lld",
                         static_cast<long long>(rows), static_cast<long long>(options.max_rows));
  }
  if (hidden_rows > INT32_MAX) {
    return Status::error(Code::too_long, "the batch has %llu tokens with its pads, at most %d are possible",
                         static_cast<unsigned long long>(hidden_rows), INT32_MAX);
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
  const uint64_t width = static_cast<uint64_t>(program().output_width);
  LINFORMER_TRY(check_span("hidden", outputs.hidden.size(), hidden_rows,
                           static_cast<uint64_t>(hidden_width(outputs.hidden_layer))));
  LINFORMER_TRY(check_span("pooled", outputs.pooled.size(), texts, width));
  if (outputs.pooling == Pooling::none) {
    return Status::error(Code::invalid_argument, "the pooling of a pooled output can't be none");
  }
  const bool wants_scores = !outputs.logits.empty() || !outputs.probabilities.empty();
  if (!has_heads &&
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
    LINFORMER_TRY(
        check_span("embeddings", outputs.embeddings.size(), texts, static_cast<uint64_t>(program().embedding_width)));
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
  const uint64_t rows = static_cast<uint64_t>(
      score_rows(scores.head, static_cast<int64_t>(inputs.size()), static_cast<int64_t>(hidden_rows)));
  const uint64_t classes = static_cast<uint64_t>(program().heads[static_cast<size_t>(scores.head)].classes);
  LINFORMER_TRY(check_span("logits", scores.logits.size(), rows, classes));
  return check_span("probabilities", scores.probabilities.size(), rows, classes);
}

}  // namespace linformer
