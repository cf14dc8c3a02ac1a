#include "converter/dialects/hugging_face/sentence_transformers.h"

#include <algorithm>
#include <filesystem>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/hugging_face/prompts.h"
#include "converter/readers/error.h"
#include "converter/readers/found_file.h"
#include "converter/settings_file.h"

namespace linformer::convert {

namespace {

namespace fs = std::filesystem;

const std::string dense_prefix = "sentence_dense.", norm_prefix = "sentence_norm.";
// PyTorch's default, which sentence-transformers does not change.
constexpr float norm_epsilon = 1e-5f;

// Returns the class name of a module type: "Pooling" for "sentence_transformers.models.Pooling".
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

Value text_of(ValueStore& store, std::string text) { return store.make_text(std::move(text)); }

void set(Value settings, ValueStore& store, const char* name, Value value) {
  settings.node()->items.push_back(text_of(store, name));
  settings.node()->items.push_back(value);
}

const Pooling* find_pooling(std::string_view mode) {
  static constexpr std::pair<std::string_view, Pooling> modes[] = {{"cls", Pooling::first_token},
                                                                   {"mean", Pooling::mean},
                                                                   {"max", Pooling::max},
                                                                   {"lasttoken", Pooling::last_token},
                                                                   {"weightedmean", Pooling::weighted_mean}};
  const auto* found =
      std::find_if(std::begin(modes), std::end(modes), [&](const auto& known) { return known.first == mode; });
  return found == std::end(modes) ? nullptr : &found->second;
}

bool is_true(Value value) { return value.boolean().value_or(false); }

// Reads the modules one by one, in the order in which a text passes through them.
class Modules {
 public:
  Modules(const fs::path& folder, ValueStore& store)
      : folder_(folder),
        store_(store),
        cross_encoder_(!read_cross_encoder(folder.string(), store).is(ValueKind::null)) {
    made_.settings = store.make(ValueKind::dict);
  }

  SentenceTransformer read() {
    const std::string path = (folder_ / "modules.json").string();
    const Value modules = read_file(path);
    if (!modules.is(ValueKind::list)) fail(path, " holds a ", modules.kind_name(), ", not a list of modules");
    for (const Value& module : modules.items()) add(module);
    if (made_.transformer.empty()) fail(path, " names no Transformer module");
    if (cross_encoder_) return std::move(made_);
    if (!has_pooling_) {
      fail(path, " names no Pooling module after a Transformer, so nothing says how a text is embedded: to convert ",
           "the encoder alone, give a folder that has the Transformer's files but no modules.json");
    }
    set(made_.settings, store_, "sentence_normalize", flag(normalizes_));
    return std::move(made_);
  }

 private:
  Value read_file(const std::string& path) {
    if (!finds_file(path)) fail(path, " does not exist: download or copy it too");
    made_.files.push_back(path);
    return read_json_file(path, store_);
  }

  void add(Value module) {
    const std::string name(module.find("path").text());
    if (name.size() > 255) fail("modules.json puts a module into a folder whose name has more than 255 bytes");
    const std::string_view type = last_part(module.find("type").text());
    const fs::path place = name == "." ? "" : name;
    if (place.is_absolute() || std::find(place.begin(), place.end(), "..") != place.end()) {
      fail("modules.json puts a module into ", quote(name), ", outside of its folder");
    }
    const bool first = type == "Transformer" || type == "StaticEmbedding";
    if (made_.transformer.empty() != first) {
      refuse(type, name, "the first module, and no other, must be a Transformer or a StaticEmbedding");
    }
    if (type == "Transformer") return add_transformer(folder_ / place);
    if (type == "StaticEmbedding" && !cross_encoder_) return add_static_embedding(folder_ / place);
    if (type == "Dropout") return;  // Dropout acts only in training.
    if (cross_encoder_) refuse(type, name, "only a CrossEncoder that is one Transformer is supported");
    if (!has_pooling_ && type == "Pooling") return add_pooling(folder_ / place);
    if (has_pooling_ && type == "Normalize") return void(normalizes_ = true);
    const bool open = has_pooling_ && !normalizes_ && made_.norm.empty();
    if (open && made_.dense.empty() && type == "Dense") return add_dense(folder_ / place);
    if (open && type == "LayerNorm") return void(made_.norm = weights_in(folder_ / place));
    refuse(type, name,
           "supported are, in this order: Transformer and Pooling, or StaticEmbedding; then at most one each of Dense, "
           "LayerNorm and Normalize");
  }

