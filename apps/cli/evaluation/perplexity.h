// Measures how well a masked-LM head predicts tokens, summed over texts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/masking.h"
#include "linformer/masked_lm.h"
#include "linformer/sequence_batch.h"

namespace linformer::cli {

// The sums over the tokens that the head predicted.
struct PredictionSums {
  uint64_t tokens = 0, right = 0;  // A token is right if it was the most probable one of the vocabulary.
  double loss = 0;                 // The sum of -log(probability), in nats.

  // These functions return NaN if there are no tokens.
  double mean_loss() const;
  double perplexity() const;
  double accuracy() const;
  void add(const PredictionSums& more);
};

// Computes the masked and the pseudo perplexity of any number of texts. Runs them in batches, as large as the session
// has memory for.
class Perplexity {
 public:
  Perplexity(Session session, const MaskRule& rule, bool masked, bool pseudo);

  // Begins the record `id`. The texts that are added after this call belong to it: its only text, or the windows of its
  // text.
  void begin_record(nlohmann::json id);
  // Adds a text. `ids` must not have pads that the session would remove. Token i is neither masked nor counted if
  // candidates[i] is 0. `dump`, if set, is called with the ids after masking and the positions that were chosen.
  using Dump = std::function<void(std::span<const int32_t> masked_ids, std::span<const int64_t> positions)>;
  void add_text(std::span<const int32_t> ids, std::span<const uint8_t> types, std::span<const uint8_t> candidates,
                const Dump& dump);
  // Runs the texts that are queued. After the call each record was either counted or passed to on_not_finite.
  void finish();

  // Called for each record for which the model gave a number that isn't finite. No token of the record is counted.
  std::function<void(const nlohmann::json& id)> on_not_finite;

  // Returns the sums over the tokens that mask_tokens() chose; all chosen tokens of a text are predicted at once.
  const PredictionSums& masked() const { return masked_; }
  // Returns the sums over all candidates; each is predicted while it alone is masked.
  const PredictionSums& pseudo() const { return pseudo_; }
  // Returns how often add_text() was called: once for a text, or once for each window of a text that is too long.
  uint64_t texts() const { return texts_; }
  const Session& session() const { return session_; }

 private:
  struct Record {
    nlohmann::json id;
    PredictionSums masked, pseudo;
    bool finite = true;
  };
  struct Truth {
    int32_t token;
    bool masked;  // True if the token counts in record->masked, false if it counts in record->pseudo.
    Record* record;
  };

  void enqueue(std::span<const int32_t> masked_ids, std::span<const uint8_t> types, std::span<const int64_t> positions,
               std::span<const int32_t> truth, bool masked);
  void flush();
  void count_finished_records(size_t unfinished);

  Session session_;
  MaskRule rule_;
  bool wants_masked_, wants_pseudo_;
  MaskedLm scores_;
  SequenceBatch batch_;
  std::vector<MaskPosition> positions_;
  std::vector<Truth> truths_;   // One for each element of positions_.
  std::deque<Record> records_;  // The records that are not counted yet. Texts may still be added to the last one.
  PredictionSums masked_, pseudo_;
  uint64_t texts_ = 0;
};

}  // namespace linformer::cli
