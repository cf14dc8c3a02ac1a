#include "converter/tiny_hugging_face.h"

#include "converter/tiny_fairseq.h"

namespace linformer_test {

void add_weight_bias(std::vector<HandTensor>& tensors, const std::string& name, int64_t out, int64_t in) {
  tensors.push_back(random_tensor(name + ".weight", in ? std::vector<int64_t>{out, in} : std::vector<int64_t>{out}, 5));
  tensors.push_back(random_tensor(name + ".bias", {out}, 5));
}

std::string TinyHuggingFace::prefix() const {
  if (!prefixed) return "";
  return family == TinyFamily::bert ? "bert." : family == TinyFamily::roberta ? "roberta." : "distilbert.";
}

std::vector<HandTensor> TinyHuggingFace::tensors() const {
  std::vector<HandTensor> made;
  const std::string embeddings = prefix() + "embeddings.";
  made.push_back(random_tensor(embeddings + "word_embeddings.weight", {vocabulary, d}, 5));
  made.push_back(random_tensor(embeddings + "position_embeddings.weight", {positions, d}, 5));
  if (family != TinyFamily::distilbert) {
    const int64_t types = family == TinyFamily::bert ? 2 : 1;
    made.push_back(random_tensor(embeddings + "token_type_embeddings.weight", {types, d}, 5));
  }
  add_weight_bias(made, embeddings + "LayerNorm", d, 0);
  for (int64_t i = 0; i < layers; ++i) {
    if (family == TinyFamily::distilbert) {
      const std::string layer = prefix() + "transformer.layer." + std::to_string(i) + ".";
      for (const char* name : {"q_lin", "k_lin", "v_lin", "out_lin"})
        add_weight_bias(made, layer + "attention." + name, d, d);
      add_weight_bias(made, layer + "sa_layer_norm", d, 0);
      add_weight_bias(made, layer + "ffn.lin1", ffn, d);
      add_weight_bias(made, layer + "ffn.lin2", d, ffn);
      add_weight_bias(made, layer + "output_layer_norm", d, 0);
    } else {
      const std::string layer = prefix() + "encoder.layer." + std::to_string(i) + ".";
      for (const char* name : {"self.query", "self.key", "self.value", "output.dense"}) {
        add_weight_bias(made, layer + "attention." + name, d, d);
      }
      add_weight_bias(made, layer + "attention.output.LayerNorm", d, 0);
      add_weight_bias(made, layer + "intermediate.dense", ffn, d);
      add_weight_bias(made, layer + "output.dense", d, ffn);
      add_weight_bias(made, layer + "output.LayerNorm", d, 0);
    }
  }
  return made;
}

nlohmann::json TinyHuggingFace::config() const {
  if (family == TinyFamily::distilbert) {
    return {{"model_type", "distilbert"},
            {"architectures", {"DistilBertModel"}},
            {"dim", d},
            {"n_layers", layers},
            {"n_heads", heads},
            {"hidden_dim", ffn},
            {"vocab_size", vocabulary},
            {"max_position_embeddings", positions},
            {"activation", "gelu"},
            {"pad_token_id", 0}};
  }
  const bool bert = family == TinyFamily::bert;
  return {{"model_type", bert ? "bert" : "roberta"},
          {"architectures", {bert ? "BertModel" : "RobertaModel"}},
          {"hidden_size", d},
          {"num_hidden_layers", layers},
          {"num_attention_heads", heads},
          {"intermediate_size", ffn},
          {"vocab_size", vocabulary},
          {"max_position_embeddings", positions},
          {"type_vocab_size", bert ? 2 : 1},
          {"hidden_act", "gelu"},
          {"layer_norm_eps", bert ? 1e-12 : 1e-5},
          {"pad_token_id", bert ? 0 : 1}};
}

}  // namespace linformer_test