  [[noreturn]] static void refuse(std::string_view type, const std::string& name, const char* reason) {
    fail("modules.json has the module ", quote(type), name.empty() ? "" : " in ", name.empty() ? "" : quote(name), ": ",
         reason);
  }

  Value flag(bool truth) {
    const Value value = store_.make(ValueKind::boolean);
    value.node()->integer = truth;
    return value;
  }

  void set_first(const fs::path& folder) {
    made_.transformer = folder.string();
    // If a path was joined with an empty one, it ends in a slash, which is removed.
    if (!folder.has_filename()) made_.transformer = folder.parent_path().string();
    if (!cross_encoder_) add_prompt_settings();
  }

  void add_static_embedding(const fs::path& folder) {
    set_first(folder);
    set(made_.settings, store_, "sentence_pooling", text_of(store_, "mean"));
    has_pooling_ = true;
  }

  void add_transformer(const fs::path& folder) {
    set_first(folder);
    for (const char* name :
         {"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
          "sentence_xlm-roberta_config.json", "sentence_camembert_config.json"}) {
      if (!finds_file(folder / name)) continue;
      const Value config = read_file((folder / name).string());
      if (const std::optional<int64_t> longest = config.find("max_seq_length").integer()) {
        set(made_.settings, store_, "max_seq_length", store_.make_integer(*longest));
        made_.notes.push_back("Texts are cut to " + std::to_string(*longest) + " tokens, as " + name +
                              " says; for another length give max_seq_length with " + placeholder(Option::config) +
                              ".");
      }
      if (is_true(config.find("do_lower_case"))) {
        made_.notes.push_back(std::string(name) +
                              " lowers the case of texts before they reach the tokenizer: do so too.");
      }
    }
  }

  void add_prompt_settings() {
    const fs::path path = folder_ / "config_sentence_transformers.json";
    if (!finds_file(path)) return;
    const Value config = read_file(path.string());
    for (const auto& [theirs, ours] :
         {std::pair("prompts", prompts_setting), std::pair("default_prompt_name", default_prompt_setting)}) {
      const Value value = config.find(theirs);
      if (!value.is(ValueKind::null)) set(made_.settings, store_, ours, value);
    }
  }

  void add_pooling(const fs::path& folder) {
    const std::string path = (folder / "config.json").string();
    const Value config = read_file(path);
    std::vector<std::string> modes;
    // Since v5 the file names the mode; before, it had a flag for each mode.
    const Value named = config.find("pooling_mode");
    if (named.is(ValueKind::text)) modes.emplace_back(named.text());
    for (const Value& mode : named.items()) modes.emplace_back(mode.text());
    static constexpr std::pair<const char*, const char*> flags[] = {
        {"pooling_mode_cls_token", "cls"},
        {"pooling_mode_mean_tokens", "mean"},
        {"pooling_mode_max_tokens", "max"},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
        {"pooling_mode_weightedmean_tokens", "weightedmean"},
        {"pooling_mode_lasttoken", "lasttoken"}};
    for (const auto& [flag, mode] : flags) {
      if (is_true(config.find(flag))) modes.emplace_back(mode);
    }
    if (modes.size() != 1 || find_pooling(modes[0]) == nullptr) {
      std::string all;
      for (const std::string& mode : modes) all += (all.empty() ? "" : ", ") + mode;
      fail(path, " pools by ", all.empty() ? "nothing" : quote(all), "; one of cls, mean, max, lasttoken ",
           "and weightedmean is supported");
    }
    set(made_.settings, store_, "sentence_pooling", text_of(store_, modes[0]));
    const Value included = config.find("include_prompt");
    if (!included.is(ValueKind::null)) set(made_.settings, store_, include_prompt_setting, included);
    has_pooling_ = true;
  }

  void add_dense(const fs::path& folder) {
    const std::string path = (folder / "config.json").string();
    const Value config = read_file(path);
    std::string activation(last_part(config.find("activation_function").text()));
    set(made_.settings, store_, "sentence_dense_activation", text_of(store_, std::move(activation)));
    made_.dense = weights_in(folder);
  }

  static std::string weights_in(const fs::path& folder) {
    for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
      if (finds_file(folder / name)) return (folder / name).string();
    }
    fail(folder.string(), " holds neither model.safetensors nor pytorch_model.bin");
  }

  const fs::path folder_;
  ValueStore& store_;
  SentenceTransformer made_;
  const bool cross_encoder_;
  bool has_pooling_ = false, normalizes_ = false;
};

Activation dense_activation(const Settings& settings) {
  const std::optional<Setting<std::string>> said = settings.text("sentence_dense_activation");
  if (!said)
    fail("no setting gives the activation after the Dense module: give ",
         config_option(R"({"sentence_dense_activation": "Tanh"})"), ", or Identity, ReLU, GELU, Sigmoid");
  return activation_named(said->value, "the activation after the Dense module (" + said->source + ")");
}

}  // namespace

