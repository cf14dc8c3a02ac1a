// Packs the caller's sequences row after row into the arena.
#include <algorithm>
#include <cstring>

#include "base/description.h"
#include "session/state.h"

namespace LINFORMER_NAMESPACE {
namespace {

const float* vectors_of(const void* inputs, int64_t sequence) {
  return (*static_cast<const InputList*>(inputs))[static_cast<size_t>(sequence)].vectors.data();
}

bool is_kept(const Input& input, int32_t pad, size_t i) {
  return (input.mask.empty() || input.mask[i] != 0) && (input.tokens.empty() || input.tokens[i] != pad);
}

}  // namespace

int64_t Session::State::computed_rows(const Input& input) const {
  int64_t kept = input_length(input);
  if (plan.options.run.padding == Padding::strip && (encoder().pad_id >= 0 || !input.mask.empty())) {
    const size_t given = static_cast<size_t>(kept);
    kept = 0;
    for (size_t i = 0; i < given; ++i) kept += is_kept(input, encoder().pad_id, i);
  }
  return kept == 0 ? 0 : output_rows(kept);
}

// Checks the parts of an input that row_tokens() and row_of() read.
Status Session::State::check_tokens_and_mask(const Input& input) const {
  const bool takes_tokens = encoder().embedding.tokens != absent;
  if (takes_tokens ? !input.vectors.empty() : !input.tokens.empty()) {
    return Status::error(Code::invalid_argument, "this model takes %s", takes_tokens ? "tokens" : "vectors");
  }
  if (!input.mask.empty() && input.mask.size() != static_cast<uint64_t>(input_length(input))) {
    return Status::error(Code::invalid_argument, "the text has %zu mask entries for %lld tokens", input.mask.size(),
                         static_cast<long long>(input_length(input)));
  }
  return {};
}

Status Session::State::row_tokens(const Input& input, std::span<int64_t> tokens) const {
  LINFORMER_TRY(check_tokens_and_mask(input));
  const int64_t given = input_length(input), rows = output_rows(given);
  if (tokens.size() < static_cast<uint64_t>(rows)) {
    return Status::error(Code::too_long, "the list of tokens has room for %zu rows, but there are %lld", tokens.size(),
                         static_cast<long long>(rows));
  }
  size_t row = 0;
  if (rows > given) tokens[row++] = -1;
  const bool strip = plan.options.run.padding == Padding::strip;
  for (size_t i = 0; i < static_cast<size_t>(given); ++i) {
    if (!strip || is_kept(input, encoder().pad_id, i)) tokens[row++] = static_cast<int64_t>(i);
  }
  std::fill(tokens.begin() + static_cast<std::ptrdiff_t>(row), tokens.begin() + rows, int64_t{-1});
  return {};
}

Result<int64_t> Session::State::row_of(const Input& input, size_t token) const {
  LINFORMER_TRY(check_tokens_and_mask(input));
  const int64_t given = input_length(input);
  const bool strip = plan.options.run.padding == Padding::strip;
  if (token >= static_cast<uint64_t>(given) || (strip && !is_kept(input, encoder().pad_id, token))) {
    return Status::error(Code::invalid_argument, "token %zu of %lld has no row: it was stripped, or doesn't exist",
                         token, static_cast<long long>(given));
  }
  int64_t row = output_rows(given) - given;
  for (size_t i = 0; i < token; ++i) row += !strip || is_kept(input, encoder().pad_id, i);
  return row;
}

Batch Session::State::pack(const InputList& inputs) const {
  const EncoderDescription& e = encoder();
  const EmbeddingDescription& embedding = e.embedding;
  const SinusoidalTable& sinusoidal = program().sinusoidal;
  const bool strip = plan.options.run.padding == Padding::strip;
  const bool computed = sinusoidal.rows > 0;
  Batch batch;
  batch.sequences = static_cast<int64_t>(inputs.size());
  int32_t* row_starts = executor->buffer<int32_t>(BufferId::row_starts);
  int32_t* output_starts = row_starts + plan.options.memory.max_batch + 1;
  int32_t* ids = executor->buffer<int32_t>(BufferId::ids);
  int32_t* positions = executor->buffer<int32_t>(BufferId::positions);
  uint8_t* types = embedding.token_types != absent ? executor->buffer<uint8_t>(BufferId::types) : nullptr;
  uint8_t* masks = executor->buffer<uint8_t>(BufferId::masks);
  const bool looked_up = embedding.position_kind == PositionKind::learned;
  const int32_t first_position = looked_up ? static_cast<int32_t>(embedding.position_offset) : 0;
  const int32_t pad_position = static_cast<int32_t>(computed ? sinusoidal.pad_row : int64_t{embedding.pad_position});
  int64_t row = 0, output_row = 0;
  for (int64_t s = 0; s < batch.sequences; ++s) {
    const Input input = inputs[static_cast<size_t>(s)];
    const int64_t given = input_length(input);
    row_starts[s] = static_cast<int32_t>(row);
    output_starts[s] = static_cast<int32_t>(output_row);
    output_row += output_rows(given);
    int32_t position = first_position;
    const auto add = [&](int32_t id, bool pad, uint8_t mask, uint8_t type) {
      const bool uncounted = pad && embedding.positions_count_non_pad;
      ids[row] = id;
      positions[row] = uncounted ? pad_position : position++;
      if (types != nullptr) types[row] = type;
      masks[row] = mask;
      batch.has_masks = batch.has_masks || mask != 0;
      ++row;
    };
    if (embedding.prefix != absent) add(-1, false, 0, 0);
    if (embedding.prefix_token >= 0) add(embedding.prefix_token, false, 0, 0);
    for (size_t i = 0; i < static_cast<size_t>(given); ++i) {
      const bool kept = is_kept(input, e.pad_id, i);
      if (strip && !kept) continue;
      const bool query = input.query_mask.empty() || input.query_mask[i] != 0;
      const uint8_t mask = static_cast<uint8_t>((kept ? 0 : mask_row) | (query ? 0 : mask_query));
      const int32_t id = input.tokens.empty() ? static_cast<int32_t>(i) : input.tokens[i];
      add(id, !input.tokens.empty() && id == e.pad_id, mask, input.types.empty() ? uint8_t{0} : input.types[i]);
    }
  }
  row_starts[batch.sequences] = static_cast<int32_t>(row);
  output_starts[batch.sequences] = static_cast<int32_t>(output_row);
  batch.rows = row;
  batch.row_starts = row_starts;
  batch.output_starts = output_starts;
  batch.ids = ids;
  batch.positions = positions;
  batch.types = types;
  batch.masks = masks;
  batch.vectors = &vectors_of;
  batch.inputs = &inputs;
  pack_encoder_states(inputs, &batch);
  return batch;
}

void Session::State::pack_encoder_states(const InputList& inputs, Batch* batch) const {
  batch->has_states = encoder().encoder_states_width > 0 && !inputs[0].encoder_states.empty();
  if (!batch->has_states) return;
  const size_t width = encoder().encoder_states_width;
  int32_t* starts = executor->buffer<int32_t>(BufferId::state_starts);
  uint8_t* masks = executor->buffer<uint8_t>(BufferId::state_masks);
  float* states = executor->buffer(BufferId::encoder_states);
  int64_t row = 0;
  for (int64_t s = 0; s < batch->sequences; ++s) {
    const Input input = inputs[static_cast<size_t>(s)];
    const size_t rows = input.encoder_states.size() / width;
    const bool own = input.encoder_states_mask.empty() && input.mask.size() == rows;
    const std::span<const uint8_t> mask = own ? input.mask : input.encoder_states_mask;
    starts[s] = static_cast<int32_t>(row);
    std::memcpy(states + row * static_cast<int64_t>(width), input.encoder_states.data(),
                input.encoder_states.size_bytes());
    for (size_t i = 0; i < rows; ++i) {
      const bool masked = !mask.empty() && mask[i] == 0;
      masks[row++] = masked ? mask_row : 0;
      batch->has_masks = batch->has_masks || masked;
    }
  }
  starts[batch->sequences] = static_cast<int32_t>(row);
  batch->state_starts = starts;
  batch->state_masks = masks;
}

}  // namespace LINFORMER_NAMESPACE
