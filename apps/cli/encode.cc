#include <algorithm>
#include <charconv>
#include <cstdio>

#include "batch.h"
#include "commands.h"
#include "display.h"
#include "encode_inputs.h"
#include "errors.h"
#include "npy.h"
#include "progress.h"

namespace linformer::cli {
namespace {

// Masked-LM logits computed in one call at most: 256 MiB of them.
constexpr int64_t max_mlm_floats = int64_t{1} << 26;

struct EncodeFlags {
  std::string model, ids, what = "hidden", output, on_long = "truncate";
  InputFlags input;
  TokenFlags tokens;
  RunFlags run;
};

enum class What { hidden, pooled, logits, mlm };

struct Wanted {
  What what = What::hidden;
  int hidden_layer = -1;
  int head = 0;
  int64_t width = 0;       // floats in a row of the output
  bool per_token = false;  // [texts, tokens, width] instead of [texts, width]
};

Wanted parse_what(const std::string& text, const Model& model) {
  const ModelDescription& description = model.description();
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), detail = colon == std::string::npos ? "" : text.substr(colon + 1);
  Wanted wanted;
  wanted.width = description.encoder.d_model;
  if (colon != std::string::npos && detail.empty()) throw UsageError("--what " + text + ": nothing after the colon");
  if (kind == "hidden") {
    wanted.per_token = true;
    const int layers = static_cast<int>(description.encoder.layers.size());
    if (!detail.empty()) {
      const auto [end, error] = std::from_chars(detail.data(), detail.data() + detail.size(), wanted.hidden_layer);
      if (error != std::errc() || end != detail.data() + detail.size() || wanted.hidden_layer < 0 ||
          wanted.hidden_layer > layers) {
        throw UsageError("--what " + text + ": layers are 0 (the embedding) to " + std::to_string(layers));
      }
    }
  } else if (kind == "pooled" || kind == "logits") {
    wanted.what = kind == "pooled" ? What::pooled : What::logits;
    if (wanted.what == What::logits || !detail.empty()) wanted.head = find_head(model, detail);
    if (wanted.what == What::logits) wanted.width = static_cast<int64_t>(class_labels(model, wanted.head).size());
  } else if (kind == "mlm" && detail.empty()) {
    if (!description.mlm.present()) throw DataError("this model has no masked-LM head; use another --what");
    wanted.what = What::mlm;
    wanted.width = description.encoder.vocab_size;
    wanted.per_token = true;
  } else {
    throw UsageError("--what " + text + ": use hidden, hidden:LAYER, pooled, logits, logits:HEAD or mlm");
  }
  return wanted;
}

class Encode {
 public:
  explicit Encode(const EncodeFlags& flags)
      : flags_(flags), model_(load_model(flags.model)), wanted_(parse_what(flags.what, *model_)) {}

  int operator()() {
    flags_.run.session_options(*model_, 0);  // a wrong flag is said before a long input is read
    read_rows();
    SessionOptions options = flags_.run.session_options(*model_, longest_kept_);
    Session session = take(Session::create(model_, options));
    AtomicFile file(flags_.output);
    write_header(&file);
    Progress progress(true);
    options = session.plan().options;
    if (wanted_.what == What::mlm) options.max_rows = std::min(options.max_rows, mlm_positions_at_once());
    Batch batch(options.max_batch, options.max_rows);
    size_t done = 0;
    const auto run = [&] {
      const std::span<const Tokens> texts = batch.texts();
      if (wanted_.what == What::mlm) {
        run_mlm(texts, &session, &file);
      } else {
        run_batch(texts, batch.rows(), &session, &file);
      }
      done += texts.size();
      progress.update(done, done, rows_.size());
      batch.clear();
    };
    for (size_t i = 0; i < rows_.size(); ++i) {
      ids_.assign(rows_[i].begin(), rows_[i].end());
      flags_.run.pad(*model_, &ids_);
      if (!batch.empty() && !batch.fits(ids_.size())) run();
      batch.add(ids_);
    }
    if (!batch.empty()) run();
    file.commit();
    return exit_ok;
  }

 private:
  void read_rows() {
    const EncoderDescription& encoder = model_->description().encoder;
    const int64_t limit = flags_.run.max_tokens > 0 ? flags_.run.max_tokens : encoder.max_tokens;
    if (!flags_.ids.empty()) {
      rows_ = read_ids(flags_.ids, *model_, flags_.input.max_line_bytes);
    } else {
      uint64_t cut = 0;
      const Tokenizer tokenizer = load_tokenizer(*model_, flags_.model);
      rows_ = read_texts(flags_.input, flags_.tokens, *model_, tokenizer, limit, flags_.on_long == "truncate", &cut);
      if (cut > 0) {
        std::fprintf(stderr, "linformer: %s of %s texts cut to %s tokens\n", grouped(cut).c_str(),
                     grouped(rows_.size()).c_str(), std::to_string(limit).c_str());
      }
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      const int64_t given = std::max<int64_t>(static_cast<int64_t>(rows_[i].size()), flags_.run.pad_to);
      const int64_t kept = kept_tokens(rows_[i], given);
      if (kept == 0) throw DataError("text " + std::to_string(i) + " has no tokens; leave it out");
      if (kept > limit) {
        throw DataError("text " + std::to_string(i) + " has " + std::to_string(kept) + " tokens and at most " +
                        std::to_string(limit) + " are read; cut it or raise --max-tokens up to " +
                        std::to_string(encoder.max_tokens));
      }
      longest_ = std::max(longest_, given);
      longest_kept_ = std::max(longest_kept_, kept);
    }
  }

