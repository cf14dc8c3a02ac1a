#include "converter/dialects/hugging_face.h"

#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face_heads.h"
#include "converter/dialects/hugging_face_settings.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace hugging_face;

constexpr const char* word_embeddings = "embeddings.word_embeddings.weight";
constexpr const char* position_embeddings = "embeddings.position_embeddings.weight";

// One conversion on its way: the tables that its steps share.
class Converter {
 public:
  explicit Converter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(settings_beside(conversion)),
        family_(family_of(settings_, conversion.checkpoint, conversion.report)),
        encoder_(conversion.description.encoder),
        report_(conversion.report) {}

  void run() {
    refuse();
    read_sizes();
    add_embedding();
    encoder_.projections = {Projection{.kind = ProjectionKind::none}};
    for (uint32_t i = 0; i < layers_; ++i) add_layer(i);
    report_.add_fact("attention", "full", "the family's: nothing is compressed");
    const HeadInputs inputs{conversion_, tensors_, settings_, family_, epsilon_};
    add_masked_lm(inputs);
    add_heads(inputs);
    tensors_.account_for_rest(unused_names(), "a BERT, RoBERTa or DistilBERT", report_);
  }

 private:
  Size d_model() const { return {encoder_.d_model, "d_model"}; }
  Norm norm(const std::string& role, const std::string& name) {
    Norm made = read_norm(conversion_, tensors_, role, name, d_model());
    made.epsilon = epsilon_;
    return made;
  }

  void refuse() const;
  void read_sizes();
  const Tensor& use_tokens();
  void add_embedding();
  void add_layer(uint32_t index);

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  const Family& family_;
  EncoderDescription& encoder_;
  Report& report_;
  uint32_t layers_ = 0, heads_ = 0;
  float epsilon_ = 0;
  Activation activation_ = Activation::gelu;
};

void Converter::refuse() const {
  refuse_unsupported(settings_);
  if (tensors_.any(family_.layers + std::string("*.crossattention.**"))) {
    fail("the tensors ", family_.layers, "*.crossattention.* belong to a decoder, which is not supported");
  }
}

// The token embedding; where safetensors kept the other name of the tied pair, that.
const Tensor& Converter::use_tokens() {
  if (const Tensor* tokens = tensors_.use(word_embeddings)) return *tokens;
  const Tensor* output = tensors_.use(family_.masked_lm.output);
  const std::optional<Setting<bool>> tie = settings_.flag("tie_word_embeddings");
  if (output == nullptr || (tie && !tie->value)) return tensors_.need(word_embeddings);
  return *output;
}

void Converter::read_sizes() {
  const Tensor& tokens = use_tokens();
  const Tensor& positions = tensors_.need(position_embeddings);
  encoder_.vocab_size = dimension(tokens, 0);
  encoder_.d_model = dimension(tokens, 1);
  layers_ = count_modules(tensors_, family_.layers);
  encoder_.pad_id = pad_of(settings_, family_, encoder_.vocab_size, report_);
  const uint32_t rows = dimension(positions, 0);
  const uint32_t first = family_.positions_after_pad ? static_cast<uint32_t>(encoder_.pad_id) + 1 : 0;
  if (rows <= first) {
    fail("the tensor ", quote(positions.name), " is ", shape_text(positions), ": the first token has row ", first);
  }
  encoder_.max_tokens = rows - first;
  encoder_.embedding.position_offset = first;
  std::string longest_source = "rows of " + positions.name + (first ? " from row " + std::to_string(first) : "");
  // sentence-transformers cuts texts before the model does.
  const std::optional<Setting<int64_t>> cut = settings_.integer("max_seq_length");
  if (cut && (cut->value < 1 || cut->value > encoder_.max_tokens)) {
    fail("the setting max_seq_length is ", cut->value, " (", cut->source, "): the model takes 1 to ",
         encoder_.max_tokens, " tokens");
  }
  if (cut) {
    encoder_.max_tokens = static_cast<uint32_t>(cut->value);
    longest_source = "max_seq_length, " + cut->source;
  }

  report_.add_fact("d_model", std::to_string(encoder_.d_model), "shape of " + tokens.name);
  report_.add_fact("vocabulary", std::to_string(encoder_.vocab_size), "shape of " + tokens.name);
  report_.add_fact("layers", std::to_string(layers_), "names of the tensors");
  report_.add_fact("longest text (N)", std::to_string(encoder_.max_tokens), longest_source);
  check_agreement(settings_, family_.settings.width, encoder_.d_model, "channels");
  check_agreement(settings_, family_.settings.layers, layers_, "layers");
  check_agreement(settings_, "vocab_size", encoder_.vocab_size, "tokens");
  check_agreement(settings_, "max_position_embeddings", rows, "rows of positions");
  heads_ = needed_heads(settings_, family_.settings.heads, encoder_.d_model, report_);
  activation_ = activation_of(settings_, family_.settings.activation, report_);
  epsilon_ = epsilon_of(settings_, family_, report_);
}

