#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/description.h"
#include "converter/add_tokenizer.h"
#include "converter/build_model.h"
#include "converter/control.h"
#include "converter/dialects/common.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/hugging_face/sentence_transformers.h"
#include "converter/dialects/linearised/linearised.h"
#include "converter/dialects/static_embedding/static_embedding.h"
#include "converter/export/exported_facts.h"
#include "converter/files/name_pattern.h"
#include "converter/files/output_target.h"
#include "converter/labels.h"
#include "converter/option_names.h"
#include "converter/readers/error.h"
#include "converter/readers/exported_keys.h"
#include "converter/readers/found_file.h"
#include "converter/settings_file.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "io/container.h"

namespace linformer::convert {

namespace {

namespace fs = std::filesystem;

struct Inputs {
  // The folder of the model. Empty if the checkpoint is a file that does not belong to such a folder, see folder_of().
  std::string folder;
  std::string checkpoint, tokenizer;
  // The path or JSON of ConvertOptions::config, and the path of config.json beside the checkpoint.
  std::string given_config, found_config;
  std::string labels_folder;  // If empty, no labels.txt is looked for.
  std::optional<SentenceTransformer> sentence;
  Value cross_encoder;  // The settings of a sentence-transformers cross-encoder.
};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool has_tokenizer(const fs::path& folder) {
  const auto has = [&folder](const char* name) { return finds_file(folder / name); };
  return has("tokenizer.json") || (has("vocab.json") && has("merges.txt")) ||
         (has("encoder.json") && has("vocab.bpe")) || has("vocab.txt") || has("spiece.model") ||
         has("sentencepiece.bpe.model") || has("spm.model") || has("tokenizer.model");
}

// The names that training programs and model hubs give to checkpoints. The first one that a folder has is read.
constexpr const char* checkpoint_names[] = {
    "checkpoint_best.pt",          "checkpoint.pt",          "checkpoint_last.pt",           "model.pt",
    "model.safetensors",           "checkpoint.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
    "pytorch_model.bin.index.json"};

// Returns the path of the checkpoint in a folder. Throws Error if the folder has none of the usual names.
std::string checkpoint_in(const fs::path& folder, Report* report) {
  std::string chosen, list;
  for (const char* name : checkpoint_names) {
    list += (list.empty() ? "" : ", ") + std::string(name);
    if (chosen.empty()) {
      if (finds_file(folder / name)) chosen = (folder / name).string();
    } else if (is_file(folder / name)) {
      report->notes.push_back((folder / name).string() + " is there too and was not used.");
    }
  }
  if (chosen.empty()) fail(folder.string(), " holds no checkpoint of a usual name (", list, "): give the file itself");
  return chosen;
}

// Returns the folder of the model, or "" if the checkpoint is a file that stands alone. A file belongs to a model's
// folder if it has one of the usual names and lies beside a config.json.
std::string folder_of(const std::string& checkpoint) {
  std::error_code error;
  const fs::path path = checkpoint;
  if (fs::is_directory(path, error)) return checkpoint;
  const auto named = [&](const char* name) { return path.filename() == name; };
  if (std::none_of(std::begin(checkpoint_names), std::end(checkpoint_names), named)) return "";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return finds_file(folder / "config.json") ? folder.string() : "";
}

Inputs find_inputs(const ConvertOptions& options, ValueStore* store, Report* report) {
  std::error_code error;
  Inputs inputs{
      folder_of(options.checkpoint), options.checkpoint, options.tokenizer, options.config, "", "", std::nullopt, {}};
  if (!inputs.folder.empty()) {
    fs::path folder = inputs.folder;
    inputs.cross_encoder = read_cross_encoder(folder.string(), *store);
    inputs.sentence = read_sentence_transformer(folder.string(), *store);
    if (inputs.sentence) {
      folder = inputs.sentence->transformer;
      for (const std::string& note : inputs.sentence->notes) report->notes.push_back(note);
    }
    if (fs::is_directory(options.checkpoint, error)) inputs.checkpoint = checkpoint_in(folder, report);
    if (inputs.tokenizer.empty() && has_tokenizer(folder)) {
      inputs.tokenizer = folder.string();
      report->notes.push_back("The tokenizer is that of the checkpoint's folder.");
    }
    if (finds_file(folder / "config.json") && !fs::equivalent(folder / "config.json", options.config, error)) {
      inputs.found_config = (folder / "config.json").string();
      report->notes.push_back(options.config.empty()
                                  ? "Settings were read from config.json of the checkpoint's folder."
                                  : "What " + placeholder(Option::config) +
                                        " doesn't say was read from config.json of the checkpoint's folder.");
    }
    inputs.labels_folder = folder.string();
  }
  if (!inputs.tokenizer.empty()) {
    const fs::path tokenizer = inputs.tokenizer;
    const fs::path folder = fs::is_directory(tokenizer, error) ? tokenizer : tokenizer.parent_path();
    if (inputs.labels_folder.empty() || finds_file(folder / "labels.txt")) inputs.labels_folder = folder.string();
    if (inputs.labels_folder.empty()) inputs.labels_folder = ".";
  }
  return inputs;
}

void refuse_output_among(const std::vector<std::string>& inputs, const std::string& output) {
  std::error_code error;
  for (const std::string& input : inputs) {
    if (!input.empty() && fs::equivalent(input, output, error)) {
      fail("the output ", output, " is the input ", input, ": give another name with ", placeholder(Option::output));
    }
  }
}

void check_output(const ConvertOptions& options, const Inputs& inputs) {
  std::error_code error;
  if (files::output_target(options.output).kind != files::OutputTarget::Kind::file) return;
  if (!fs::exists(options.output, error)) return;
  refuse_output_among({inputs.checkpoint, inputs.given_config, inputs.found_config, inputs.tokenizer}, options.output);
  if (options.replace_any || !is_file(options.output)) return;
  std::array<char, sizeof(container_magic)> start{};
  std::ifstream(options.output, std::ios::binary).read(start.data(), start.size());
  if (fs::file_size(options.output, error) > 0 &&
      std::memcmp(start.data(), container_magic.data(), start.size()) != 0) {
    fail("the output ", options.output, " exists and is no model file: give another name with ",
         placeholder(Option::output), ", or ", placeholder(Option::replace_any), " to replace it");
  }
}

bool is_inline_settings(const std::string& config) {
  const size_t first = config.find_first_not_of(" \t\n\r");
  return first != config.npos && config[first] == '{';
}

// Reads the settings that the user gave, either as the path of a file or as the JSON itself.
Value read_given_settings(const std::string& config, ValueStore& store) {
  if (is_inline_settings(config)) return parse_json(store, config, placeholder(Option::config) + " " + quote(config));
  std::error_code error;
  if (fs::status(config, error).type() != fs::file_type::not_found) return read_json_file(config, store, true);
  fail(config, " does not exist: give a file of settings, or the settings as JSON, ",
       config_option(R"({"NAME": VALUE})"));
}

// Adds the settings of a file, both those at its top level and those in the groups that checkpoints use. `given` is
// true for settings that the user gave and false for a file that was found beside the checkpoint. Settings that the
// user gave are reported if the conversion does not use them.
void read_config(const std::string& path, bool given, ValueStore* store, Settings* settings) {
  if (path.empty()) return;
  const Value root = given ? read_given_settings(path, *store) : read_json_file(path, *store);
  if (!root.is(ValueKind::dict)) fail(path, " holds a ", root.kind_name(), ", not a JSON object of settings");
  const std::vector<std::string> groups = {"model", "args", "config"};
  if (given) {
    settings->add_user_settings(root, is_inline_settings(path) ? placeholder(Option::config) : path, groups);
  } else {
    settings->add_found_file(root, path);
    for (const std::string& group : groups) settings->add_source(root.find(group), path + ", " + group);
  }
}

// Returns the settings of all sources. Settings that the user gave come before those of files beside the checkpoint.
Settings read_settings(const ConvertOptions& options, const Inputs& inputs, ValueStore* store) {
  Settings settings;
  if (!options.head_kinds.empty()) {
    settings.add_user_settings(head_kind_setting(options.head_kinds, *store), head_kind_option());
  }
  read_config(inputs.given_config, true, store, &settings);
  settings.add_source(inputs.cross_encoder, "config_sentence_transformers.json");
  read_config(inputs.found_config, false, store, &settings);
  if (inputs.sentence) settings.add_source(inputs.sentence->settings, "modules.json");
  return settings;
}

void note_checkpoint(const Checkpoint& checkpoint, Report* report) {
  report->checkpoint = checkpoint.name;
  report->format = checkpoint.format;
  if (!checkpoint.state_dict_path.empty()) {
    report->add_fact("weights", checkpoint.state_dict_path, "place in the checkpoint");
  }
  for (const std::string& entry : checkpoint.not_tensors) report->left_out.push_back({entry, "not a tensor"});
  for (const std::string& name : checkpoint.opaque_globals) {
    report->notes.push_back("The checkpoint names " + escaped(name) + ", which was neither loaded nor called.");
  }
}

const char* producer() { return "linformer-convert " LINFORMER_VERSION; }

}  // namespace

void build_model(Checkpoint& checkpoint, const Settings& settings, writer::ModelBuilder* builder, Report* report,
                 const std::function<void(double done)>& progress, const std::string& wanted) {
  Settings all = settings;
  all.add_exported_settings(checkpoint.root.find(exported_settings_key), "the exported file");
  Linearised linearised = Linearised::extract(checkpoint, all);
  const Dialect& dialect = recognise(checkpoint, wanted, all, *report);
  uint64_t total = linearised.elements(), taken = 0;
  for (const Tensor& tensor : checkpoint.tensors) total += tensor.elements;
  const auto advance = [&](uint64_t elements) {
    taken += elements;
    if (progress) progress(std::min(1.0, static_cast<double>(taken) / static_cast<double>(total)));
  };
  builder->description.producer = producer();
  builder->description.dialect = dialect.name();
  WeightWriter weights(checkpoint, *builder, *report, advance);
  Conversion conversion{checkpoint, all, weights, builder->description, *report};
  try {
    linearised.check(dialect);
    dialect.convert(conversion);
    linearised.apply(checkpoint, conversion);
    check_head_kind_names(all, builder->description);
    builder->origin.settings = all.used_as_json();
  } catch (const Error& error) {
    throw Error(checkpoint.name + " (" + dialect.name() + "): " + error.what());
  }
  report->unused_settings = settings.unused();
}

namespace {

// Returns the names of at most three weights, beginning with those that have the longest common prefix with `tensor`.
std::string names_of_weights(const ModelDescription& description, const std::string& tensor) {
  std::vector<std::string> names;
  for (const TensorDescription& weight : description.tensors) {
    if (weight.shape.size() == 2) names.emplace_back(weight.name);
  }
  const auto common = [&](const std::string& name) {
    return std::mismatch(name.begin(), name.end(), tensor.begin(), tensor.end()).first - name.begin();
  };
  std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return common(a) > common(b); });
  std::string list;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 3); ++i) list += (i > 0 ? ", " : "") + escaped(names[i]);
  return list + " and so on";
}

