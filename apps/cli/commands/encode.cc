#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>

#include "answers/notes.h"
#include "answers/output.h"
#include "answers/progress.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/encode_flags.h"
#include "files/atomic_file.h"
#include "files/terminal_output.h"
#include "input/npy.h"
#include "input/record_loop.h"
#include "input/token_rows.h"
#include "inspect/profile.h"
#include "linformer/masked_lm.h"
#include "linformer/sequence_batch.h"
#include "models/heads.h"
#include "models/model_file.h"
#include "models/text_queue.h"

namespace linformer::cli {
namespace {

// A text may have more tokens than the model's limit if some of them are pads that are removed. Its length with pads is
// at most this multiple of the limit, because the output has a row for each token, pads included, of the longest text.
constexpr int64_t padded_lengths = 4;

enum class What { hidden, pooled, embedding, logits, mlm };

struct Wanted {
  What what = What::hidden;
  int hidden_layer = -1;
  int head = 0;                         // For logits: the index of the head.
  std::optional<Pooling> pooling = {};  // For pooled: the pooling, if it is not the model's default.
  bool per_token = false;               // The output is [texts, tokens, width] instead of [texts, width].
  bool two = false;                     // Each row of the output is for two texts.
};

Wanted parse_what(const std::string& text, const EncodeFlags& flags, const Model& model) {
  const ModelInfo info = model.info();
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), detail = colon == std::string::npos ? "" : text.substr(colon + 1);
  Wanted wanted;
  if (colon != std::string::npos && detail.empty())
    throw UsageError("--what " + text + ": there is nothing after the colon");
  if (kind == "hidden") {
    wanted.per_token = true;
    if (!detail.empty()) {
      const auto [end, error] = std::from_chars(detail.data(), detail.data() + detail.size(), wanted.hidden_layer);
      if (error != std::errc() || end != detail.data() + detail.size() || wanted.hidden_layer < 0 ||
          wanted.hidden_layer > info.layers) {
        throw UsageError("--what " + text + ": give a layer from 0 (the embedding) to " + std::to_string(info.layers));
      }
    }
  } else if (kind == "pooled") {
    wanted.what = What::pooled;
    if (!detail.empty()) {
      const Pooling pooling = model.head(find_head(model, detail)).pooling;
      wanted.pooling = pooling == Pooling::none ? Pooling::first_token : pooling;
    }
  } else if (kind == "logits") {
    wanted.what = What::logits;
    wanted.head = find_head(model, detail);
    const HeadInfo head = model.head(wanted.head);
    wanted.per_token = head.each_token;
    wanted.two = head.compares_two;
  } else if (kind == "embedding" && detail.empty()) {
    if (!info.has_embedding) {
      throw DataError("this model doesn't say how its texts are embedded; use --what pooled, or 'linformer embed'");
    }
    wanted.what = What::embedding;
  } else if (kind == "mlm" && detail.empty()) {
    require_masked_lm(model, flags.model);
    wanted.what = What::mlm;
    wanted.per_token = true;
  } else {
    throw UsageError("--what " + text + ": use hidden, hidden:LAYER, pooled, embedding, logits, logits:HEAD or mlm");
  }
  return wanted;
}

class Encode {
 public:
  explicit Encode(const EncodeFlags& flags)
      : flags_(flags), model_(load_model(flags.model)), wanted_(parse_what(flags.what, flags, *model_)) {}

