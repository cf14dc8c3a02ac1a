#include "converter/dialects/rotary_bert/rotary_bert.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/hugging_face/sentence_transformers.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/dialects/hugging_face/vocabulary.h"
#include "converter/dialects/rotary_bert/names.h"
#include "converter/dialects/rotary_bert/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace rotary_bert;

constexpr const char *word_embeddings = "embeddings.word_embeddings.weight", *layers = "layers.",
                     *pooler = "pooler.dense";

// The names and properties in which the two models still differ when their tensors have canonical names.
struct Model {
  const char *name, *masked_lm, *masked_lm_norm, *masked_lm_bias;
  Activation activation;
  float rotary_base;
  int64_t positions, pad;
};
constexpr Model nomic = {"NomicBERT",
                         "cls.predictions.transform",
                         "cls.predictions.transform.layer_norm",
                         "cls.predictions.bias",
                         Activation::silu,
                         1000,
                         2048,
                         0};
constexpr Model gte = {"GTE", "lm_head", "lm_head.layer_norm", "lm_head.decoder.bias", Activation::gelu, 160000,
                       8192,  1};

// The state of one conversion, which its steps share.
class RotaryBertConverter {
 public:
  explicit RotaryBertConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(user_and_checkpoint_settings(conversion)),
        report_(conversion.report),
        encoder_(conversion.description.encoder),
        model_(model()) {}

  void run() {
    refuse_unsupported(settings_);
    read_sizes();
    add_embedding();
    rule_ = rotary_rule(settings_, head_dim_, model_.rotary_base, report_);
    encoder_.projections = {Projection{.kind = ProjectionKind::none}};
    for (uint32_t i = 0; i < layers_; ++i) add_layer(i);
    report_.add_fact("attention", "full", "the family's: nothing is compressed");
    add_masked_lm();
    add_classifier();
    if (!add_sentence_embedding(conversion_, tensors_, settings_)) {
      report_.add_fact("sentence embedding", "none", "there is no modules.json");
    }
    tensors_.report_or_reject_unused(unused_names(), model_.name, report_);
  }

 private:
  const Model& model() const;
  std::string output_name() const {
    return std::string(model_.masked_lm == nomic.masked_lm ? "cls.predictions" : "lm_head") + ".decoder.weight";
  }
  const Tensor& use_tokens() {
    return hugging_face::token_embedding(tensors_, settings_, word_embeddings, output_name().c_str());
  }
  Size d_model() const { return {encoder_.d_model, "d_model"}; }
  Norm norm(const std::string& role, const std::string& name) {
    Norm made = read_norm(conversion_, tensors_, role, name, d_model());
    made.epsilon = epsilon_;
    return made;
  }
  Linear linear(const std::string& role, const std::string& name, Size out, Size in) {
    return read_linear_maybe_bias(conversion_, tensors_, role, name, out, in);
  }
  void read_sizes();
  void add_embedding();
  void add_attention(const std::string& prefix, const std::string& role, AttentionDescription* attention);
  uint64_t add_network(const std::string& prefix, const std::string& role, LayerDescription* layer);
  void add_layer(uint32_t index);
  void add_masked_lm();
  void add_classifier();

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  Report& report_;
  EncoderDescription& encoder_;
  const Model& model_;
  RotaryRule rule_;
  uint32_t layers_ = 0, heads_ = 0, head_dim_ = 0;
  float epsilon_ = 0;
  Activation activation_ = Activation::silu;
};

const Model& RotaryBertConverter::model() const {
  const std::optional<Setting<std::string>> said = settings_.text("model_type");
  if (!said) {
    fail(
        "NomicBERT and GTE have layers of the same shape, so the checkpoint does not say which it is: give the "
        "model's ",
        "config.json with ", placeholder(Option::config), ", or ", config_option(R"({"model_type": "nomic_bert"})"),
        " or ", config_option(R"({"model_type": "gte"})"));
  }
  const Model& found = said->value == "nomic_bert" ? nomic : gte;
  if (&found == &gte && said->value != "gte" && said->value != "new") {
    fail("the model_type ", quote(said->value), " (", said->source,
         ") does not belong to these tensors, which are those of nomic_bert, gte or new");
  }
  report_.add_fact("model type", said->value, "model_type, " + said->source);
  return found;
}