// Throws Error if a pattern of ConvertOptions::keep sets the type of no weight. The pattern is probably misspelt, and
// the weights that the user meant would be stored in low precision without a warning.
void refuse_unused_patterns(const writer::ModelBuilder& builder, const Report& report) {
  const std::vector<std::string> unused = builder.unused_patterns();
  if (unused.empty()) return;
  const std::string pattern = quote(unused[0]), option = placeholder(Option::keep);
  const auto matches = [&](const std::string& name) { return files::fits_pattern(unused[0], name); };
  for (const TensorDescription& tensor : builder.description.tensors) {
    if (tensor.shape.size() != 2 || !matches(std::string(tensor.name))) continue;
    fail("each weight with a name like ", pattern, " (", option, ") has its type from an earlier ", option,
         ", such as ", escaped(std::string(tensor.name)));
  }
  for (const Report::Mapping& mapping : report.mapped) {
    if (mapping.note.empty() || !matches(mapping.tensor)) continue;
    const std::string given = escaped(mapping.tensor) + " (" + option + " " + pattern + ")";
    if (mapping.note.starts_with("same values as ")) fail(given, " has the ", mapping.note, ": name that weight");
    fail(given, " is stored as a part of another weight (", mapping.note, "): the weights are called ",
         names_of_weights(builder.description, mapping.tensor));
  }
  fail("no weight has a name like ", pattern, " (", option, "): they are called ",
       names_of_weights(builder.description, ""));
}

