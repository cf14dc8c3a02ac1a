// SequenceBatch: the sequences of one call of a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "linformer/session.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

struct SequenceBatchOptions {
  int64_t max_rows = 0;  // 0: as many as the session planned for a call; more are taken for that many
  int64_t pad_to = 0;    // sequences of fewer ids are lengthened with pad_id to this many; 0: none are
  int32_t pad_id = -1;
};

// Copies sequences until a call is full: of ids, or of vectors where the model reads these. Whoever collects them asks
// fits() first, and where it says no runs and clears the batch. Not thread-safe; movable. Knows the limits that the
// session had when the batch was created, and keeps no hold of it.
class SequenceBatch {
 public:
  // Errors: invalid_argument for negative limits and for pad_to without a pad id; out_of_memory.
  static Result<SequenceBatch> create(const Session& session, const SequenceBatchOptions& options = {});

  bool empty() const { return size() == 0; }
  size_t size() const;   // sequences
  int64_t rows() const;  // that they take together
  // Rows that a sequence of `count` ids takes: its pads count, and what the model puts before it.
  int64_t rows_of(size_t count) const;
  // Whether `sequences` more, which take `rows` rows together, are in the limits of one call.
  bool fits(int64_t rows, int64_t sequences = 1) const;

  // `types`: the token type of each id; empty: all 0. A sequence that doesn't fit is taken too: the session says what
  // is wrong with it. Errors: invalid_argument for types of another number than ids; out_of_memory. The batch is then
  // as before.
  Status add(Tokens ids, std::span<const uint8_t> types = {});
  // `count` vectors, row after row. Errors: invalid_argument for fewer floats than vectors; out_of_memory.
  Status add_vectors(std::span<const float> vectors, int64_t count);
  // What Session::run() takes, in the order of the additions. Valid until the next add(), add_vectors() or clear().
  std::span<const Input> inputs();
  // Memory is kept for the next call.
  void clear();

  SequenceBatch(SequenceBatch&&) noexcept;
  SequenceBatch& operator=(SequenceBatch&&) noexcept;
  ~SequenceBatch();

 private:
  struct State;
  explicit SequenceBatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace LINFORMER_NAMESPACE