void RotaryBertConverter::read_sizes() {
  const Tensor& tokens = use_tokens();
  encoder_.vocab_size = dimension(tokens, 0);
  encoder_.d_model = dimension(tokens, 1);
  layers_ = count_modules(tensors_, layers);
  encoder_.pad_id = hugging_face::pad_token_of(settings_, model_.pad, encoder_.vocab_size, report_);
  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + tokens.name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
  report_.add_fact("layers", std::to_string(layers_), "names of the tensors");
  check_agreement(settings_, name_in_settings(settings_, "hidden_size", "n_embd"), encoder_.d_model, "channels");
  check_agreement(settings_, name_in_settings(settings_, "num_hidden_layers", "n_layer"), layers_, "layers");
  heads_ = read_head_count(settings_, name_in_settings(settings_, "num_attention_heads", "n_head"), encoder_.d_model,
                           report_, ", or the model's config.json: " + placeholder(Option::config) + " config.json");
  head_dim_ = encoder_.d_model / heads_;
  check_agreement(settings_, "head_dim", head_dim_, "channels in a head");
  if (head_dim_ % 2 != 0)
    fail("heads of ", head_dim_, " channels can't be rotated in pairs: the number of heads is wrong");
  encoder_.max_tokens = longest_text(settings_, model_.positions, report_);
  activation_ = gate_activation(settings_, model_.activation, report_);
  epsilon_ =
      number_below(settings_, name_in_settings(settings_, "layer_norm_eps", "layer_norm_epsilon"), 1, 1e-12f, report_);
}

void RotaryBertConverter::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  embedding.tokens =
      conversion_.weights.table("embedding.tokens", use_tokens(), {encoder_.vocab_size, "vocabulary"}, d_model());
  if (const Tensor* types = tensors_.use("embeddings.token_type_embeddings.weight")) {
    embedding.token_types = conversion_.weights.table("embedding.token_types", *types, {0, "token types"}, d_model());
  }
  embedding.norm = norm("embedding.norm", "embeddings.LayerNorm");
}

void RotaryBertConverter::add_attention(const std::string& prefix, const std::string& role,
                                        AttentionDescription* attention) {
  const uint64_t d = encoder_.d_model;
  const std::array members = {&attention->query, &attention->key, &attention->value};
  const Tensor* packed = tensors_.use(prefix + "qkv_proj.weight");
  if (packed == nullptr) {
    constexpr const char* names[] = {"q_proj", "k_proj", "v_proj"};
    for (size_t i = 0; i < members.size(); ++i) {
      *members[i] = linear(role + packed_roles[i], prefix + names[i], d_model(), d_model());
    }
  } else {
    const Tensor* bias = tensors_.use(prefix + "qkv_proj.bias");
    if (dimension(*packed, 0) != 3 * d || (bias != nullptr && dimension(*bias, 0) != 3 * d)) {
      fail("the tensor ", quote(packed->name), " is ", shape_text(*packed), ": it should have ", 3 * d,
           " rows, those of query, key and value");
    }
    for (size_t i = 0; i < members.size(); ++i) {
      const Tensor part = packed_part(*packed, i, d);
      const std::optional<Tensor> part_bias = bias ? std::optional(packed_part(*bias, i, d)) : std::nullopt;
      *members[i] = conversion_.weights.linear(role + packed_roles[i], part, part_bias ? &*part_bias : nullptr,
                                               d_model(), d_model());
    }
  }
  attention->output = linear(role + "output", prefix + "o_proj", d_model(), d_model());
}

// Reads a gated feed-forward network and returns its width. In the model file the gate's rows come first, because the
// runtime activates the first half.
uint64_t RotaryBertConverter::add_network(const std::string& prefix, const std::string& role, LayerDescription* layer) {
  std::vector<Tensor> weights, biases;
  if (const Tensor* packed = tensors_.use(prefix + "up_gate_proj.weight")) {
    const uint64_t rows = dimension(*packed, 0);
    if (rows % 2 != 0) {
      fail("the tensor ", quote(packed->name), " is ", shape_text(*packed),
           ": one half of its rows should be gates, so their number must be even");
    }
    weights = {slice_rows(*packed, rows / 2, rows / 2), slice_rows(*packed, 0, rows / 2)};
  } else {
    weights = {tensors_.need(prefix + "gate_proj.weight"), tensors_.need(prefix + "up_proj.weight")};
    const Tensor *gate = tensors_.use(prefix + "gate_proj.bias"), *up = tensors_.use(prefix + "up_proj.bias");
    if ((gate == nullptr) != (up == nullptr)) {
      fail("the tensors ", prefix, "gate_proj.bias and ", prefix, "up_proj.bias are not both there");
    }
    if (gate != nullptr) biases = {*gate, *up};
  }
  const uint64_t width = dimension(weights[0], 0);
  layer->ffn_in =
      conversion_.weights.stacked_linear(role + "ffn_in", weights, biases, {2 * width, "ffn width"}, d_model());
  layer->ffn_out = linear(role + "ffn_out", prefix + "down_proj", d_model(), {width, "ffn width"});
  layer->gated = true;
  layer->activation = activation_;
  return width;
}

