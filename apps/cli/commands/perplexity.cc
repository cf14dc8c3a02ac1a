#include "evaluation/perplexity.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>

#include "answers/output.h"
#include "command_line/display.h"
#include "command_line/errors.h"
#include "commands/commands.h"
#include "commands/flags/input_flags.h"
#include "commands/flags/run_flags.h"
#include "commands/flags/text_flags.h"
#include "files/atomic_file.h"
#include "input/record_loop.h"
#include "input/token_rows.h"
#include "linformer/text_reader.h"
#include "models/model_file.h"
#include "models/text_queue.h"

namespace linformer::cli {
namespace {

struct PerplexityFlags {
  std::string model, ids, mode = "mlm", dump;
  InputFlags input;
  TokenFlags tokens;
  LongFlags longer;
  RunFlags run;
  uint64_t seed = 0;
  double rate = 0.15;
  int32_t mask_id = -1;
  bool json = false;
};

MaskRule rule_of(const Model& model, const PerplexityFlags& flags) {
  const ModelInfo info = model.info();
  MaskRule rule;
  rule.seed = flags.seed;
  rule.rate = flags.rate;
  rule.mask_id = flags.mask_id >= 0 ? flags.mask_id : info.mask_id;
  rule.pad_id = info.pad_id;
  rule.vocabulary = static_cast<uint32_t>(info.vocabulary);
  if (rule.mask_id < 0) {
    throw DataError(flags.model + ": this model's file names no mask token; give its id with --mask-id");
  }
  if (static_cast<uint32_t>(rule.mask_id) >= rule.vocabulary) {
    throw UsageError("--mask-id " + std::to_string(rule.mask_id) + " is outside the vocabulary of " +
                     std::to_string(rule.vocabulary));
  }
  return rule;
}

class PerplexityCommand {
 public:
  explicit PerplexityCommand(const PerplexityFlags& flags)
      : flags_(flags),
        fields_(flags.input.fields("")),
        model_(checked_model(flags.model)),
        rule_(rule_of(*model_, flags)),
        sums_(session_of(flags), rule_, flags.mode != "pseudo", flags.mode != "mlm"),
        progress_(true) {
    if (!flags.dump.empty()) dump_.emplace(flags.dump);
    sums_.on_not_finite = [this](const nlohmann::json& id) {
      ++tally_.errors;
      tally_.report(id, not_finite, false, &progress_);
    };
  }

  int operator()() {
    if (flags_.ids.empty()) {
      read_texts();
    } else {
      read_id_rows();
    }
    sums_.finish();
    progress_.clear();
    if (dump_) dump_->commit();
    print();
    tally_.print_summary(longest_, flags_.json ? "" : "--on-long window reads all of a text");
    return tally_.errors > 0 ? exit_data : exit_ok;
  }

 private:
  Session session_of(const PerplexityFlags& flags) const {
    Result<Session> made = Session::create(model_, flags.run.session_options(*model_, 0));
    if (!made.ok()) throw_creation_error(made.status());
    return std::move(*made);
  }
  static std::shared_ptr<const Model> checked_model(const std::string& path) {
    std::shared_ptr<const Model> model = load_model(path);
    require_masked_lm(*model, path);
    require_tokens(*model, path);
    return model;
  }