  int64_t kept_tokens(std::span<const int32_t> ids, int64_t given) const {
    const int32_t pad = model_->description().encoder.pad_id;
    if (flags_.run.padding == "keep" || pad < 0) return given;
    return std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return id != pad; });
  }

  void write_header(AtomicFile* file) const {
    const int64_t texts = static_cast<int64_t>(rows_.size());
    const int64_t flat[] = {texts, wanted_.width}, deep[] = {texts, longest_, wanted_.width};
    const std::string header = wanted_.per_token ? npy_float_header(deep) : npy_float_header(flat);
    file->write(header.data(), header.size());
  }

  void run_batch(std::span<const Tokens> texts, int64_t rows, Session* session, AtomicFile* file) {
    const int64_t count = wanted_.per_token ? rows : static_cast<int64_t>(texts.size());
    values_.resize(static_cast<size_t>(count * wanted_.width));
    Outputs outputs;
    outputs.head = wanted_.head;
    if (wanted_.what == What::hidden) outputs.hidden = values_;
    if (wanted_.what == What::pooled) outputs.pooled = values_;
    if (wanted_.what == What::logits) outputs.logits = values_;
    outputs.hidden_layer = wanted_.hidden_layer;
    check(session->run(texts, outputs));
    if (!wanted_.per_token) return file->write(values_.data(), values_.size() * sizeof(float));
    const float* source = values_.data();
    for (const Tokens& text : texts) {
      const int64_t length = static_cast<int64_t>(text.size());
      file->write(source, static_cast<size_t>(length * wanted_.width) * sizeof(float));
      write_zeros(longest_ - length, file);
      source += length * wanted_.width;
    }
  }

  int64_t mlm_positions_at_once() const { return std::max<int64_t>(1, max_mlm_floats / wanted_.width); }

  // Logits at every kept position. A text with more of them than fit is run again for each part.
  void run_mlm(std::span<const Tokens> texts, Session* session, AtomicFile* file) {
    std::vector<MaskPosition> positions;
    for (size_t t = 0; t < texts.size(); ++t) {
      const int64_t kept = kept_tokens(texts[t], static_cast<int64_t>(texts[t].size()));
      for (int64_t p = 0; p < kept; ++p) positions.push_back({static_cast<int64_t>(t), p});
    }
    const size_t at_once = static_cast<size_t>(mlm_positions_at_once());
    for (size_t first = 0; first < positions.size(); first += at_once) {
      const size_t count = std::min(at_once, positions.size() - first);
      values_.resize(count * static_cast<size_t>(wanted_.width));
      Outputs outputs;
      outputs.mlm_positions = std::span(positions).subspan(first, count);
      outputs.mlm_logits = values_;
      check(session->run(texts, outputs));
      for (size_t i = 0; i < count; ++i) {
        file->write(values_.data() + i * static_cast<size_t>(wanted_.width),
                    static_cast<size_t>(wanted_.width) * sizeof(float));
        const bool last =
            first + i + 1 == positions.size() || positions[first + i + 1].text != positions[first + i].text;
        if (last) write_zeros(longest_ - positions[first + i].position - 1, file);
      }
    }
  }

  void write_zeros(int64_t rows, AtomicFile* file) {
    zeros_.resize(static_cast<size_t>(wanted_.width));
    for (int64_t i = 0; i < rows; ++i) file->write(zeros_.data(), zeros_.size() * sizeof(float));
  }

  const EncodeFlags& flags_;
  std::shared_ptr<const Model> model_;
  Wanted wanted_;
  TokenRows rows_;
  int64_t longest_ = 0, longest_kept_ = 0;  // tokens: as written, and as the session counts them
  std::vector<int32_t> ids_;
  std::vector<float> values_, zeros_;
};

}  // namespace

void add_encode(CLI::App* app, Run* run) {
  CLI::App* command = app->add_subcommand("encode", "Save hidden states, pooled vectors or logits as an npy array");
  auto flags = std::make_shared<EncodeFlags>();
  command->add_option("MODEL", flags->model, "Model file (.lnfr)")->type_name("")->required();
  command
      ->add_option("--ids", flags->ids,
                   "Token ids: npy int64 or int32 [texts, tokens], or JSON lines of arrays; - is standard input")
      ->type_name("FILE")
      ->group("Input");
  command->add_option("--text", flags->input.texts, "Texts instead of ids")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group("Input");
  flags->input.add_to(command);
  command
      ->add_option("--what", flags->what,
                   "hidden (the encoder's output), hidden:LAYER, pooled, logits, logits:HEAD or mlm")
      ->type_name("WHAT")
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "The array (.npy, float32); - is standard output")
      ->type_name("FILE")
      ->required();
  command->add_option("--on-long", flags->on_long, "A text with too many tokens: truncate or error")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error"}))
      ->capture_default_str()
      ->group("Tokens");
  flags->tokens.add_to(command);
  flags->run.add_to(command);
  command->footer(
      "Shapes: hidden [texts, tokens, d], mlm [texts, tokens, vocabulary], pooled [texts, d], logits [texts, "
      "classes].\n"
      "Rows beyond a text's own tokens are zero.\n\n"
      "Examples:\n"
      "  linformer encode model.lnfr --ids ids.npy --what hidden -o hidden.npy\n"
      "  echo '[0, 31, 414, 2]' | linformer encode model.lnfr --ids - --what mlm -o logits.npy\n"
      "  linformer encode model.lnfr --input reviews.txt --what pooled -o vectors.npy\n");
  command->callback([flags, run] {
    *run = [flags] {
      const bool texts = !flags->input.texts.empty() || !flags->input.inputs.empty();
      if (texts == !flags->ids.empty()) {
        throw UsageError("give either --ids FILE or texts (--text TEXT, --input FILE)");
      }
      return Encode(*flags)();
    };
  });
}

}  // namespace linformer::cli
