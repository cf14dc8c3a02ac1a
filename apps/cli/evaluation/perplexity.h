// How well a masked-LM head foretells tokens: sums over texts.
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

// Of tokens that were foretold from their row.
struct Foretold {
  uint64_t tokens = 0, right = 0;  // right: the token was the likeliest of the vocabulary
  double loss = 0;                 // sum of -log(probability), in nats

  // NaN without tokens.
  double mean_loss() const;
  double perplexity() const;
  double accuracy() const;
  void add(const Foretold& more);
};

// Both measures of any number of texts, run in batches that the session's plan holds.
class Perplexity {
 public:
  Perplexity(Session session, const MaskRule& rule, bool masked, bool pseudo);

  // Begins record `id`, to which the texts belong that are added from now on: its only text, or the windows of it.
  void begin(nlohmann::json id);
  // A text of ids without pads that the session strips. `candidates[i]` 0: token i is neither masked nor counted.
  // `dump` is told what was put in place of `ids`, and where.
  using Dump = std::function<void(std::span<const int32_t> masked_ids, std::span<const int64_t> positions)>;
  void add(std::span<const int32_t> ids, std::span<const uint8_t> types, std::span<const uint8_t> candidates,
           const Dump& dump);
  // Runs what is queued. Afterwards each record is either counted or was passed to on_not_finite.
  void finish();

  // Called for each record for which the model gave a number that isn't finite. None of its tokens are counted.
  std::function<void(const nlohmann::json& id)> on_not_finite;

  const Foretold& masked() const { return masked_; }  // as masking.h chooses, all of a text's at once
  const Foretold& pseudo() const { return pseudo_; }  // each token masked alone
  uint64_t texts() const { return texts_; }
  const Session& session() const { return session_; }

 private:
  struct Record {
    nlohmann::json id;
    Foretold masked, pseudo;
    bool finite = true;
  };
  struct Truth {
    int32_t token;
    bool masked;  // whether it counts in record->masked or in record->pseudo
    Record* record;
  };

  void enqueue(std::span<const int32_t> changed, std::span<const uint8_t> types, std::span<const int64_t> positions,
               std::span<const int32_t> truth, bool masked);
  void flush();
  void count_finished(size_t open);

  Session session_;
  MaskRule rule_;
  bool wants_masked_, wants_pseudo_;
  MaskedLm scores_;
  SequenceBatch batch_;
  std::vector<MaskPosition> positions_;
  std::vector<Truth> truths_;   // of each position
  std::deque<Record> records_;  // not counted yet; texts may still be added to the last
  Foretold masked_, pseudo_;
  uint64_t texts_ = 0;
};

}  // namespace linformer::cli
