#include "linformer/sequence_batch.h"

#include <algorithm>
#include <new>

#include "base/array.h"

namespace LINFORMER_NAMESPACE {

struct SequenceBatch::State {
  struct Sequence {
    size_t start, size;  // A range of `ids` or, if has_ids is false, of `vectors`.
    bool has_ids;
  };
  int64_t max_sequences = 1, max_rows = 1, prefix_rows = 0, pad_to = 0;
  int32_t pad_id = -1;
  int64_t rows = 0;
  Array<Sequence> sequences;
  Array<int32_t> ids;
  Array<uint8_t> types;  // The type of each id.
  Array<float> vectors;
  Array<Input> inputs;  // The result of inputs(), with room for all sequences.

  // Reserves memory for one more sequence, also in `inputs`. Returns false if there is no memory.
  bool make_room() { return sequences.try_reserve(sequences.size() + 1) && inputs.try_reserve(sequences.size() + 1); }
};

SequenceBatch::SequenceBatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
SequenceBatch::SequenceBatch(SequenceBatch&&) noexcept = default;
SequenceBatch& SequenceBatch::operator=(SequenceBatch&&) noexcept = default;
SequenceBatch::~SequenceBatch() = default;

namespace {

Status no_memory_for_sequences() { return Status::error(Code::out_of_memory, "no memory for a batch of sequences"); }

}  // namespace

Result<SequenceBatch> SequenceBatch::create(const Session& session, const SequenceBatchOptions& options) {
  if (options.max_rows < 0 || options.pad_to < 0) {
    return Status::error(Code::invalid_argument, "max_rows %lld, pad_to %lld: give 0 or more",
                         static_cast<long long>(options.max_rows), static_cast<long long>(options.pad_to));
  }
  if (options.pad_to > 0 && options.pad_id < 0) {
    return Status::error(Code::invalid_argument, "pad_to is %lld and there is no pad id: give one",
                         static_cast<long long>(options.pad_to));
  }
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (!state) return no_memory_for_sequences();
  const MemoryOptions& planned = session.plan().options.memory;
  state->max_sequences = planned.max_batch;
  state->max_rows = options.max_rows > 0 ? std::min(options.max_rows, planned.max_rows) : planned.max_rows;
  state->prefix_rows = session.output_rows(0);
  state->pad_to = options.pad_to;
  state->pad_id = options.pad_id;
  return SequenceBatch(std::move(state));
}

size_t SequenceBatch::size() const { return state_->sequences.size(); }
int64_t SequenceBatch::rows() const { return state_->rows; }

int64_t SequenceBatch::rows_of(size_t id_count) const {
  // A larger sequence fits no call, and must not overflow.
  const size_t counted = std::min(id_count, size_t{INT32_MAX});
  return std::max(static_cast<int64_t>(counted), state_->pad_to) + state_->prefix_rows;
}

bool SequenceBatch::fits(int64_t rows, int64_t sequences) const {
  return sequences <= state_->max_sequences - static_cast<int64_t>(size()) && rows <= state_->max_rows - state_->rows;
}

Status SequenceBatch::add(Tokens ids, std::span<const uint8_t> types) {
  State& s = *state_;
  if (!types.empty() && types.size() != ids.size()) {
    return Status::error(Code::invalid_argument,
                         "a sequence has %zu types for %zu ids: give one type for each id, or no types", types.size(),
                         ids.size());
  }
  const size_t start = s.ids.size(), size = std::max(ids.size(), static_cast<size_t>(s.pad_to));
  if (!s.make_room() || !s.ids.try_reserve(start + size) || !s.types.try_reserve(start + size))
    return no_memory_for_sequences();
  // The memory was reserved above, so these calls can't fail halfway and leave a part of the sequence behind.
  if (!s.ids.try_append(ids.data(), ids.size()) || !s.types.try_append(types.data(), types.size()) ||
      !s.types.try_resize(start + size) || !s.sequences.try_push({start, size, true})) {
    return no_memory_for_sequences();
  }
  while (s.ids.size() < start + size) {
    if (!s.ids.try_push(s.pad_id)) return no_memory_for_sequences();
  }
  s.rows += rows_of(ids.size());
  return {};
}

Status SequenceBatch::add_vectors(std::span<const float> vectors, int64_t count) {
  State& s = *state_;
  if (count < 0 || static_cast<uint64_t>(count) > vectors.size()) {
    return Status::error(Code::invalid_argument, "%zu floats are not %lld vectors", vectors.size(),
                         static_cast<long long>(count));
  }
  const size_t start = s.vectors.size();
  if (!s.make_room() || !s.vectors.try_append(vectors.data(), vectors.size()) ||
      !s.sequences.try_push({start, vectors.size(), false})) {
    return no_memory_for_sequences();
  }
  s.rows += count + s.prefix_rows;
  return {};
}

std::span<const Input> SequenceBatch::inputs() {
  State& s = *state_;
  s.inputs.clear();
  for (const State::Sequence& sequence : s.sequences) {
    Input input;
    if (sequence.has_ids) {
      input.tokens = {s.ids.data() + sequence.start, sequence.size};
      input.types = {s.types.data() + sequence.start, sequence.size};
    } else {
      input.vectors = {s.vectors.data() + sequence.start, sequence.size};
    }
    if (!s.inputs.try_push(input)) break;  // Can't fail, because make_room() has reserved the memory.
  }
  return s.inputs.span();
}

void SequenceBatch::clear() {
  state_->sequences.clear();
  state_->ids.clear();
  state_->types.clear();
  state_->vectors.clear();
  state_->rows = 0;
}

}  // namespace LINFORMER_NAMESPACE