void note_rounding(const writer::ModelBuilder& builder, Report* report) {
  writer::RoundingError all;
  report->bytes_in_f32 = report->output_bytes;
  for (size_t i = 0; i < builder.description.tensors.size(); ++i) {
    const TensorDescription& tensor = builder.description.tensors[i];
    if (tensor.type == ElementType::f32) continue;
    const writer::RoundingError& error = builder.rounding_errors()[i];
    report->rounded.push_back({std::string(tensor.name), name_of(tensor.type), error.relative()});
    all.changed += error.changed;
    all.all += error.all;
    TensorDescription wide = tensor;
    wide.type = ElementType::f32;
    if (wide.layout == TensorLayout::padded_rows) wide.layout = TensorLayout::row_major;
    report->bytes_in_f32 += writer::encoded_bytes(wide) - tensor.bytes;
  }
  report->rounding_error = all.relative();
}

// Converts the checkpoint with settings that have been read.
void convert_with(const ConvertOptions& options, const Inputs& inputs, const Settings& settings, Report* report) {
  std::optional<OwnedTokenizer> tokenizer;
  if (!inputs.tokenizer.empty()) tokenizer = load_tokenizer(inputs.tokenizer);
  Checkpoint checkpoint = Checkpoint::open(inputs.checkpoint, options.control);
  std::optional<Checkpoint> dense, norm;
  if (inputs.sentence && !inputs.sentence->dense.empty()) {
    dense = Checkpoint::open(inputs.sentence->dense, options.control);
    add_dense_tensors(*dense, &checkpoint);
  }
  if (inputs.sentence && !inputs.sentence->norm.empty()) {
    norm = Checkpoint::open(inputs.sentence->norm, options.control);
    add_norm_tensors(*norm, &checkpoint);
  }
  // The output must not replace a file that was opened or that is read later.
  refuse_output_among(checkpoint.files, options.output);
  if (!inputs.folder.empty()) refuse_output_among({cross_encoder_file(inputs.folder)}, options.output);
  refuse_output_among(label_files(options.labels), options.output);
  if (options.labels.empty() && !inputs.labels_folder.empty()) {
    refuse_output_among({labels_file(inputs.labels_folder)}, options.output);
  }
  if (dense) refuse_output_among(dense->files, options.output);
  if (norm) refuse_output_among(norm->files, options.output);
  if (tokenizer) refuse_output_among(tokenizer->files, options.output);
  if (inputs.sentence) refuse_output_among(inputs.sentence->files, options.output);
  note_checkpoint(checkpoint, report);
  writer::ModelBuilder builder(options.weight_type, options.keep);
  ModelDescription& description = builder.description;
  Settings all = settings;
  if (tokenizer && tokenizer->max_length) {
    const Value length = checkpoint.values().make(ValueKind::dict);
    length.node()->items = {checkpoint.values().make_text(tokenizer_length_setting),
                            checkpoint.values().make_integer(*tokenizer->max_length)};
    all.add_source(length, "truncation of the tokenizer");
  }
  build_model(
      checkpoint, all, &builder, report, [&](double done) { report_progress(options.control, "reading", done); },
      options.dialect);

  refuse_unused_patterns(builder, *report);

  apply_exported_labels(checkpoint, &description, report);

  if (!options.labels.empty()) {
    apply_labels(options.labels, &description, report);
  } else if (!inputs.labels_folder.empty()) {
    apply_labels_file(inputs.labels_folder, &description, report);
  }
  std::optional<ExportedTokenizer> kept;
  if (tokenizer) {
    add_tokenizer(tokenizer->view(), inputs.tokenizer, tokenizer->notes, &description, report);
    if (!tokenizer->truncation_note.empty() && !description.encoder.layers.empty()) {
      report->notes.push_back(tokenizer->truncation_note);
    }
  } else if ((kept = exported_tokenizer(checkpoint, description))) {
    add_tokenizer(kept->description, checkpoint.name, {"The tokenizer is the one that the file has in its metadata."},
                  &description, report);
  } else if (description.encoder.embedding.tokens == absent) {
    report->notes.push_back("The model takes vectors, so it has no tokenizer.");
  } else {
    report->notes.push_back("There is no tokenizer: the model takes token ids only. Give one with " +
                            placeholder(Option::tokenizer) + ".");
  }
  adjust_static_embedding_tokenizer(&description, report);
  report->weight_type = name_of(options.weight_type);
  std::string type = report->weight_type;
  for (const KeptWeights& weights : options.keep) type += ", " + weights.pattern + " " + name_of(weights.type);
  report->add_fact(
      "weight type", type,
      placeholder(Option::weight_type) + " and " + placeholder(Option::keep) + " (norms and biases stay f32)");
  report->output_bytes = builder.write(options.output, [&](uint64_t done, uint64_t bytes) {
    report_progress(options.control, "writing", static_cast<double>(done) / static_cast<double>(bytes));
  });
  report->output = options.output;
  note_rounding(builder, report);
}

Report convert(const ConvertOptions& options) {
  throw_if_cancelled(options.control);
  Report report;
  ValueStore values;
  const Inputs inputs = find_inputs(options, &values, &report);
  check_output(options, inputs);
  Settings settings = read_settings(options, inputs, &values);
  try {
    convert_with(options, inputs, settings, &report);
  } catch (const Error& error) {
    // If a setting is misspelt, the message begins with it: the misspelling has probably caused the error, or it would
    // cause the next one.
    const std::string misspelling = settings.misspelling_hint();
    if (misspelling.empty()) throw;
    throw Error(misspelling + ". Then: " + error.what());
  }
  return report;
}

}  // namespace

Report convert_checkpoint(const ConvertOptions& options) {
  return run_with_public_errors(options.control, [&] { return convert(options); });
}

}  // namespace linformer::convert