void Converter::add_embedding() {
  EmbeddingDescription& embedding = encoder_.embedding;
  WeightWriter& weights = conversion_.weights;
  embedding.tokens = weights.table("embedding.tokens", use_tokens(), {encoder_.vocab_size, "vocabulary"}, d_model());
  embedding.position_kind = PositionKind::learned;
  embedding.positions =
      weights.table("embedding.positions", tensors_.need(position_embeddings), {0, "positions"}, d_model());
  if (family_.positions_after_pad) {
    embedding.positions_count_non_pad = true;
    embedding.pad_position = static_cast<uint32_t>(encoder_.pad_id);
  }
  if (family_.has_token_types) {
    const Tensor& types = tensors_.need("embeddings.token_type_embeddings.weight");
    embedding.token_types = weights.table("embedding.token_types", types, {0, "token types"}, d_model());
    check_agreement(settings_, "type_vocab_size", dimension(types, 0), "token types");
  }
  embedding.norm = norm("embedding.norm", "embeddings.LayerNorm");
}

void Converter::add_layer(uint32_t index) {
  LayerDescription& layer = encoder_.layers.emplace_back();
  const std::string prefix = family_.layers + std::to_string(index) + ".";
  const std::string role = "layers[" + std::to_string(index) + "].";
  AttentionDescription& attention = layer.attention;
  attention.heads = attention.kv_heads = heads_;
  attention.head_dim = encoder_.d_model / heads_;
  attention.scale = usual_scale(attention.head_dim);
  attention.row_mask = RowMask::excluded;
  attention.key_projections = attention.value_projections = {0};
  layer.activation = activation_;

  Size ffn{0, "ffn width"};
  for (const LinearName& name : family_.linears) {
    const bool in = name.layer == &LayerDescription::ffn_in, out = name.layer == &LayerDescription::ffn_out;
    Linear& target = name.attention ? attention.*name.attention : layer.*name.layer;
    target = read_linear(conversion_, tensors_, role + name.role, prefix + name.suffix, in ? ffn : d_model(),
                         out ? ffn : d_model());
    if (!in) continue;
    ffn.value = conversion_.description.tensors[static_cast<size_t>(target.weight)].shape[0];
    if (index == 0) {
      report_.add_fact("ffn width", std::to_string(ffn.value), "rows of " + prefix + name.suffix + ".weight");
    }
    check_agreement(settings_, family_.settings.ffn, static_cast<int64_t>(ffn.value), "channels inside the ffn");
  }
  for (const NormName& name : family_.norms) layer.*name.norm = norm(role + name.role, prefix + name.suffix);
}

}  // namespace

DialectFacts HuggingFace::facts() const {
  return {
      "BERT, RoBERTa and DistilBERT with full attention, and sentence-transformers",
      "https://github.com/huggingface/transformers",
      {{R"({"num_attention_heads": 12})", "always (n_heads for DistilBERT); config.json of the model's folder has it"},
       {R"({"model_type": "bert"})", "where the tensors' names do not say it; or roberta, distilbert"},
       {R"({"architectures": ["BertForSequenceClassification"]})", "models with both a pooler and a classifier"},
       {R"({"sentence_pooling": "mean"})", "sentence embeddings, where there is no modules.json; or cls, max"},
       {R"({"sentence_dense_activation": "Tanh"})", "sentence embeddings with a Dense module"}}};
}

Recognition HuggingFace::recognise(const Checkpoint& checkpoint) const {
  static const std::string bert_query = "encoder.layer.0.attention.self.query.weight",
                           distilbert_query = "transformer.layer.0.attention.q_lin.weight";
  const size_t prefix = wrapper_prefix(checkpoint);
  const std::string* found = nullptr;
  bool tokens = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    if (name == bert_query) found = &bert_query;
    if (name == distilbert_query) found = &distilbert_query;
    tokens = tokens || name == position_embeddings;
    // Compressing layers of other implementations have BERT's names too.
    if (matches(name, "encoder.layer.*.attention.self.*compress*.**") ||
        matches(name, "encoder.layer.*.attention.self.*projection**")) {
      return {0, bert_query + " (there, but so is " + tensor.name + ", which full attention does not have)"};
    }
  }
  if (found == nullptr || !tokens) return {0, bert_query + " or " + distilbert_query + " (not there)"};
  return {100, "the tensors " + *found + " and " + position_embeddings};
}

void HuggingFace::convert(Conversion& conversion) const { Converter(conversion).run(); }

}  // namespace linformer::convert
