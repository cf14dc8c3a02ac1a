// The base class of MaskFiller and SparseEmbedder. It collects texts in batches, runs them through a masked-LM head,
// and hands out the logits at chosen tokens.
#pragma once

#include "base/array.h"
#include "linformer/masked_lm.h"
#include "linformer/sequence_batch.h"
#include "linformer/text_reader.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The objects that a queue runs texts with.
struct MaskedLmParts {
  std::shared_ptr<const Model> model;
  Session session;
  MaskedLm masked_lm;
  TextReader reader;
  SequenceBatch batch;
  int32_t pad_id = -1;
  bool strips = true;  // The session strips pads, so the queue removes them before the batch.

  int64_t max_batch() const { return session.plan().options.memory.max_batch; }
};

// A text that waits until its batch has been run. Texts with errors wait too, so that all texts are visited in order.
struct QueuedText {
  TextReport report;
  size_t first_position = 0, positions = 0;  // A range of the batch's positions. Empty if the text isn't in the batch.
  size_t first = 0, count = 0;               // A range of a list that the derived class keeps.
};

// A queue of texts for a masked-LM head. Derived classes choose the tokens and use their logits. Not thread-safe.
class MaskedLmQueue {
 public:
  MaskedLmQueue(const MaskedLmQueue&) = delete;
  MaskedLmQueue& operator=(const MaskedLmQueue&) = delete;
  virtual ~MaskedLmQueue() = default;

  // Creates the objects for a queue. If `always_match_mask` is true, the mask token is recognised in texts even if
  // other special tokens are read as plain characters. Errors: those of Session, MaskedLm and TextReader;
  // invalid_argument for a pad_to that doesn't fit the model.
  static Result<MaskedLmParts> create_parts(std::shared_ptr<const Model> model, const TextOptions& texts,
                                            bool always_match_mask);

  // Adds the texts to batches in their order, runs the batches, and visits each text.
  Status run(const TextList& texts, const RunControl& control);

  const MaskedLmParts& parts() const { return parts_; }
  // Returns the largest number of texts that wait in memory at the same time.
  size_t max_waiting_texts() const { return max_waiting_texts_; }

 protected:
  // A token whose logits are wanted.
  struct WantedToken {
    size_t in_sequence;  // The index among the tokens that the reader returned.
    size_t token;        // The index among the tokens that the session keeps.
  };

  // A batch has at most `most_texts` texts and `most_positions` positions. Only a text that is alone in its batch may
  // have more positions.
  MaskedLmQueue(MaskedLmParts parts, size_t most_texts, size_t most_positions);

  // Returns whether the logits at tokens with this id are wanted.
  virtual bool wants_logits_of(int32_t id) const = 0;
  // Sets the report of a text that has no token whose logits are wanted.
  virtual void report_no_wanted_token(TextReport* report) const = 0;
  // Called after a text was added to the batch. `ids` are its tokens in the batch; wanted_tokens() lists the wanted
  // ones.
  virtual Status on_text_added(const TextSequence& sequence, Tokens ids, QueuedText* text) = 0;
  // Called before a batch with this number of positions is run.
  virtual Status on_batch_start(size_t positions) = 0;
  // Called with the logits of each position, in order.
  virtual Status on_logits(size_t position, std::span<const float> logits, QueuedText* text) = 0;
  // Called for each text in order after its batch was run. Returns whether more texts are wanted.
  virtual bool visit(size_t index, const QueuedText& text) = 0;
  // Called when the texts of a batch have been visited and the derived class can release what it keeps of them.
  virtual void on_batch_cleared() = 0;

  std::span<const WantedToken> wanted_tokens() const { return wanted_tokens_.span(); }

  MaskedLmParts parts_;

 private:
  // Reads a text and adds it to the batch. If there is no room for it, the waiting batch is run first. *wants_more
  // becomes false if the visitor wants no more texts.
  Status add_text(const TextInput& input, bool* wants_more);
  Status copy_kept_tokens(const TextSequence& sequence);
  Status add_to_batch(const TextSequence& sequence, QueuedText* text);
  bool is_full() const;
  Status run_batch();
  // Runs the batch and visits the texts that wait.
  Status flush(bool* wants_more);
  void clear();

  size_t most_texts_, most_positions_, max_waiting_texts_;

  // The call in progress.
  RunControl control_;
  size_t visited_ = 0;  // The number of texts that have been visited.
  Array<QueuedText> waiting_;
  Array<MaskPosition> positions_;  // The positions in the batch whose logits are wanted.
  // Buffers for the text that is being added.
  Array<int32_t> kept_ids_;
  Array<uint8_t> kept_types_;
  Array<WantedToken> wanted_tokens_;
};

}  // namespace LINFORMER_NAMESPACE