  void read_texts() {
    require_tokenizer(*model_, flags_.model);
    const TextOptions texts = text_options(flags_.run, flags_.tokens, &flags_.longer);
    Result<TextReader> made = TextReader::create(model_, {.texts = texts, .session = &sums_.session()});
    if (!made.ok()) throw_creation_error(made.status());
    TextReader& reader = *made;
    longest_ = reader.max_tokens();
    RecordLoop loop;
    loop.visit = [&](Record& record) {
      ++tally_.records;
      id_ = id_of_answer(&record, tally_.records, flags_.input);
      TextReport report;
      if (record.error.empty()) {
        TextInput input{record.text, {}, {}};
        if (record.pair) input.pair = *record.pair;
        if (!reader.read(input, &report).ok())
          record.error = error_message_of(report, flags_.longer.value() != OnLong::window);
      }
      if (!record.error.empty()) {
        ++tally_.errors;
        Tally::count_answered();
        return tally_.report(id_, record.error, false, &progress_);
      }
      tally_.cut += report.truncated() ? 1 : 0;
      sums_.begin_record(id_);
      std::array<int64_t, 2> counted{};  // The number of tokens of each text that were in earlier windows.
      for (int64_t window = 0; window < report.windows; ++window) {
        const TextSequence sequence = value_or_throw(reader.sequence(window));
        ids_.assign(sequence.ids.begin(), sequence.ids.end());
        types_.assign(sequence.types.begin(), sequence.types.end());
        candidates_.assign(ids_.size(), 0);
        std::array<int64_t, 2> next = sequence.first;
        for (size_t i = 0; i < ids_.size(); ++i) {
          if (sequence.texts[i] < 0) continue;
          const auto text = static_cast<size_t>(sequence.texts[i]);
          candidates_[i] = next[text]++ >= counted[text];
        }
        counted = next;
        add();
      }
    };
    loop.progress = &progress_;
    loop.run(flags_.input, fields_);
  }

  void read_id_rows() {
    const TokenRows rows = read_ids(flags_.ids, *model_, flags_.input.max_line_bytes, flags_.input.limit);
    const TokenizerInfo tokenizer = model_->tokenizer();
    for (size_t r = 0; r < rows.size(); ++r) {
      id_ = ++tally_.records;
      ids_.assign(rows[r].begin(), rows[r].end());
      types_.clear();
      candidates_.clear();
      for (const int32_t id : ids_) candidates_.push_back(id < 0 || (id != tokenizer.bos_id && id != tokenizer.eos_id));
      sums_.begin_record(id_);
      add();
      progress_.update(r + 1, r + 1, rows.size());
    }
  }

  // Masks and predicts tokens of the text whose tokens are in ids_, and adds the results to sums_.
  void add() {
    const bool strip = sums_.session().plan().options.run.padding == Padding::strip;
    types_.resize(ids_.size());
    size_t kept = 0;
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == rule_.pad_id || ids_[i] == rule_.mask_id) candidates_[i] = 0;
      if (strip && ids_[i] == rule_.pad_id) continue;
      ids_[kept] = ids_[i];
      types_[kept] = types_[i];
      candidates_[kept++] = candidates_[i];
    }
    ids_.resize(kept);
    types_.resize(kept);
    candidates_.resize(kept);
    if (!strip) {
      flags_.run.pad(*model_, &ids_);
      types_.resize(ids_.size());
      candidates_.resize(ids_.size());
    }
    if (ids_.empty()) return;
    sums_.add_text(ids_, types_, candidates_,
                   [this](std::span<const int32_t> masked, std::span<const int64_t> positions) {
                     if (dump_) dump(masked, positions);
                   });
  }

  void dump(std::span<const int32_t> masked, std::span<const int64_t> positions) {
    nlohmann::ordered_json line = {{"text", sums_.texts()}, {"id", id_}, {"ids", ids_}};
    line["masked"] = std::vector<int32_t>(masked.begin(), masked.end());
    line["positions"] = std::vector<int64_t>(positions.begin(), positions.end());
    line["types"] = types_;
    const std::string text = json_text(line) + "\n";
    dump_->append(text);
  }

  static nlohmann::ordered_json json_of(const PredictionSums& sum) {
    const auto number = [](double value) {
      return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    };
    return {{"tokens", sum.tokens},
            {"loss", number(sum.mean_loss())},
            {"perplexity", number(sum.perplexity())},
            {"accuracy", number(sum.accuracy())}};
  }

