#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/checked.h"
#include "base/description.h"
#include "base/threads.h"
#include "errors.h"
#include "evaluation.h"
#include "files/hub_name.h"
#include "input_files/open_model.h"
#include "processors.h"

namespace linformer::cli {
namespace {

constexpr int max_threads = ThreadTeam::max_threads;
constexpr int64_t max_batch = 1 << 16;     // texts in one call; more only costs memory
constexpr int64_t rows_in_a_batch = 4096;  // tokens: enough for full matrix products on any machine

std::string delimiter_error(const std::string& value) {
  if (value == "\\t") return {};
  if (value.size() == 1 && value[0] > '\0' && value[0] != '"' && value[0] != '\r' && value[0] != '\n') return {};
  return "give one ASCII character, such as ';', or \\t for a tab";
}

}  // namespace

void PrecisionFlags::add_to(CLI::App* command) {
  command
      ->add_option(
          "--compute", compute,
          "automatic: the file's precision where this kind of processor is faster in it than in f32, else f32; "
          "f32: all weights are widened to f32; bf16: bf16 weights are multiplied in bf16, also where f32 is "
          "faster")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"automatic", "f32", "bf16"}))
      ->capture_default_str()
      ->group("Running");
  command
      ->add_option("--attention-compute", attention_compute,
                   "Type in which attention's scores and context are computed; automatic: bf16 for files in bf16 and "
                   "int8 where bf16 weights are multiplied in bf16, else f32")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"automatic", "f32", "bf16"}))
      ->capture_default_str()
      ->group("Running");
}

void PrecisionFlags::apply_to(SessionOptions* options) const {
  const bool on_device = options->device >= 0, native = options->backend == BackendKind::native;
  if (on_device && attention_compute != "automatic") {
    throw UsageError(
        "--attention-compute: a GPU computes attention in the same type as its products; leave the option out");
  }
  if (!on_device && !native && (compute == "bf16" || attention_compute == "bf16")) {
    throw UsageError((compute == "bf16" ? "--compute bf16" : "--attention-compute bf16") +
                     std::string(": only the native backend multiplies bf16; leave out this option or --backend"));
  }
  options->compute = compute == "f32" ? Compute::f32 : compute == "bf16" ? Compute::bf16 : Compute::automatic;
  options->attention_compute = attention_compute == "f32"    ? AttentionCompute::f32
                               : attention_compute == "bf16" ? AttentionCompute::bf16
                                                             : AttentionCompute::automatic;
}

void RunFlags::add_to(CLI::App* command) {
  command->add_option("--threads", threads, "Threads; default: as many as affinity and CPU quota allow")
      ->type_name("N")
      ->check(CLI::Range(1, max_threads))
      ->group("Running");
  command->add_option("--batch", batch, "Texts in one call of the model at most")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, max_batch))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--backend", backend, "native, onednn or openblas")
      ->type_name("NAME")
      ->check(CLI::IsMember({"native", "onednn", "openblas"}))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--isa", isa, "Instruction set: automatic, scalar, avx2, avx512 or neon")
      ->type_name("NAME")
      ->check(CLI::IsMember({"automatic", "scalar", "avx2", "avx512", "neon"}))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--device", device, "cpu, or a GPU in a build with CUDA: cuda or cuda:0, cuda:1, ...")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Running");
  precision.add_to(command);
  command->add_option("--max-tokens", max_tokens, "Longest text in tokens; default: what the model takes")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->group("Running");
  command
      ->add_option("--padding", padding,
                   "strip: pad ids are removed first; keep: they stay and act as in the original implementation")
      ->type_name("HOW")
      ->check(CLI::IsMember({"strip", "keep"}))
      ->capture_default_str()
      ->group("Running");
  command->add_option("--pad-to", pad_to, "Lengthen each text with pad ids to N tokens")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{max_dimension}))
      ->group("Running");
}

void RunFlags::add_profile_to(CLI::App* command, bool json) {
  command
      ->add_flag("--profile", profile,
                 json ? "At the end, each op's time on standard error; with --json as one JSON object in a line"
                      : "At the end, each op's time on standard error")
      ->group("Running");
}

