#include "converter/dialects/modernbert/modernbert.h"

#include <algorithm>

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/hugging_face/sentence_transformers.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/dialects/hugging_face/vocabulary.h"
#include "converter/dialects/modernbert/settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace modernbert;
using hugging_face::activation_of;
using hugging_face::architecture_suffix;

constexpr const char *token_embeddings = "embeddings.tok_embeddings.weight", *decoder = "decoder.weight";
constexpr const char* layer_names = "layers.";

// Returns the name without the prefix that the encoder's tensors have in models with a head.
std::string canonical_name(std::string name) {
  if (name.starts_with("model.")) name.erase(0, 6);
  return name;
}

// The state of one conversion, which its steps share.
class ModernBertConverter {
 public:
  explicit ModernBertConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(user_and_checkpoint_settings(conversion)),
        report_(conversion.report),
        encoder_(conversion.description.encoder) {}

  void run() {
    hugging_face::refuse_unsupported(settings_);
    read_sizes();
    add_embedding();
    rules_ = layer_attention_rules(settings_, layers_, head_dim_, report_);
    encoder_.projections = {Projection{.kind = ProjectionKind::none}};
    for (uint32_t i = 0; i < layers_; ++i) add_layer(i);
    encoder_.final_norm = norm("final_norm", "final_norm");
    add_masked_lm();
    add_classifier();
    if (!add_sentence_embedding(conversion_, tensors_, settings_)) {
      report_.add_fact("sentence embedding", "none", "there is no modules.json");
    }
    static constexpr NamePattern unused[] = {{"head.**", "no output of the model reads the prediction head"},
                                             {"rotary_emb.**", "frequencies that the settings give, not weights"},
                                             {"layers.*.attn.rotary_emb.**", "frequencies that the settings give"}};
    tensors_.report_or_reject_unused(unused, "a ModernBERT", report_);
  }

 private:
  Size d_model() const { return {encoder_.d_model, "d_model"}; }
  Norm norm(const std::string& role, const std::string& name) {
    Norm made = read_norm_maybe_bias(conversion_, tensors_, role, name, d_model());
    made.epsilon = epsilon_;
    return made;
  }
  Linear linear(const std::string& role, const std::string& name, Size out, Size in) {
    return read_linear_maybe_bias(conversion_, tensors_, role, name, out, in);
  }
  const Tensor& use_tokens() { return hugging_face::token_embedding(tensors_, settings_, token_embeddings, decoder); }
  void read_sizes();
  void add_embedding();
  void add_layer(uint32_t index);
  void add_packed_attention(const std::string& prefix, const std::string& role, AttentionDescription* attention);
  void add_masked_lm();
  void add_classifier();

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  Report& report_;
  EncoderDescription& encoder_;
  std::vector<LayerRule> rules_;
  uint32_t layers_ = 0, heads_ = 0, head_dim_ = 0;
  float epsilon_ = 0;
  Activation activation_ = Activation::gelu;
};

void ModernBertConverter::read_sizes() {
  const Tensor& tokens = use_tokens();
  encoder_.vocab_size = dimension(tokens, 0);
  encoder_.d_model = dimension(tokens, 1);
  layers_ = count_modules(tensors_, layer_names);
  encoder_.pad_id = hugging_face::pad_token_of(settings_, usual_pad, encoder_.vocab_size, report_);
  encoder_.norm_placement = NormPlacement::pre;
  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + tokens.name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
  report_.add_fact("layers", std::to_string(layers_), "names of the tensors");
  check_agreement(settings_, "hidden_size", encoder_.d_model, "channels");
  check_agreement(settings_, "num_hidden_layers", layers_, "layers");
  check_agreement(settings_, "vocab_size", encoder_.vocab_size, "tokens");
  heads_ = read_head_count(settings_, "num_attention_heads", encoder_.d_model, report_,
                           ", or the model's config.json: " + placeholder(Option::config) + " config.json");
  head_dim_ = encoder_.d_model / heads_;
  if (head_dim_ % 2 != 0) {
    fail("the setting num_attention_heads gives heads of ", head_dim_,
         " channels: rotary positions rotate them in pairs");
  }
  encoder_.max_tokens = longest_text(settings_, report_);
  activation_ = activation_of(settings_, "hidden_activation", report_);
  epsilon_ = number_below(settings_, "norm_eps", 1, 1e-5f, report_);
}

void ModernBertConverter::add_embedding() {
  encoder_.embedding.tokens =
      conversion_.weights.table("embedding.tokens", use_tokens(), {encoder_.vocab_size, "vocabulary"}, d_model());
  encoder_.embedding.norm = norm("embedding.norm", "embeddings.norm");
}

void ModernBertConverter::add_packed_attention(const std::string& prefix, const std::string& role,
                                               AttentionDescription* attention) {
  const Tensor& weight = tensors_.need(prefix + "Wqkv.weight");
  const Tensor* bias = tensors_.use(prefix + "Wqkv.bias");
  const uint64_t d = encoder_.d_model;
  if (dimension(weight, 0) != 3 * d || (bias != nullptr && dimension(*bias, 0) != 3 * d)) {
    fail("the tensor ", quote(weight.name), " is ", shape_text(weight), ": it should have ", 3 * d,
         " rows, those of query, key and value");
  }
  const std::array members = {&attention->query, &attention->key, &attention->value};
  for (size_t i = 0; i < members.size(); ++i) {
    const Tensor part = packed_part(weight, i, d);
    const std::optional<Tensor> part_bias = bias ? std::optional(packed_part(*bias, i, d)) : std::nullopt;
    *members[i] = conversion_.weights.linear(role + packed_roles[i], part, part_bias ? &*part_bias : nullptr,
                                             {d, "d_model"}, d_model());
  }
  attention->output = linear(role + "output", prefix + "Wo", d_model(), d_model());
}