std::string cross_encoder_file(const std::string& folder) {
  return (fs::path(folder) / "config_sentence_transformers.json").string();
}

Value read_cross_encoder(const std::string& folder, ValueStore& store) {
  const std::string path = cross_encoder_file(folder);
  if (!finds_file(path)) return {};
  const Value config = read_json_file(path, store);
  if (config.find("model_type").text() != "CrossEncoder") return {};
  const Value settings = store.make(ValueKind::dict), group = store.make(ValueKind::dict);
  const Value activation = config.find("activation_fn");
  if (!activation.is(ValueKind::null)) {
    set(group, store, "activation_fn", activation);
    set(settings, store, "sentence_transformers", group);
  }
  return settings;
}

std::optional<SentenceTransformer> read_sentence_transformer(const std::string& folder, ValueStore& store) {
  if (!finds_file(fs::path(folder) / "modules.json")) return std::nullopt;
  return Modules(folder, store).read();
}

namespace {

void add_module_tensors(const Checkpoint& from, const std::string& prefix, Checkpoint* checkpoint) {
  const uint32_t first = static_cast<uint32_t>(checkpoint->storages().size());
  for (const Storage& storage : from.storages()) checkpoint->storages().push_back(storage);
  checkpoint->budget().raise_limits(from.budget().structure_bytes());
  checkpoint->budget().raise_tensor_limit(from.budget().file_bytes());
  for (const Tensor& tensor : checkpoint->tensors) {
    if (tensor.name.starts_with(prefix))
      fail(checkpoint->name, " has the tensor ", quote(tensor.name),
           ", whose name is reserved for the modules of sentence-transformers: rename it");
  }
  for (Tensor tensor : from.tensors) {
    tensor.name = prefix + tensor.name;
    tensor.storage += first;
    checkpoint->add_tensor(std::move(tensor));
  }
}

}  // namespace

void add_dense_tensors(const Checkpoint& from, Checkpoint* checkpoint) {
  add_module_tensors(from, dense_prefix, checkpoint);
}

void add_norm_tensors(const Checkpoint& from, Checkpoint* checkpoint) {
  add_module_tensors(from, norm_prefix, checkpoint);
}

bool has_module_tensors(const Checkpoint& checkpoint) {
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), [](const Tensor& tensor) {
    return tensor.name.starts_with(dense_prefix) || tensor.name.starts_with(norm_prefix);
  });
}

bool add_sentence_embedding(Conversion& conversion, TensorTable& tensors, const Settings& settings) {
  const std::optional<Setting<std::string>> pooling = settings.text("sentence_pooling");
  if (!pooling) return false;
  const Pooling* mode = find_pooling(pooling->value);
  if (mode == nullptr) {
    fail("the setting sentence_pooling is ", quote(pooling->value), " (", pooling->source,
         "); cls, mean, max, lasttoken and weightedmean are supported");
  }
  SentenceEmbedding& embedding = conversion.description.embedding;
  embedding.present = true;
  embedding.pooling = *mode;
  std::string steps = pooling->value;
  if (const Tensor* weight = tensors.use(dense_prefix + "linear.weight")) {
    embedding.dense =
        conversion.weights.linear("embedding.dense", *weight, tensors.use(dense_prefix + "linear.bias"),
                                  {0, "out_features"}, {conversion.description.encoder.d_model, "d_model"});
    embedding.activation = dense_activation(settings);
    steps += ", dense to " + std::to_string(weight->shape[0]) + ", " + name_of(embedding.activation);
  }
  if (tensors.any(norm_prefix + "norm.*")) {
    const uint64_t width = embedding.dense.present()
                               ? conversion.description.tensors[static_cast<size_t>(embedding.dense.weight)].shape[0]
                               : conversion.description.encoder.d_model;
    embedding.norm =
        read_norm(conversion, tensors, "embedding.norm", norm_prefix + "norm", {width, "sentence embedding"});
    embedding.norm.epsilon = norm_epsilon;
    steps += ", norm";
  }
  const std::optional<Setting<bool>> normalize = settings.flag("sentence_normalize");
  embedding.normalize = normalize && normalize->value;
  if (embedding.normalize) steps += ", divided by its length";
  conversion.report.add_fact("sentence embedding", steps, "sentence_pooling, " + pooling->source);
  add_prompts(conversion, settings);
  return true;
}

}  // namespace linformer::convert