SessionOptions RunFlags::session_options(const Model& model, int64_t longest) const {
  const EncoderDescription& encoder = model.description().encoder;
  const int64_t limit = max_tokens > 0 ? max_tokens : encoder.max_tokens;
  if (limit > encoder.max_tokens) {
    throw UsageError("--max-tokens " + std::to_string(limit) + ": the model takes at most " +
                     std::to_string(encoder.max_tokens));
  }
  if (pad_to > limit) {
    throw UsageError("--pad-to " + std::to_string(pad_to) + " is more than the " + std::to_string(limit) +
                     " tokens that a text may have; lower it");
  }
  if (pad_to > 0 && encoder.pad_id < 0) throw UsageError("--pad-to: this model has no pad token; leave it out");
  SessionOptions options;
  options.max_tokens = longest > 0 ? std::min(longest, limit) : limit;
  options.max_batch = batch;
  options.max_rows = std::min(options.max_tokens * batch, std::max(options.max_tokens, rows_in_a_batch));
  options.threads = threads > 0 ? threads : std::min(processors(), max_threads);
  options.backend = parse_backend(backend);
  options.isa = parse_isa(isa);
  options.device = parse_device(device);
  precision.apply_to(&options);
  options.padding = padding == "keep" ? Padding::keep : Padding::strip;
  options.profile = profile;
  return options;
}

void RunFlags::pad(const Model& model, std::vector<int32_t>* ids) const {
  if (pad_to > static_cast<int64_t>(ids->size())) {
    ids->resize(static_cast<size_t>(pad_to), model.description().encoder.pad_id);
  }
}

void InputFlags::add_to(CLI::App* command, bool argument_texts) {
  command->add_option("-i,--input", inputs, "File of texts, may be repeated; - is standard input")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Input");
  command
      ->add_option("--format", format,
                   "text (a text a line), jsonl (or one JSON array), csv or tsv; default: by the file's ending, also "
                   "before .gz, or text")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"auto", "text", "jsonl", "csv", "tsv"}))
      ->group("Input");
  command->add_option("--field", field, "Name of the field with the text")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("Input");
  command->add_option("--pair", pair, "Name of the field with the second text of a pair")
      ->type_name("NAME")
      ->group("Input");
  if (argument_texts) {
    command->add_option("--pair-text", pair_texts, "The second text of a text on the command line, one for each")
        ->type_name("TEXT")
        ->allow_extra_args(false)
        ->group("Input");
  }
  command->add_option("--id", id, "Name of the field that identifies a record; default: its number, from 1")
      ->type_name("NAME")
      ->group("Input");
  command->add_flag("--no-header", no_header, "CSV and TSV: the fields are called 1, 2, ... and the first line is data")
      ->group("Input");
  command
      ->add_option("--delimiter", delimiter,
                   "CSV and TSV: the character between fields, \\t for a tab; where no format is said, it means csv")
      ->type_name("C")
      ->check([](const std::string& value) { return delimiter_error(value); })
      ->group("Input");
  command->add_option("--max-line-bytes", max_line_bytes, "Longer records are errors")
      ->type_name("N")
      ->check(CLI::Range(uint64_t{1}, uint64_t{max_text_bytes}))
      ->capture_default_str()
      ->group("Input");
}

std::vector<std::string> InputFlags::paths(std::vector<std::string> more) const {
  more.insert(more.end(), inputs.begin(), inputs.end());
  if (dash && std::find(texts.begin(), texts.end(), "-") != texts.end()) more.push_back("-");
  return more;
}

Format InputFlags::format_of(const std::string& path) const {
  if (format == "jsonl") return Format::jsonl;
  if (format == "csv") return Format::csv;
  if (format == "tsv") return Format::tsv;
  if (format == "text") return Format::text;
  const Format named = path == "-" ? Format::text : format_of_path(path);
  return named == Format::text && !delimiter.empty() ? Format::csv : named;
}

RecordLimits InputFlags::limits() const {
  const char between = delimiter.empty() ? '\0' : delimiter == "\\t" ? '\t' : delimiter[0];
  return {.max_bytes = max_line_bytes, .header = !no_header, .delimiter = between};
}