  void print() const {
    const bool masked = flags_.mode != "pseudo", pseudo = flags_.mode != "mlm";
    if (flags_.json) {
      nlohmann::ordered_json json = {
          {"records", tally_.records}, {"errors", tally_.errors}, {"truncated", tally_.cut}, {"texts", sums_.texts()}};
      if (masked) {
        json["mlm"] = json_of(sums_.masked());
        json["mlm"]["seed"] = flags_.seed;
        json["mlm"]["mask_rate"] = flags_.rate;
      }
      if (pseudo) json["pseudo"] = json_of(sums_.pseudo());
      standard_output().write(json_text(json) + "\n");
      return;
    }
    Table table({"measure", "tokens", "loss", "perplexity", "top-1"}, {false, true, true, true, true});
    const auto row = [&](const std::string& name, const PredictionSums& sum) {
      table.add({name, grouped(sum.tokens), fixed(sum.mean_loss(), 6), fixed(sum.perplexity(), 4),
                 std::isnan(sum.accuracy()) ? "-" : fixed(100 * sum.accuracy(), 2) + " %"});
    };
    if (masked) {
      row("masked LM, " + fixed(100 * flags_.rate, 1) + " % chosen by seed " + std::to_string(flags_.seed),
          sums_.masked());
    }
    if (pseudo) row("pseudo, each token masked alone", sums_.pseudo());
    standard_output().write(table.text());
  }

  const PerplexityFlags& flags_;
  RecordFields fields_;
  std::shared_ptr<const Model> model_;
  MaskRule rule_;
  Perplexity sums_;
  Progress progress_;
  std::optional<files::AtomicFile> dump_;
  Tally tally_;
  nlohmann::json id_;
  int64_t longest_ = 0;
  std::vector<int32_t> ids_;
  std::vector<uint8_t> types_, candidates_;
};

}  // namespace

void add_perplexity(CLI::App* app, Run* run) {
  CLI::App* command =
      app->add_subcommand("perplexity", "Measure how well a masked-LM head predicts the tokens of texts");
  auto flags = std::make_shared<PerplexityFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr) with a masked-LM head")->type_name("")->required();
  flags->input.add_texts_to(command, "Texts");
  flags->input.add_to(command);
  command
      ->add_option("--ids", flags->ids,
                   "Token ids instead of texts: npy int64 or int32 [texts, tokens], or JSON lines of arrays")
      ->type_name("FILE")
      ->group("Input");
  command
      ->add_option("--mode", flags->mode,
                   "mlm: one run for each text, with some tokens masked; pseudo: one run for each token, which alone "
                   "is masked; both")
      ->type_name("HOW")
      ->check(CLI::IsMember({"mlm", "pseudo", "both"}))
      ->capture_default_str()
      ->group("Measures");
  command->add_option("--mask-rate", flags->rate, "mlm: share of the tokens that are chosen")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->group("Measures");
  command->add_option("--seed", flags->seed, "mlm: seed of the choice of tokens and of their replacements")
      ->type_name("N")
      ->capture_default_str()
      ->group("Measures");
  command->add_option("--mask-id", flags->mask_id, "Id of the mask token; default: the tokenizer's")
      ->type_name("ID")
      ->check(CLI::Range(0, static_cast<int>(max_dimension)))
      ->group("Measures");
  command->add_option("--dump-masks", flags->dump, "Save ids before and after masking, as JSON lines")
      ->type_name("FILE")
      ->group("Measures");
  command->add_flag("--json", flags->json, "Print one JSON object")->group("Measures");
  flags->longer.add_to(command, "all windows, each token counted once");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  command->callback([flags, run] {
    *run = [flags] {
      if (flags->ids.empty()) flags->input.use_piped_input();
      if (flags->input.empty() == flags->ids.empty()) {
        throw UsageError("give either texts, --input FILE or --ids FILE; - is standard input");
      }
      if (!flags->dump.empty() && flags->mode == "pseudo")
        throw UsageError("--dump-masks goes with --mode mlm or both");
      if (files::is_standard_output(flags->dump)) {
        throw UsageError("--dump-masks " + flags->dump + ": standard output has the result; name a file");
      }
      check_outputs(flags->input.all_input_paths({flags->model, flags->ids}),
                    {{"--dump-masks", flags->dump, files::FileFormat::json_lines}});
      warn_if_text_names_file(flags->input, "read");
      return PerplexityCommand(*flags)();
    };
  });
}

}  // namespace linformer::cli
