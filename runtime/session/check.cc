// Checks everything that the caller passes to run(), before anything is written.
#include <algorithm>

#include "base/checked.h"
#include "base/description.h"
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status check_length(size_t text, const char* name, size_t size, int64_t wanted, const char* things) {
  if (size == 0 || size == static_cast<uint64_t>(wanted)) return {};
  return Status::error(Code::invalid_argument, "text %zu has %zu %s for %lld %s", text, size, name,
                       static_cast<long long>(wanted), things);
}

}  // namespace

int64_t Session::State::input_length(const Input& input) const {
  if (encoder().embedding.tokens != absent) return static_cast<int64_t>(input.tokens.size());
  return static_cast<int64_t>(input.vectors.size() / encoder().embedding.vectors.width);
}

int64_t Session::State::output_rows(int64_t length) const {
  const EmbeddingDescription& embedding = encoder().embedding;
  return embedding.prefix != absent || embedding.prefix_token >= 0 ? length + 1 : length;
}

// Checks one sequence.
Status Session::State::check_input(const InputList& inputs, size_t t) const {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const SessionOptions& options = plan.options;
  const Input input = inputs[t];
  if (embedding.tokens == absent ? !input.tokens.empty() : !input.vectors.empty()) {
    return Status::error(Code::invalid_argument, "text %zu has %s, but this model takes %s", t,
                         embedding.tokens == absent ? "tokens" : "vectors",
                         embedding.tokens == absent ? "vectors" : "tokens");
  }
  if (embedding.tokens == absent && input.vectors.size() % embedding.vectors.width != 0) {
    return Status::error(Code::invalid_argument, "text %zu has %zu floats, which is not a multiple of the width %u", t,
                         input.vectors.size(), embedding.vectors.width);
  }
  const int64_t given = input_length(input);
  const char* const things = embedding.tokens == absent ? "vectors" : "tokens";
  LINFORMER_TRY(check_length(t, "token types", input.types.size(), given, things));
  LINFORMER_TRY(check_length(t, "mask entries", input.mask.size(), given, things));
  LINFORMER_TRY(check_length(t, "query mask entries", input.query_mask.size(), given, things));
  const int64_t kept = computed_rows(input);
  // A model without layers takes a sequence without rows: its vector is zeros.
  if (kept == 0 && !e.layers.empty()) return Status::error(Code::invalid_argument, "text %zu has no %s", t, things);
  if (kept > options.memory.max_tokens) {
    return Status::error(Code::too_long,
                         "text %zu has %lld %s%s and the session was planned for %lld: truncate it, or plan for "
                         "more (the model takes %u)",
                         t, static_cast<long long>(kept), things, output_rows(0) > 0 ? " with its prefix" : "",
                         static_cast<long long>(options.memory.max_tokens), e.max_tokens);
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
      return Status::error(Code::invalid_argument,
                           "text %zu, token %zu: token type %u, but the model has only %llu types", t, i,
                           unsigned{input.types[i]}, static_cast<unsigned long long>(types));
    }
  }
  if (e.encoder_states_width == 0 && !input.encoder_states.empty()) {
    return Status::error(Code::invalid_argument, "text %zu has encoder states, but this model reads none", t);
  }
  const uint64_t states_width = std::max<uint32_t>(e.encoder_states_width, 1);
  const uint64_t states = input.encoder_states.size() / states_width;
  if (input.encoder_states.size() % states_width != 0) {
    return Status::error(Code::invalid_argument,
                         "text %zu has encoder states of %zu floats, but the model reads rows of %u", t,
                         input.encoder_states.size(), e.encoder_states_width);
  }
  if (program().needs_states && states == 0) {
    return Status::error(Code::invalid_argument, "text %zu has no encoder states, which its cross attention reads", t);
  }
  if (input.encoder_states.empty() != inputs[0].encoder_states.empty()) {
    return Status::error(Code::invalid_argument,
                         "text %zu has %s encoder states, unlike text 0: pass encoder states for all texts or for none",
                         t, states == 0 ? "no" : "its own");
  }
  if (states > static_cast<uint64_t>(options.memory.max_encoder_states)) {
    return Status::error(
        Code::too_long, "text %zu has %llu rows of encoder states and the session was planned for %lld: plan for more",
        t, static_cast<unsigned long long>(states), static_cast<long long>(options.memory.max_encoder_states));
  }
  return check_length(t, "encoder state mask entries", input.encoder_states_mask.size(), static_cast<int64_t>(states),
                      "rows of encoder states");
}

Status Session::State::check(const InputList& inputs, std::span<const Output> outputs) const {
  const SessionOptions& options = plan.options;
  if (inputs.size() == 0) return Status::error(Code::invalid_argument, "the batch is empty: pass at least one text");
  if (inputs.size() > static_cast<uint64_t>(options.memory.max_batch)) {
    return Status::error(Code::too_long, "the batch has %zu texts and the session was planned for %lld: plan for more",
                         inputs.size(), static_cast<long long>(options.memory.max_batch));
  }
  int64_t rows = 0;
  uint64_t hidden_rows = 0;
  for (size_t t = 0; t < inputs.size(); ++t) {
    LINFORMER_TRY(check_input(inputs, t));
    const Input input = inputs[t];
    rows += computed_rows(input);
    hidden_rows += static_cast<uint64_t>(output_rows(input_length(input)));
  }
  if (rows > options.memory.max_rows) {
    return Status::error(Code::too_long,
                         "the batch has %lld tokens and the session was planned for %lld: plan for more",
                         static_cast<long long>(rows), static_cast<long long>(options.memory.max_rows));
  }
  if (hidden_rows > INT32_MAX) {
    return Status::error(Code::too_long, "the batch has %llu tokens with its pads, at most %d are possible",
                         static_cast<unsigned long long>(hidden_rows), INT32_MAX);
  }
  return check_outputs(inputs, outputs, static_cast<int64_t>(hidden_rows));
}

}  // namespace LINFORMER_NAMESPACE
