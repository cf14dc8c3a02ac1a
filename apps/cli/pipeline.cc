#include "pipeline.h"

#include "errors.h"

namespace linformer::cli {
namespace {

SessionOptions planned(const Model& model, const PipelineOptions& options) {
  SessionOptions session = options.run.session_options(model, 0);
  if (options.sequences.apart) {  // two texts of a record are always in one call
    session.max_batch = std::max<int64_t>(session.max_batch, 2);
    session.max_rows = std::max(session.max_rows, 2 * session.max_tokens);
  }
  return session;
}

}  // namespace

Pipeline::Pipeline(std::shared_ptr<const Model> model, std::optional<Tokenizer> tokenizer,
                   const PipelineOptions& options, Run run, Sink sink)
    : model_(std::move(model)),
      options_(options),
      run_(std::move(run)),
      sink_(std::move(sink)),
      session_(take(Session::create(model_, planned(*model_, options)))),
      batch_(session_) {
  if (tokenizer) sequences_.emplace(*model_, std::move(*tokenizer), options.sequences, session_);
}

int64_t Pipeline::max_tokens() const {
  return sequences_ ? sequences_->max_tokens() : session_.plan().options.max_tokens - session_.output_rows(0);
}

Pipeline::Pending* Pipeline::append(std::unique_ptr<Job> job) {
  pending_.push_back({std::move(job), 0});
  return &pending_.back();
}

void Pipeline::add(std::unique_ptr<Job> given, std::string_view text, const std::optional<std::string>& pair) {
  Pending* pending = append(std::move(given));
  Job& job = *pending->job;
  if (job.error.empty()) {
    job.error = sequences_->read(text, pair);
    if (job.error.empty()) {
      job.tokens = sequences_->tokens();
      job.total_tokens = sequences_->total_tokens();
      job.windows = sequences_->windows();
      pending->left = options_.sequences.apart ? 2 : job.windows;
      if (options_.sequences.apart) make_room(static_cast<size_t>(job.tokens + 2 * options_.run.pad_to), 2);
      sequences_->for_each([&](const Sequence& sequence) { enqueue(pending, sequence); });
    }
  }
  settle();
}

void Pipeline::add_vectors(std::unique_ptr<Job> given, std::span<const float> values, int64_t count) {
  Pending* pending = append(std::move(given));
  Job& job = *pending->job;
  if (job.error.empty()) {
    job.tokens = job.total_tokens = count;
    pending->left = 1;
    make_room(static_cast<size_t>(count), 1);
    batch_.add_vectors(values, count);
    owners_.push_back(pending);
  }
  settle();
}

void Pipeline::make_room(size_t tokens, int64_t texts) {
  if (!batch_.empty() && !batch_.fits(tokens, texts)) run_batch();
}

void Pipeline::enqueue(Pending* pending, const Sequence& sequence) {
  ids_.assign(sequence.ids.begin(), sequence.ids.end());
  options_.run.pad(*model_, &ids_);
  types_.assign(sequence.types.begin(), sequence.types.end());
  types_.resize(ids_.size());
  // Two texts of a record are in one call: add() made room for both.
  if (!options_.sequences.apart) make_room(ids_.size(), 1);
  batch_.add(ids_, types_);
  owners_.push_back(pending);
}

void Pipeline::settle() {
  if (!batch_.empty() && !batch_.fits(1)) run_batch();
  // Bad records fill no batch, and must not pile up behind one either.
  if (pending_.size() >= static_cast<size_t>(2 * options_.run.batch)) flush();
  deliver();
}

void Pipeline::flush() {
  if (!batch_.empty()) run_batch();
  deliver();
}

void Pipeline::run_batch() {
  jobs_.clear();
  for (const Pending* owner : owners_) jobs_.push_back(owner->job.get());
  run_(&session_, batch_.inputs(), jobs_);
  for (Pending* owner : owners_) --owner->left;
  owners_.clear();
  batch_.clear();
  deliver();
}

void Pipeline::deliver() {
  while (!pending_.empty() && pending_.front().left == 0) {
    sink_(*pending_.front().job);
    pending_.pop_front();
  }
}

}  // namespace linformer::cli