RecordFields InputFlags::fields(const std::string& label) const {
  RecordFields fields;
  fields.text = field;
  if (!pair.empty()) fields.pair = pair;
  if (!id.empty()) fields.id = id;
  if (!label.empty()) fields.label = label;
  const auto is_dash = [this](const std::string& text) { return dash && text == "-"; };
  const bool reads_standard_input = std::any_of(texts.begin(), texts.end(), is_dash);
  if (!pair_texts.empty() && (reads_standard_input || !inputs.empty())) {
    throw UsageError("--pair-text goes with texts on the command line; for files name the field with --pair");
  }
  if (!pair_texts.empty() && pair_texts.size() != texts.size()) {
    const auto counted = [](size_t count, const char* what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    throw UsageError("--pair-text was given " + counted(pair_texts.size(), "time") + " for " +
                     counted(texts.size(), "text") +
                     ": each text has one second text; repeat a text that has several, or give a file with --field and "
                     "--pair");
  }
  const char* flag = fields.pair         ? "--pair"
                     : fields.id         ? "--id"
                     : fields.label      ? "--eval"
                     : field != "text"   ? "--field"
                     : delimiter.empty() ? nullptr
                                         : "--delimiter";
  if (flag == nullptr) return fields;
  if (!std::all_of(texts.begin(), texts.end(), is_dash)) {
    throw UsageError(std::string(flag) + " needs records with fields: use --input FILE");
  }
  std::vector<std::string> paths = inputs;
  if (reads_standard_input) paths.push_back("-");
  for (const std::string& path : paths) {
    if (format_of(path) == Format::text) {
      throw UsageError(std::string(flag) + " needs records with fields, and " +
                       (path == "-" ? "standard input" : path) +
                       " is read as text lines; add --format jsonl, csv or tsv");
    }
    if (!delimiter.empty() && format_of(path) == Format::jsonl) {
      throw UsageError("--delimiter goes with CSV and TSV, and " + (path == "-" ? "standard input" : path) +
                       " is read as JSON lines; leave it out, or add --format csv");
    }
  }
  return fields;
}

void TokenFlags::add_to(CLI::App* command) {
  command->add_option("--side", side, "Which end of a text that is cut stays: head or tail")
      ->type_name("END")
      ->check(CLI::IsMember({"head", "tail"}))
      ->capture_default_str()
      ->group("Tokens");
  command
      ->add_flag("--literal-special", literal_special,
                 "Special tokens written inside a text, such as <mask>, are plain characters")
      ->group("Tokens");
}

EncodeOptions TokenFlags::options() const {
  EncodeOptions options;
  options.match_special_tokens = !literal_special;
  options.keep = side == "tail" ? Keep::tail : Keep::head;
  return options;
}

Truncation parse_truncation(const std::string& name) {
  if (name == "none") return Truncation::none;
  if (name == "only_first") return Truncation::only_first;
  return name == "only_second" ? Truncation::only_second : Truncation::longest_first;
}

void LongFlags::add_to(CLI::App* command, const std::string& windows) {
  command->add_option("--on-long", on_long, "A text with too many tokens: truncate, error or window (" + windows + ")")
      ->type_name("HOW")
      ->check(CLI::IsMember({"truncate", "error", "window"}))
      ->capture_default_str()
      ->group("Tokens");
  command->add_option("--overlap", overlap, "Tokens that neighbouring windows share; default: a quarter")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{max_dimension}))
      ->group("Tokens");
  command
      ->add_option("--truncation", truncation,
                   "Which text of a pair is cut, or read by windows: longest_first, only_first or only_second")
      ->type_name("HOW")
      ->check(CLI::IsMember({"longest_first", "only_first", "only_second"}))
      ->capture_default_str()
      ->group("Tokens");
}

OnLong LongFlags::value() const {
  if (overlap >= 0 && on_long != "window") throw UsageError("--overlap goes with --on-long window");
  if (on_long == "error") return OnLong::error;
  return on_long == "window" ? OnLong::window : OnLong::truncate;
}

Truncation LongFlags::pair_truncation() const { return parse_truncation(truncation); }

namespace {

bool read_models = false;  // --no-mmap, which holds for all models that the command loads

}  // namespace

void add_access_flag(CLI::App* command) {
  command
      ->add_flag(
          "--no-mmap", read_models,
          "Read the whole model into memory instead of mapping it, for files that others may change during the run")
      ->group("Running");
}

Access model_access() { return read_models ? Access::read : Access::map; }

std::shared_ptr<const Model> load_model(const std::string& path) {
  LoadOptions options;
  options.access = model_access();
  Result<std::shared_ptr<const Model>> loaded = files::open_model(path, options);
  const std::string advice = loaded.ok() ? "" : files::hub_name_advice(path);
  if (!advice.empty()) {
    throw DataError(std::string(loaded.status().message()) + ". " + advice +
                    " and make a model file of that folder with linformer-convert");
  }
  return take(std::move(loaded));
}

void require_tokens(const Model& model, const std::string& path) {
  const EmbeddingDescription& embedding = model.description().encoder.embedding;
  if (embedding.tokens != absent) return;
  throw DataError(path + ": this model reads vectors of " + std::to_string(embedding.vectors.width) +
                  " numbers and no text; run " +
                  (model.description().heads.empty() ? "'linformer encode'" : "'linformer classify' or 'encode'") +
                  " with --vectors FILE.npy");
}

void require_vectors(const Model& model, const std::string& path) {
  if (model.description().encoder.embedding.tokens == absent) return;
  throw DataError(path + ": this model reads tokens and no vectors; give it texts instead of --vectors");
}

void require_masked_lm(const Model& model, const std::string& path) {
  if (!model.description().mlm.present()) {
    throw DataError(path + ": this model has no masked-LM head; 'linformer inspect' shows what it has");
  }
  if (model.description().has_decoder()) {
    throw DataError(path + ": this model's language head reads its decoder, which only the library runs");
  }
}

