#include "classifier.h"

#include <cmath>

#include "errors.h"

namespace linformer::cli {
namespace {

SessionOptions planned(const Model& model, const RunFlags& run) { return run.session_options(model, 0); }

}  // namespace

Classifier::Classifier(std::shared_ptr<const Model> model, Tokenizer tokenizer, const ClassifierOptions& options,
                       Sink sink)
    : model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      options_(options),
      sink_(std::move(sink)),
      session_(take(Session::create(model_, planned(*model_, options.run)))),
      max_tokens_(session_.plan().options.max_tokens),
      classes_(class_labels(*model_, options.head).size()),
      batch_(session_.plan().options.max_batch, session_.plan().options.max_rows) {
  const int64_t room = max_tokens_ - tokenizer_.template_tokens(false);
  if (room < 1) {
    throw UsageError("--max-tokens " + std::to_string(max_tokens_) + " leaves no room for a text; raise it");
  }
  if (options_.overlap < 0) options_.overlap = room / 4;
  if (options_.overlap >= room) {
    throw UsageError("--overlap " + std::to_string(options_.overlap) + " is not less than a window's " +
                     std::to_string(room) + " tokens; lower it");
  }
  options_.tokens.truncation = options_.on_long == OnLong::truncate ? Truncation::longest_first : Truncation::none;
  // With Truncation::none the length of a window; nothing is cut then.
  options_.tokens.max_length = max_tokens_;
}

void Classifier::add(Answer answer, std::string_view text, const std::optional<std::string>& pair) {
  pending_.push_back({std::move(answer), 0});
  Pending* pending = &pending_.back();
  Answer& result = pending->answer;
  if (result.error.empty()) {
    const Status encoded = pair ? tokenizer_.encode(text, *pair, options_.tokens, &encoding_)
                                : tokenizer_.encode(text, options_.tokens, &encoding_);
    if (!encoded.ok()) {
      result.error = encoded.message();
    } else {
      result.tokens = static_cast<int64_t>(encoding_.ids().size());
      result.total_tokens = encoding_.total_tokens();
      result.error = unusable(encoding_.ids());
      if (result.error.empty() && result.tokens <= max_tokens_) {
        pending->windows_left = 1;
        enqueue(pending);
      } else if (result.error.empty() && options_.on_long == OnLong::window && !pair) {
        add_windows(pending, text);
      } else if (result.error.empty()) {
        result.error = "the text has " + std::to_string(result.tokens) + " tokens and at most " +
                       std::to_string(max_tokens_) + " are read; " +
                       (options_.on_long == OnLong::window ? "pairs can't be read in windows: use --on-long truncate"
                                                           : "use --on-long truncate or window");
      }
    }
  }
  // Bad records fill no batch, and must not pile up behind one either.
  if (pending_.size() >= static_cast<size_t>(2 * options_.run.batch)) flush();
  deliver();
}

// Why the session would refuse `ids`, or nothing.
std::string Classifier::unusable(std::span<const int32_t> ids) const {
  const EncoderDescription& encoder = model_->description().encoder;
  const bool strip = session_.plan().options.padding == Padding::strip;
  bool any = false;
  for (const int32_t id : ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= encoder.vocab_size) {
      return "the tokenizer gives id " + std::to_string(id) + ", which the model's vocabulary of " +
             std::to_string(encoder.vocab_size) + " lacks; convert the model with its own tokenizer";
    }
    any = any || !strip || id != encoder.pad_id;
  }
  return any ? "" : "the text has no tokens";
}

void Classifier::add_windows(Pending* pending, std::string_view text) {
  const int64_t room = max_tokens_ - tokenizer_.template_tokens(false);
  const int64_t content = pending->answer.total_tokens - tokenizer_.template_tokens(false);
  const int64_t step = room - options_.overlap;
  // The last window begins where it reaches the end: a short one would weigh a few words like a whole window.
  const int64_t windows = (content - room + step - 1) / step + 1;
  pending->windows_left = pending->answer.windows = windows;
  for (int64_t w = 0; w < windows; ++w) {
    const int64_t first = std::min(w * step, content - room);
    check(tokenizer_.encode_window(text, options_.tokens, first, &encoding_));
    enqueue(pending);
  }
}

// Queues what `encoding_` holds.
void Classifier::enqueue(Pending* pending) {
  ids_.assign(encoding_.ids().begin(), encoding_.ids().end());
  options_.run.pad(*model_, &ids_);
  if (!batch_.empty() && !batch_.fits(ids_.size())) run_batch();
  batch_.add(ids_);
  owners_.push_back(pending);
  if (!batch_.fits(1)) run_batch();
}

void Classifier::flush() {
  if (!batch_.empty()) run_batch();
  deliver();
}

void Classifier::run_batch() {
  const std::span<const Tokens> texts = batch_.texts();
  logits_.resize(texts.size() * classes_);
  probabilities_.resize(logits_.size());
  Outputs outputs;
  outputs.head = options_.head;
  outputs.logits = logits_;
  outputs.probabilities = probabilities_;
  check(session_.run(texts, outputs));
  for (size_t t = 0; t < owners_.size(); ++t) {
    Answer& answer = owners_[t]->answer;
    answer.logits.resize(classes_);
    answer.probabilities.resize(classes_);
    const float share = 1.f / static_cast<float>(answer.windows);
    for (size_t c = 0; c < classes_; ++c) {
      const float logit = logits_[t * classes_ + c], probability = probabilities_[t * classes_ + c];
      if (!std::isfinite(logit) || !std::isfinite(probability)) {
        answer.error = "the model gave a number that is not finite; check its weights";
      }
      answer.logits[c] += answer.windows == 1 ? logit : share * logit;
      answer.probabilities[c] += answer.windows == 1 ? probability : share * probability;
    }
    --owners_[t]->windows_left;
  }
  owners_.clear();
  batch_.clear();
  deliver();
}

void Classifier::deliver() {
  while (!pending_.empty() && pending_.front().windows_left == 0) {
    sink_(pending_.front().answer);
    pending_.pop_front();
  }
}

}  // namespace linformer::cli
