// Texts that wait for one run of a masked-LM head, and its logits at the tokens that are asked for: what MaskFiller and
// SparseEmbedder have in common.
#pragma once

#include "base/array.h"
#include "linformer/masked_lm.h"
#include "linformer/sequence_batch.h"
#include "linformer/text_reader.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What a queue runs texts with. Pads that the session strips are taken out before.
struct MaskedLmParts {
  std::shared_ptr<const Model> model;
  Session session;
  MaskedLm masked_lm;
  TextReader reader;
  SequenceBatch batch;
  int32_t pad_id = -1;
  bool strips = true;

  int64_t max_batch() const { return session.plan().options.memory.max_batch; }
};

// A text that waits for its batch. Bad ones keep their place.
struct QueuedText {
  TextReport report;
  size_t first_position = 0, positions = 0;  // of the batch's; 0: it is not in the batch
  size_t first = 0, count = 0;               // of what the queue's owner keeps of it, in a list of his own
};

// Derived classes say which tokens are asked for and what is made of their logits. One call at a time.
class MaskedLmQueue {
 public:
  MaskedLmQueue(const MaskedLmQueue&) = delete;
  MaskedLmQueue& operator=(const MaskedLmQueue&) = delete;
  virtual ~MaskedLmQueue() = default;

  // `masks_in_texts`: the mask is a mask in a text even where other special tokens are plain characters. Errors: those
  // of Session, MaskedLm and TextReader; invalid_argument for a pad_to that doesn't fit the model.
  static Result<MaskedLmParts> create_parts(std::shared_ptr<const Model> model, const TextOptions& texts,
                                            bool masks_in_texts);

  // Takes the texts in their order into batches, runs these, and visits each text.
  Status run(const TextList& texts, const RunControl& control);

  const MaskedLmParts& parts() const { return parts_; }
  size_t most_waiting() const { return most_waiting_; }

 protected:
  // What a token is whose logits are asked for.
  struct Asked {
    size_t in_sequence;  // its index among the tokens that the reader gave
    size_t token;        // among those that the session keeps
  };

  // Batches of at most `most_texts` texts; a text that by itself has more than `most_positions` is alone in its batch.
  MaskedLmQueue(MaskedLmParts parts, size_t most_texts, size_t most_positions);

  virtual bool asks(int32_t id) const = 0;
  // Of a text without a token that is asked for.
  virtual void report_none(TextReport* report) const = 0;
  // The text is in the batch, with `ids` and the tokens asked().
  virtual Status took(const TextSequence& sequence, Tokens ids, QueuedText* text) = 0;
  // Before the batch runs, which has so many positions.
  virtual Status start(size_t positions) = 0;
  // In the order of the positions.
  virtual Status take(size_t position, std::span<const float> logits, QueuedText* text) = 0;
  // Returns whether more texts are wanted.
  virtual bool visit(size_t index, const QueuedText& text) = 0;
  // What was kept of texts is no longer needed.
  virtual void forget() = 0;

  std::span<const Asked> asked() const { return asked_.span(); }

  MaskedLmParts parts_;

 private:
  // Reads a text; runs what waits before it where there is no room for both. *wanted: whether the visitor wants more.
  Status add(const TextInput& input, bool* wanted);
  Status keep(const TextSequence& sequence);
  Status put(const TextSequence& sequence, QueuedText* text);
  bool is_full() const;
  Status run_batch();
  // Runs what waits, and visits it.
  Status flush(bool* wanted);
  void clear();

  size_t most_texts_, most_positions_, most_waiting_;

  // The call in progress.
  RunControl control_;
  size_t visited_ = 0;  // texts
  Array<QueuedText> waiting_;
  Array<MaskPosition> positions_;  // in the batch
  // Of the text that is being added.
  Array<int32_t> kept_ids_;
  Array<uint8_t> kept_types_;
  Array<Asked> asked_;
};

}  // namespace LINFORMER_NAMESPACE
