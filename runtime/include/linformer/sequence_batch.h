// SequenceBatch: collects the sequences of one call of a session.
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
  // The most rows of a call, up to the number that the session planned for. 0: that number.
  int64_t max_rows = 0;
  int64_t pad_to = 0;  // Sequences of fewer ids are lengthened with pad_id to this many. 0: none is lengthened.
  int32_t pad_id = -1;
};

// Copies sequences, of ids or (if the model reads vectors) of vectors, until a call is full. The caller asks fits()
// before it adds a sequence. If the answer is no, the caller runs the batch and clears it. Not thread-safe; movable. A
// batch copies the limits of the session when it is created, and the session need not live longer.
//
//   if (!batch->fits(batch->rows_of(ids.size()))) {
//     LINFORMER_TRY(session->run(batch->inputs(), outputs));
//     batch->clear();
//   }
//   LINFORMER_TRY(batch->add(ids));
class SequenceBatch {
 public:
  // Returns invalid_argument for negative limits and for pad_to without a pad id, and out_of_memory.
  static Result<SequenceBatch> create(const Session& session, const SequenceBatchOptions& options = {});

  bool empty() const { return size() == 0; }
  size_t size() const;   // The number of sequences.
  int64_t rows() const;  // The rows of all sequences together.
  // Returns the rows of a sequence of `id_count` ids, including its pads and the rows that the model puts before it.
  int64_t rows_of(size_t id_count) const;
  // Returns whether one call has room for `sequences` more sequences of `rows` rows in all.
  bool fits(int64_t rows, int64_t sequences = 1) const;

  // Adds a sequence. `types` is the token type of each id; if it is empty, all types are 0. A sequence that doesn't fit
  // is added, too; Session::run() then returns the error. Returns invalid_argument if the number of types isn't the
  // number of ids, and out_of_memory. After an error the batch is unchanged.
  Status add(Tokens ids, std::span<const uint8_t> types = {});
  // Adds a sequence of `count` vectors, row after row. Returns invalid_argument if `count` is negative or greater
  // than the number of floats, and out_of_memory if there is no memory. Session::run() checks
  // later whether the vectors have the width that the model reads.
  Status add_vectors(std::span<const float> vectors, int64_t count);
  // Returns the inputs for Session::run(), in the order in which they were added. Valid until the next call of add(),
  // add_vectors() or clear().
  std::span<const Input> inputs();
  // Removes all sequences, but keeps the memory for the next call.
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