  int operator()() {
    // The options are checked here, so that a wrong one is reported before a long input is read.
    const Result<Plan> planned = plan(*model_, flags_.run.session_options(*model_, 0));
    if (planned.status().code() == Code::invalid_argument) throw_creation_error(planned.status());
    if (flags_.vectors.empty()) {
      run_tokens();
    } else {
      run_vectors(flags_.run.max_tokens > 0 ? flags_.run.max_tokens : model_->info().max_tokens);
    }
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  void run_tokens() {
    read_rows();
    start(longest_kept_, static_cast<int64_t>(rows_.size()));
    const size_t step = texts_per_record();
    for (size_t i = 0; i < rows_.size(); i += step) {
      int64_t rows = 0;
      for (size_t j = i; j < i + step; ++j) rows += batch_->rows_of(rows_[j].size());
      if (!batch_->empty() && !batch_->fits(rows, static_cast<int64_t>(step))) run_batch();
      for (size_t j = i; j < i + step; ++j) check(batch_->add(rows_[j], rows_.types(j)));
    }
    finish();
  }

  void run_vectors(int64_t limit) {
    require_vectors(*model_, flags_.model);
    ByteSource source(flags_.vectors);
    NpyVectorReader reader(&source, model_->info().vector_width);
    check_vector_count(reader, limit - model_->info().prefix_rows);
    const int64_t items = flags_.input.limit > 0 ? std::min(reader.items(), most_texts()) : reader.items();
    if (wanted_.two && items % 2 != 0) throw odd_number();
    longest_ = items == 0 ? 0 : reader.vectors() + model_->info().prefix_rows;
    start(longest_, items);
    std::vector<float> values;
    const int64_t step = static_cast<int64_t>(texts_per_record()),
                  rows = step * session_->output_rows(reader.vectors());
    for (int64_t i = 0; (flags_.input.limit == 0 || i < items) && reader.next(&values); ++i) {
      const bool begins = static_cast<int64_t>(batch_->size()) % step == 0;
      if (begins && !batch_->empty() && !batch_->fits(rows, step)) run_batch();
      check(batch_->add_vectors(values, reader.vectors()));
    }
    finish();
  }

  DataError odd_number() const {
    return DataError("head '" + std::string(model_->head(wanted_.head).name) +
                     "' compares two texts, and the number of texts is odd");
  }

  void read_rows() {
    const ModelInfo info = model_->info();
    const int64_t limit = flags_.run.max_tokens > 0 ? flags_.run.max_tokens : info.max_tokens;
    require_tokens(*model_, flags_.model);
    if (!flags_.ids.empty()) {
      rows_ = read_ids(flags_.ids, *model_, flags_.input.max_line_bytes, static_cast<uint64_t>(most_texts()));
    } else {
      uint64_t cut = 0;
      const Tokenizer tokenizer = load_tokenizer(model_, flags_.model);
      TextRowOptions options;
      options.tokens = flags_.tokens.options();
      options.max_tokens = limit - model_->info().prefix_rows;
      options.allow_cut = flags_.on_long == "truncate";
      options.apart = wanted_.two;
      rows_ = read_texts(flags_.input, options, *model_, tokenizer, &cut);
      if (cut > 0) {
        note(grouped(cut) + " of " + grouped(rows_.size()) + " texts cut to " + std::to_string(options.max_tokens) +
             " tokens");
      }
    }
    if (wanted_.two && rows_.size() % 2 != 0) throw odd_number();
    if (flags_.run.padding == "strip" && !rows_.rectangular) rows_.remove(info.pad_id);
    const int64_t most = limit - model_->info().prefix_rows;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t given = std::max<int64_t>(static_cast<int64_t>(rows_[i].size()), flags_.run.pad_to);
      const int64_t kept = kept_tokens(rows_[i], given);
      const std::string place = "text " + std::to_string(i + 1);
      if (kept == 0) throw DataError(place + " has no tokens; leave it out");
      const int64_t padded_limit = padded_lengths * info.max_tokens;
      if (wanted_.per_token && given + model_->info().prefix_rows > padded_limit) {
        throw DataError(place + " has " + std::to_string(given) + " tokens with its pads, and at most " +
                        std::to_string(padded_limit) + " are allowed, " + std::to_string(padded_lengths) +
                        " times the model's limit; remove pads");
      }
      if (kept > most) {
        const std::string more =
            limit < info.max_tokens ? " or raise --max-tokens up to " + std::to_string(info.max_tokens) : "";
        throw DataError(place + " has " + std::to_string(kept) + " tokens and at most " + std::to_string(most) +
                        " are read; cut it" + more);
      }
      longest_ = std::max(longest_, given + model_->info().prefix_rows);
      longest_kept_ = std::max(longest_kept_, kept + model_->info().prefix_rows);
    }
  }