void RotaryBertConverter::add_layer(uint32_t index) {
  LayerDescription& layer = encoder_.layers.emplace_back();
  const std::string prefix = layers + std::to_string(index) + ".";
  const std::string role = "layers[" + std::to_string(index) + "].";
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = head_dim_;
  attention.scale = usual_scale(head_dim_);
  attention.row_mask = RowMask::excluded;
  attention.key_projections = attention.value_projections = {0};
  attention.rotary_base = rule_.base;
  attention.rotary_scale = rule_.scale;
  add_attention(prefix + "self_attn.", role + "attention.", &attention);
  layer.attention_norm = norm(role + "attention_norm", prefix + "post_attention_layernorm");
  const uint64_t width = add_network(prefix + "mlp.", role, &layer);
  layer.ffn_norm = norm(role + "ffn_norm", prefix + "post_mlp_layernorm");
  if (index == 0) report_.add_fact("ffn width", std::to_string(width), "rows of the gate");
  check_agreement(settings_, name_in_settings(settings_, "intermediate_size", "n_inner"), static_cast<int64_t>(width),
                  "channels inside the ffn");
}

void RotaryBertConverter::add_masked_lm() {
  const std::string dense = std::string(model_.masked_lm) + ".dense";
  if (!tensors_.any(dense + ".*")) {
    report_.add_fact("masked-LM head", "none", dense + " is absent");
    return;
  }
  MaskedLmHead& mlm = conversion_.description.mlm;
  mlm.dense = linear("mlm.dense", dense, d_model(), d_model());
  mlm.activation = &model_ == &nomic ? activation_ : Activation::gelu;
  mlm.norm = norm("mlm.norm", model_.masked_lm_norm);
  hugging_face::add_vocabulary_output(conversion_, tensors_, settings_, word_embeddings, output_name().c_str(),
                                      d_model());
  const Size vocabulary{encoder_.vocab_size, "vocabulary"};
  for (const char* name : {model_.masked_lm_bias, "cls.predictions.decoder.bias"}) {
    if (const Tensor* bias = tensors_.use(name)) {
      mlm.output.bias = conversion_.weights.floats("mlm.output.bias", *bias, {vocabulary});
    }
  }
}

void RotaryBertConverter::add_classifier() {
  if (!tensors_.any("classifier.*")) return;
  const std::optional<std::string> architecture = hugging_face::architecture_suffix(settings_);
  const bool pooled = tensors_.any(std::string(pooler) + ".*");
  const bool each = architecture ? *architecture == "ForTokenClassification" : !pooled;
  ClassificationHead& head = conversion_.description.heads.emplace_back();
  head.name = "classifier";
  head.pooling = each ? Pooling::none : Pooling::first_token;
  if (!each) {
    head.dense = linear("heads[classifier].dense", pooler, d_model(), d_model());
    head.activation = Activation::tanh;
  }
  head.output = linear("heads[classifier].output", "classifier", {0, "classes"}, d_model());
  hugging_face::report_outputs(conversion_, head, "", "shape of classifier.weight");
  hugging_face::label_outputs(conversion_, settings_, &head);
}

}  // namespace

DialectFacts RotaryBert::facts() const {
  return {"NomicBERT and GTE: rotary positions and gated networks; sentence-transformers",
          "https://github.com/huggingface/transformers",
          {{R"({"num_attention_heads": 12})", "always (n_head in NomicBERT's own code); config.json has it"},
           {R"({"model_type": "nomic_bert"})", "always; or gte, or new; config.json has it"},
           {R"({"architectures": ["NewForTokenClassification"]})", "models with both a pooler and a classifier"},
           {R"({"sentence_pooling": "mean"})", "sentence embeddings, if there is no modules.json; or cls, max"}}};
}

Recognition RotaryBert::recognise(const Checkpoint& checkpoint) const {
  static const std::string norm = "layers.0.post_mlp_layernorm.weight", gate = "layers.0.mlp.gate_proj.weight",
                           packed = "layers.0.mlp.up_gate_proj.weight";
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool has_norm = false;
  const Tensor* gates = nullptr;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    has_norm = has_norm || name == norm;
    if (name == gate || name == packed) gates = &tensor;
  }
  if (!has_norm || gates == nullptr) {
    return {0, norm + " and " + gate + ", or what NomicBERT's and GTE's own code calls them (not there)"};
  }
  return {100, "the tensor " + gates->name + " and the norm behind it"};
}

void RotaryBert::convert(Conversion& conversion) const { RotaryBertConverter(conversion).run(); }

}  // namespace linformer::convert
