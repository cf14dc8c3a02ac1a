#include "converter/dialects/hugging_face/hugging_face.h"

#include "base/description.h"
#include "converter/dialects/common.h"
#include "converter/dialects/hugging_face/encoder.h"
#include "converter/dialects/hugging_face/heads.h"
#include "converter/dialects/hugging_face/settings.h"
#include "converter/dialects/hugging_face/vocabulary.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

using namespace hugging_face;

constexpr const char* word_embeddings = "embeddings.word_embeddings.weight";
constexpr const char* position_embeddings = "embeddings.position_embeddings.weight";
constexpr const char* token_types = "embeddings.token_type_embeddings.weight";

// The state of one conversion, which its steps share.
class HuggingFaceConverter {
 public:
  explicit HuggingFaceConverter(Conversion& conversion)
      : conversion_(conversion),
        tensors_(conversion.checkpoint, canonical_name),
        settings_(user_and_checkpoint_settings(conversion)),
        family_(family_of(settings_, conversion.checkpoint, conversion.report)),
        report_(conversion.report),
        reader_(conversion, tensors_, settings_, family_) {}

  void run() {
    refuse();
    read_sizes();
    reader_.add_embedding(use_tokens());
    add_layers();
    const HeadInputs inputs{conversion_, tensors_, settings_, family_, reader_.epsilon()};
    add_masked_lm(inputs);
    add_heads(inputs);
    tensors_.report_or_reject_unused(unused_names(), family_.name, report_);
  }

 private:
  void refuse() const;
  void read_sizes();
  const Tensor& use_tokens() { return token_embedding(tensors_, settings_, word_embeddings, family_.masked_lm.output); }
  void add_layers();

  Conversion& conversion_;
  TensorTable tensors_;
  const Settings settings_;
  const Family& family_;
  Report& report_;
  EncoderReader reader_;
};

void HuggingFaceConverter::refuse() const {
  refuse_unsupported(settings_, family_.extras.gates != nullptr ? "alibi" : "absolute");
  const std::optional<Setting<bool>> values = settings_.flag("rotary_value");
  if (values && values->value) {
    fail("the setting rotary_value is true (", values->source, "): rotary positions of values are not supported");
  }
  if (tensors_.any(family_.layers + std::string("*.crossattention.**"))) {
    fail("the tensors ", family_.layers, "*.crossattention.* belong to a decoder, which is not supported");
  }
}

void HuggingFaceConverter::read_sizes() {
  EncoderDescription& encoder = conversion_.description.encoder;
  const uint32_t longest = reader_.read_sizes(use_tokens());
  // sentence-transformers may cut texts to fewer tokens than the model has positions for.
  const std::optional<Setting<int64_t>> cut = settings_.integer("max_seq_length");
  if (cut && (cut->value < 1 || cut->value > longest)) {
    fail("the setting max_seq_length is ", cut->value, " (", cut->source, "): the model takes 1 to ", longest,
         " tokens");
  }
  encoder.max_tokens = cut ? static_cast<uint32_t>(cut->value) : longest;
  report_.add_fact("longest text (N)", std::to_string(encoder.max_tokens),
                   cut ? "max_seq_length, " + cut->source : reader_.position_count_source());
  if (family_.has_token_types) {
    check_agreement(settings_, "type_vocab_size", dimension(tensors_.need(token_types), 0), "token types");
  }
}

void HuggingFaceConverter::add_layers() {
  conversion_.description.encoder.projections = {Projection{.kind = ProjectionKind::none}};
  for (uint32_t i = 0; i < reader_.layers(); ++i) {
    AttentionDescription& attention = reader_.add_layer(i).attention;
    attention.row_mask = RowMask::excluded;
    attention.key_projections = attention.value_projections = {0};
  }
  reader_.add_position_bias();
  report_.add_fact("attention", "full", "the family's: nothing is compressed");
}

}  // namespace

DialectFacts HuggingFace::facts() const {
  return {
      "BERT, RoBERTa, DistilBERT, MPNet, ELECTRA, ALBERT, RoFormer, jina-v2",
      "https://github.com/huggingface/transformers",
      {{R"({"num_attention_heads": 12})", "always (n_heads for DistilBERT); config.json of the model's folder has it"},
       {R"({"model_type": "bert"})", "if the tensors' names do not show it; or roberta, distilbert, electra"},
       {R"({"architectures": ["BertForSequenceClassification"]})", "models with both a pooler and a classifier"},
       {R"({"sentence_pooling": "mean"})", "sentence embeddings, if there is no modules.json; or cls, max"},
       {R"({"sentence_dense_activation": "Tanh"})", "sentence embeddings with a Dense module"}}};
}

Recognition HuggingFace::recognise(const Checkpoint& checkpoint) const {
  static const std::string bert_query = "encoder.layer.0.attention.self.query.weight",
                           distilbert_query = "transformer.layer.0.attention.q_lin.weight",
                           mpnet_query = "encoder.layer.0.attention.attn.q.weight",
                           albert_query = "encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight";
  const std::string rotary_table = roformer().extras.rotary_table,
                    gates = jina().layers + std::string("0.") + jina().extras.gates + ".weight",
                    code_gates = jina_code().layers + std::string("0.") + jina_code().extras.gates + ".weight";
  const size_t prefix = wrapper_prefix_length(checkpoint);
  const std::string* found = nullptr;
  bool positions = false;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string name = canonical_name(tensor.name.substr(prefix));
    for (const std::string* query : {&bert_query, &distilbert_query, &mpnet_query, &albert_query}) {
      if (name == *query) found = query;
    }
    positions = positions || name == position_embeddings || name == rotary_table || name == gates || name == code_gates;
    // Other implementations have BERT's names too, but their layers compress keys and values.
    if (matches(name, "encoder.layer.*.attention.self.*compress*.**") ||
        matches(name, "encoder.layer.*.attention.self.*projection**") ||
        matches(name, "encoder.layer.*.attention.self.proj_*")) {
      return {0, bert_query + " (there, but so is " + tensor.name + ", which full attention does not have)"};
    }
  }
  if (found == nullptr || !positions) {
    return {0, bert_query + " and positions, or the same of DistilBERT, MPNet, ALBERT, RoFormer or Jina (not there)"};
  }
  return {100, "the tensor " + *found + " and positions"};
}

void HuggingFace::convert(Conversion& conversion) const { HuggingFaceConverter(conversion).run(); }

}  // namespace linformer::convert