void ModernBertConverter::add_layer(uint32_t index) {
  LayerDescription& layer = encoder_.layers.emplace_back();
  const std::string prefix = layer_names + std::to_string(index) + ".";
  const std::string role = "layers[" + std::to_string(index) + "].";
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = head_dim_;
  attention.scale = usual_scale(head_dim_);
  attention.row_mask = RowMask::excluded;
  attention.key_projections = attention.value_projections = {0};
  attention.rotary_base = rules_[index].rotary_base;
  attention.window = rules_[index].window;
  add_packed_attention(prefix + "attn.", role + "attention.", &attention);
  // The first layer has no norm before its attention, because the embedding's norm comes right before it.
  if (index > 0) layer.attention_norm = norm(role + "attention_norm", prefix + "attn_norm");
  layer.gated = true;
  layer.activation = activation_;
  const Tensor& inner = tensors_.need(prefix + "mlp.Wi.weight");
  const uint64_t rows = dimension(inner, 0);
  if (rows % 2 != 0) {
    fail("the tensor ", quote(inner.name), " is ", shape_text(inner),
         ": one half of its rows should be gates, so their number must be even");
  }
  layer.ffn_in = linear(role + "ffn_in", prefix + "mlp.Wi", {rows, "ffn width"}, d_model());
  layer.ffn_out = linear(role + "ffn_out", prefix + "mlp.Wo", d_model(), {rows / 2, "ffn width"});
  layer.ffn_norm = norm(role + "ffn_norm", prefix + "mlp_norm");
  if (index == 0) report_.add_fact("ffn width", std::to_string(rows / 2), "half the rows of " + inner.name);
  check_agreement(settings_, "intermediate_size", static_cast<int64_t>(rows / 2), "channels inside the ffn");
}

void ModernBertConverter::add_masked_lm() {
  // A decoder that is tied to the token embedding and has no bias may have no tensors of its own. Then head.dense shows
  // that there is a masked-LM head.
  const bool tied = tensors_.any("head.dense.*") && !tensors_.any("classifier.*");
  if (!tied && !tensors_.any("decoder.*")) {
    report_.add_fact("masked-LM head", "none", "decoder is absent");
    return;
  }
  MaskedLmHead& mlm = conversion_.description.mlm;
  mlm.dense = linear("mlm.dense", "head.dense", d_model(), d_model());
  mlm.activation = activation_of(settings_, "classifier_activation", report_);
  mlm.norm = norm("mlm.norm", "head.norm");
  hugging_face::add_vocabulary_output(conversion_, tensors_, settings_, token_embeddings, decoder, d_model());
  if (const Tensor* bias = tensors_.use("decoder.bias")) {
    mlm.output.bias = conversion_.weights.floats("mlm.output.bias", *bias, {{encoder_.vocab_size, "vocabulary"}});
  }
}

void ModernBertConverter::add_classifier() {
  if (!tensors_.any("classifier.*")) return;
  const HeadChoice choice = head_choice(settings_);
  ClassificationHead& head = conversion_.description.heads.emplace_back();
  head.name = choice.answers_questions ? "qa_outputs" : "classifier";
  head.pooling = choice.pooling;
  const std::string role = "heads[" + head.name + "].";
  head.dense = linear(role + "dense", "head.dense", d_model(), d_model());
  head.activation = activation_of(settings_, "classifier_activation", report_);
  head.norm = norm(role + "norm", "head.norm");
  head.norm_after_dense = true;
  head.output = linear(role + "output", "classifier", {0, "classes"}, d_model());
  hugging_face::report_outputs(conversion_, head, choice.pooling_name, "shape of classifier.weight; " + choice.source);
  if (choice.answers_questions) {
    hugging_face::label_answer_outputs(conversion_, settings_, &head);
  } else {
    hugging_face::label_outputs(conversion_, settings_, &head);
  }
}

}  // namespace

DialectFacts ModernBert::facts() const {
  return {"ModernBERT and its family: windows, two rotary bases, gated networks; sentence-transformers",
          "https://github.com/huggingface/transformers",
          {{R"({"num_attention_heads": 12})", "always; config.json of the model's folder has it"},
           {R"({"architectures": ["ModernBertForSequenceClassification"]})", "models with a classifier"},
           {R"({"sentence_pooling": "mean"})", "sentence embeddings, if there is no modules.json; or cls, max"}}};
}

Recognition ModernBert::recognise(const Checkpoint& checkpoint) const {
  static const std::string packed = "layers.0.attn.Wqkv.weight", gates = "layers.0.mlp.Wi.weight";
  const size_t prefix = wrapper_prefix_length(checkpoint);
  bool has_packed = false, has_gates = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    has_packed = has_packed || name == packed;
    has_gates = has_gates || name == gates;
  }
  if (!has_packed || !has_gates) return {0, packed + " and " + gates + " (not there)"};
  return {100, "the tensors " + packed + " and " + gates};
}

void ModernBert::convert(Conversion& conversion) const { ModernBertConverter(conversion).run(); }

}  // namespace linformer::convert