  int64_t kept_tokens(std::span<const int32_t> ids, int64_t given) const {
    const int32_t pad = model_->info().pad_id;
    if (flags_.run.padding == "keep" || pad < 0) return given;
    return std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return id != pad; });
  }

  // Creates the session, the batch and the output file. `longest` is the number of rows of the longest text, without
  // pads that are removed.
  void start(int64_t longest, int64_t texts) {
    SessionOptions options = flags_.run.session_options(*model_, longest);
    if (wanted_.two) {
      options.memory.max_batch = std::max<int64_t>(options.memory.max_batch, 2);
      options.memory.max_rows = std::max(options.memory.max_rows, 2 * options.memory.max_tokens);
    }
    session_.emplace(value_or_throw(Session::create(model_, options)));
    progress_.emplace(true);
    // The shape is asked for two texts, because a head may compare two.
    width_ = value_or_throw(session_->shape(output({}), 2, 2)).columns;
    SequenceBatchOptions limits;
    limits.pad_to = flags_.run.pad_to;
    limits.pad_id = model_->info().pad_id;
    if (wanted_.what == What::mlm) {
      masked_lm_.emplace(value_or_throw(MaskedLm::create(*session_)));
      limits.max_rows = masked_lm_->positions_at_once();
    }
    batch_.emplace(value_or_throw(SequenceBatch::create(*session_, limits)));
    texts_ = texts;
    file_.emplace(flags_.output);
    const int64_t items = texts / static_cast<int64_t>(texts_per_record());
    tally_.records = static_cast<uint64_t>(items);
    const int64_t flat[] = {items, width_}, deep[] = {items, longest_, width_};
    const std::string header = wanted_.per_token ? npy_float_header(deep) : npy_float_header(flat);
    file_->append(header);
  }

  Output output(std::span<float> values) const {
    switch (wanted_.what) {
      case What::pooled:
        return Output::pooled(values, wanted_.pooling);
      case What::embedding:
        return Output::embeddings(values);
      case What::logits:
        return Output::logits(values, wanted_.head);
      case What::mlm:
        return Output::masked_lm(values, {});
      default:
        return Output::hidden(values, wanted_.hidden_layer);
    }
  }

  void finish() {
    if (!batch_->empty()) run_batch();
    file_->commit();
    progress_->clear();
    tally_.print_summary(0, "");
    report_profile(*session_, false);
  }

  void run_batch() {
    const std::span<const Input> inputs = batch_->inputs();
    if (wanted_.what == What::mlm) {
      run_mlm(inputs);
    } else {
      run_others(inputs);
    }
    done_ += inputs.size();
    for (size_t i = 0; i < inputs.size() / texts_per_record(); ++i) Tally::count_answered();
    standard_output().flush();
    progress_->update(done_, done_, static_cast<uint64_t>(texts_));
    batch_->clear();
  }

  // Returns the number of rows that a text of the batch has in the session's outputs.
  int64_t rows_of(const Input& input) const {
    const size_t count = input.vectors.empty()
                             ? input.tokens.size()
                             : input.vectors.size() / static_cast<size_t>(model_->info().vector_width);
    return session_->output_rows(static_cast<int64_t>(count));
  }

  void run_others(std::span<const Input> inputs) {
    values_.resize(static_cast<size_t>(value_or_throw(session_->shape(output({}), inputs)).floats()));
    check(session_->run(inputs, output(values_)));
    if (!wanted_.per_token) {
      const size_t width = static_cast<size_t>(width_);
      for (size_t i = 0; i < values_.size() / width; ++i) {
        report_if_not_finite(i * texts_per_record(), std::span(values_).subspan(i * width, width));
      }
      return file_->append(std::as_bytes(std::span(values_)));
    }
    std::span<const float> rest = values_;
    for (size_t t = 0; t < inputs.size(); ++t) {
      const int64_t length = rows_of(inputs[t]);
      const std::span<const float> rows = rest.first(static_cast<size_t>(length * width_));
      report_if_not_finite(t, rows);
      file_->append(std::as_bytes(rows));
      write_zeros(longest_ - length);
      rest = rest.subspan(rows.size());
    }
  }

  // Writes the logits of the masked-LM head at every position that is not a removed pad.
  void run_mlm(std::span<const Input> inputs) {
    std::vector<MaskPosition> positions;
    for (size_t t = 0; t < inputs.size(); ++t) {
      const Tokens ids = inputs[t].tokens;  // Only models that read tokens have a masked-LM head.
      const int64_t kept = session_->output_rows(kept_tokens(ids, static_cast<int64_t>(ids.size())));
      for (int64_t p = 0; p < kept; ++p) positions.push_back({static_cast<int64_t>(t), p});
    }
    std::exception_ptr thrown;  // No exception may pass through the library, so it is thrown after the call.
    check(masked_lm_->run(&*session_, inputs, positions, [&](size_t i, std::span<const float> logits) {
      try {
        report_if_not_finite(static_cast<size_t>(positions[i].sequence), logits);
        file_->append(std::as_bytes(logits));
        const bool last = i + 1 == positions.size() || positions[i + 1].sequence != positions[i].sequence;
        if (last) write_zeros(longest_ - positions[i].position - 1);
      } catch (...) {
        thrown = std::current_exception();
      }
      return thrown == nullptr;
    }));
    if (thrown) std::rethrow_exception(thrown);
  }

  // Reports a record if one of its numbers is not finite. `text` is the index of a text of the record in the batch. The
  // record is written unchanged, and reported only once.
  void report_if_not_finite(size_t text, std::span<const float> numbers) {
    if (std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); })) return;
    const uint64_t record = (done_ + text) / texts_per_record() + 1;
    if (record == bad_record_) return;
    bad_record_ = record;
    ++tally_.errors;
    tally_.report(record, not_finite, false, &*progress_);
  }

  // Returns the greatest number of texts that --limit allows.
  int64_t most_texts() const {
    const uint64_t each = texts_per_record();
    return static_cast<int64_t>(std::min(flags_.input.limit, uint64_t{INT64_MAX} / each) * each);
  }
  // Returns the number of texts in a record.
  size_t texts_per_record() const { return wanted_.two ? 2 : 1; }

  void write_zeros(int64_t rows) { file_->append_zeros(static_cast<uint64_t>(rows * width_) * sizeof(float)); }

  const EncodeFlags& flags_;
  std::shared_ptr<const Model> model_;
  Wanted wanted_;
  TokenRows rows_;
  // The number of rows of the longest text. longest_ counts pads that are removed, because the output has rows for
  // them. longest_kept_ does not count them, because they are removed before the model runs.
  int64_t longest_ = 0, longest_kept_ = 0;
  int64_t width_ = 0, texts_ = 0;
  uint64_t done_ = 0;        // The number of texts in earlier batches.
  uint64_t bad_record_ = 0;  // The last record that was reported, from 1; 0 if there is none.
  Tally tally_;
  std::optional<Progress> progress_;  // Empty before start().
  std::optional<Session> session_;
  std::optional<SequenceBatch> batch_;
  std::optional<MaskedLm> masked_lm_;
  std::optional<files::AtomicFile> file_;
  std::vector<float> values_;
};

}  // namespace

void add_encode(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("encode", "Save hidden states, pooled vectors or logits as an npy array");
  auto flags = std::make_shared<EncodeFlags>();
  flags->add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      if (flags->ids.empty() && flags->vectors.empty()) flags->input.use_piped_input();
      flags->check();
      return Encode(*flags)();
    };
  });
}

}  // namespace linformer::cli