void require_tokenizer(const Model& model, const std::string& path) {
  require_tokens(model, path);
  if (model.description().tokenizer.kind == TokenizerKind::none) {
    throw DataError(path + ": this model has no tokenizer; convert it again with linformer-convert --tokenizer DIR");
  }
}

Tokenizer load_tokenizer(const Model& model, const std::string& path) {
  require_tokenizer(model, path);
  return take(Tokenizer::create(model.description().tokenizer));
}

int64_t encoder_rows(const Model& model, int64_t tokens) {
  const EmbeddingDescription& embedding = model.description().encoder.embedding;
  return embedding.prefix != absent || embedding.prefix_token >= 0 ? tokens + 1 : tokens;
}

int find_head(const Model& model, const std::string& name) {
  const Array<ClassificationHead>& heads = model.description().heads;
  if (heads.empty()) {
    const ModelDescription& description = model.description();
    throw DataError(
        description.encoder.embedding.tokens == absent ? "this model has no classification head; 'linformer encode "
                                                         "--what hidden --vectors FILE.npy' saves its rows"
        : description.embedding.present
            ? "this model has no classification head: it turns texts into vectors; use 'linformer embed'"
        : description.mlm.present()
            ? "this model has no classification head; 'linformer encode --what mlm' saves the logits of its masked-LM "
              "head, and 'linformer fill-mask' shows them"
            : "this model has no classification head; 'linformer embed --pooling mean' gives a vector for each text, "
              "and 'linformer encode --what hidden' the rows");
  }
  if (model.description().has_decoder()) {
    throw DataError("this model's classification heads read its decoder, which only the library runs");
  }
  if (name.empty()) return 0;
  std::vector<std::string> names;
  std::string known;
  for (const ClassificationHead& head : heads) {
    known += (names.empty() ? "" : ", ") + head.name;
    names.push_back(head.name);
  }
  const std::optional<size_t> found = class_of(names, name);
  if (!found) throw UsageError("no head '" + name + "'; this model has " + known);
  return static_cast<int>(*found);
}

std::vector<int> find_heads(const Model& model, const std::string& names) {
  // A name may itself have a comma in it.
  const Array<ClassificationHead>& heads = model.description().heads;
  const bool one = std::any_of(heads.begin(), heads.end(), [&](const auto& head) { return head.name == names; });
  std::vector<int> found;
  for (size_t start = 0; start <= names.size();) {
    const size_t comma = one ? names.size() : std::min(names.find(',', start), names.size());
    const std::string name = names.substr(start, comma - start);
    if (name.empty() && !names.empty()) throw UsageError("--head " + names + ": a name is missing beside a comma");
    const int head = find_head(model, name);
    if (std::find(found.begin(), found.end(), head) != found.end()) {
      throw UsageError("--head " + names + " names a head twice");
    }
    found.push_back(head);
    start = comma + 1;
  }
  return found;
}

const ClassificationHead& head_of(const Model& model, int head) {
  return model.description().heads[static_cast<size_t>(head)];
}

std::vector<std::string> class_labels(const Model& model, int head) {
  const ClassificationHead& chosen = head_of(model, head);
  if (!chosen.labels.empty()) return chosen.labels;
  const TensorDescription& weight = model.description().tensors[static_cast<size_t>(chosen.output.weight)];
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < weight.shape[0]; ++i) labels.push_back(std::to_string(i));
  return labels;
}

std::vector<std::string> output_names(const Model& model, int head) {
  const ClassificationHead& chosen = head_of(model, head);
  std::vector<std::string> names = class_labels(model, head);
  if (!chosen.labels.empty() || names.size() != 1) return names;
  if (chosen.kind == HeadKind::score) names = {"score"};
  if (chosen.kind == HeadKind::regression) names = {"value"};
  return names;
}

BackendKind parse_backend(const std::string& name) {
  if (name == "onednn") return BackendKind::onednn;
  return name == "openblas" ? BackendKind::openblas : BackendKind::native;
}

int parse_device(const std::string& name) {
  constexpr std::string_view prefix = "cuda:";
  if (name == "cpu") return -1;
  if (name == "cuda") return 0;
  int number = -1;
  if (name.starts_with(prefix)) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, number);
    if (error != std::errc() || stop != end) number = -1;
  }
  if (number < 0) throw UsageError("--device " + name + ": give cpu, cuda or cuda:N, N a device's number from 0 on");
  return number;
}

std::string device_name(int device) { return device < 0 ? "cpu" : "cuda:" + std::to_string(device); }

Isa parse_isa(const std::string& name) {
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    if (name == name_of(isa)) return isa;
  }
  return Isa::automatic;
}

}  // namespace linformer::cli
