#include "reference/description_json.h"

#include "session/reference.h"

namespace linformer_test {
namespace {

using namespace linformer;
using nlohmann::json;

json of(const Linear& linear) { return {{"weight", linear.weight}, {"bias", linear.bias}}; }

json of(const Norm& norm) { return {{"scale", norm.scale}, {"bias", norm.bias}, {"epsilon", norm.epsilon}}; }

const char* of(Activation activation) {
  constexpr const char* names[] = {"none", "relu", "gelu", "gelu_tanh", "tanh", "leaky_relu", "sigmoid"};
  return names[static_cast<size_t>(activation)];
}

json of(const Projection& projection) {
  return {{"kind", name_of(projection.kind)},
          {"order", projection.order == ProjectionOrder::before_linear ? "before_linear" : "after_linear"},
          {"weight", projection.weight},
          {"bias", projection.bias},
          {"kernel", projection.kernel},
          {"stride", projection.stride}};
}

json of(const AttentionDescription& attention) {
  constexpr const char* masks[] = {"none", "zeroed", "excluded"};
  constexpr const char* sources[] = {"own", "memory", "memory_or_own"};
  return {{"heads", attention.heads},
          {"kv_heads", attention.kv_heads},
          {"head_dim", attention.head_dim},
          {"scale", attention.scale},
          {"query", of(attention.query)},
          {"key", of(attention.key)},
          {"value", of(attention.value)},
          {"output", of(attention.output)},
          {"output_second", of(attention.output_second)},
          {"value_is_key", attention.value_is_key},
          {"causal", attention.causal},
          {"row_mask", masks[static_cast<size_t>(attention.row_mask)]},
          {"output_activation", of(attention.output_activation)},
          {"key_projections", attention.key_projections},
          {"value_projections", attention.value_projections},
          {"key_source", sources[static_cast<size_t>(attention.key_source)]}};
}

json of(const LayerDescription& layer) {
  return {{"attention", of(layer.attention)},
          {"attention_norm", of(layer.attention_norm)},
          {"attention_resample", of(layer.attention_resample)},
          {"ffn_in", of(layer.ffn_in)},
          {"ffn_out", of(layer.ffn_out)},
          {"ffn_norm", of(layer.ffn_norm)},
          {"ffn_resample", of(layer.ffn_resample)},
          {"activation", of(layer.activation)}};
}

json of(const EmbeddingDescription& embedding) {
  constexpr const char* kinds[] = {"none", "learned", "sinusoidal_halves", "sinusoidal_interleaved"};
  return {{"tokens", embedding.tokens},
          {"position_kind", kinds[static_cast<size_t>(embedding.position_kind)]},
          {"positions", embedding.positions},
          {"position_offset", embedding.position_offset},
          {"position_base", embedding.position_base},
          {"positions_count_non_pad", embedding.positions_count_non_pad},
          {"pad_position", embedding.pad_position},
          {"token_types", embedding.token_types},
          {"scale", embedding.scale},
          {"factor", of(embedding.factor)},
          {"norm", of(embedding.norm)},
          {"transform", of(embedding.transform)},
          {"transform_before_norm", embedding.transform_before_norm},
          {"zero_pad_rows", embedding.zero_pad_rows},
          {"vectors",
           {{"norm_in", of(embedding.vectors.norm_in)},
            {"linear", of(embedding.vectors.linear)},
            {"norm_out", of(embedding.vectors.norm_out)}}},
          {"prefix", embedding.prefix},
          {"prefix_token", embedding.prefix_token}};
}

json of(const EncoderDescription& encoder) {
  constexpr const char* residuals[] = {"standard", "reversible", "none"};
  json result = {{"max_tokens", encoder.max_tokens},
                 {"pad_id", encoder.pad_id},
                 {"norm_placement", encoder.norm_placement == NormPlacement::pre ? "pre" : "post"},
                 {"residual", residuals[static_cast<size_t>(encoder.residual)]},
                 {"embedding", of(encoder.embedding)},
                 {"projections", json::array()},
                 {"layers", json::array()},
                 {"final_norm", of(encoder.final_norm)},
                 {"output", of(encoder.output)},
                 {"zero_masked_rows", encoder.zero_masked_rows}};
  for (const Projection& projection : encoder.projections) result["projections"].push_back(of(projection));
  for (const LayerDescription& layer : encoder.layers) result["layers"].push_back(of(layer));
  return result;
}

json of(const ClassificationHead& head) {
  return {{"pooling", name_of(head.pooling)},
          {"dense", of(head.dense)},
          {"activation", of(head.activation)},
          {"output", of(head.output)},
          {"multi_label", head.multi_label},
          {"norm", of(head.norm)},
          {"pairing", head.pairing == Pairing::none ? "none" : "product_difference"}};
}

}  // namespace

const char* name_of(ProjectionKind kind) {
  constexpr const char* names[] = {"linear", "convolution", "mean_pool", "max_pool", "none"};
  return names[static_cast<size_t>(kind)];
}

const char* name_of(Pooling pooling) {
  constexpr const char* names[] = {"first_token", "mean", "mean_over_max_tokens", "max", "none"};
  return names[static_cast<size_t>(pooling)];
}

json description_json(const Model& model, std::vector<float>* numbers) {
  const ModelDescription& description = model.description();
  json result = {{"encoder", of(description.encoder)},
                 {"decoder", of(description.decoder)},
                 {"mlm",
                  {{"dense", of(description.mlm.dense)},
                   {"activation", of(description.mlm.activation)},
                   {"norm", of(description.mlm.norm)},
                   {"output", of(description.mlm.output)}}},
                 {"heads", json::array()},
                 {"embedding",
                  {{"present", description.embedding.present},
                   {"pooling", name_of(description.embedding.pooling)},
                   {"dense", of(description.embedding.dense)},
                   {"activation", of(description.embedding.activation)},
                   {"normalize", description.embedding.normalize}}},
                 {"tensors", json::array()}};
  for (const ClassificationHead& head : description.heads) result["heads"].push_back(of(head));
  for (size_t i = 0; i < description.tensors.size(); ++i) {
    result["tensors"].push_back({{"shape", description.tensors[i].shape}, {"offset", numbers->size()}});
    for (double value : reference_tensor(model, static_cast<TensorIndex>(i))) {
      numbers->push_back(static_cast<float>(value));
    }
  }
  return result;
}

}  // namespace linformer_test
