#include "commands/compared_model.h"

#include <algorithm>

#include "command_line/errors.h"
#include "models/model_file.h"

namespace linformer::cli {

ComparedModel::ComparedModel(const std::string& path, const CompareFlags& flags)
    : path_(path),
      model_(load_model(path)),
      runner_(make_runner(flags)),
      queue_(
          runner_.texts_at_once(), error_explainer(false),
          [this](std::span<const TextInput> inputs, const TextQueue::Answer& answer) {
            return runner_.run(inputs, answer);
          },
          [this](Job& job, std::span<const float> values) { store_values(static_cast<Compared&>(job), values); }) {}

TextRunner ComparedModel::make_runner(const CompareFlags& flags) {
  require_tokenizer(*model_, path_);
  choose_head(flags.head);
  std::vector<Output> outputs;
  if (has_head()) outputs.push_back(Output::logits({}, head_));
  const ModelInfo info = model_->info();
  const bool own_vector = info.has_embedding && !info.has_decoder;
  outputs.push_back(own_vector ? Output::embeddings({}) : Output::pooled({}, Pooling::mean));
  Result<TextRunner> made = TextRunner::create(model_, outputs, text_options(flags.run, flags.tokens, nullptr));
  if (!made.ok()) throw_creation_error(made.status());
  width_ = static_cast<size_t>(made->columns(outputs.size() - 1));
  return std::move(made.value());
}

void ComparedModel::choose_head(const std::string& name) {
  const auto scores_texts = [](const HeadInfo& head) { return !head.each_token && !head.compares_two; };
  if (name.empty()) {
    const int heads = model_->info().heads;
    int first = 0;
    while (first < heads && !scores_texts(model_->head(first))) ++first;
    if (first == heads) return;
    head_ = first;
    labels_ = output_names(*model_, head_);
    return;
  }
  head_ = find_head(*model_, name);
  const HeadInfo head = model_->head(head_);
  if (!scores_texts(head)) {
    throw UsageError("head '" + std::string(head.name) + "' of " + path_ +
                     (head.each_token ? " scores each token" : " compares two texts") +
                     "; name one that scores a text with --head");
  }
  labels_ = output_names(*model_, head_);
}

void ComparedModel::store_values(Compared& job, std::span<const float> values) {
  if (!values.empty()) {
    const auto vector = values.begin() + static_cast<ptrdiff_t>(labels_.size());
    job.logits.assign(values.begin(), vector);
    job.vector.assign(vector, values.end());
  }
  answers.push_back(
      {job.id_text(), std::move(job.error), job.truncated(), job.truth, std::move(job.logits), std::move(job.vector)});
}

ReferenceRows::ReferenceRows(const std::string& path, const ComparedModel& model) : source_(path), reader_(&source_) {
  const size_t columns = static_cast<size_t>(reader_.columns());
  logits_ = model.has_head() && columns == model.labels().size();
  if (!logits_ && columns != model.vector_width()) {
    throw DataError(path + " has " + std::to_string(columns) + " numbers for a record; " + model.path() + " gives " +
                    (model.has_head() ? std::to_string(model.labels().size()) + " logits and " : "") +
                    std::to_string(model.vector_width()) + " numbers of a vector");
  }
}

Answered ReferenceRows::next(const Answered& model_answer) {
  Answered answer{model_answer.id, "", false, model_answer.truth, {}, {}};
  if (!reader_.next(logits_ ? &answer.logits : &answer.vector)) {
    throw DataError(source_.name() + " has " + std::to_string(reader_.rows()) +
                    " rows; there are more records: give an array with a row for each record");
  }
  return answer;
}

void ReferenceRows::finish() {
  std::vector<float> rest;
  if (reader_.next(&rest)) {
    throw DataError(source_.name() + " has " + std::to_string(reader_.rows()) +
                    " rows; there are fewer records: give the input that the rows were computed from");
  }
}

}  // namespace linformer::cli
