#include "plan/program.h"

namespace linformer {
namespace {

Status refuse(size_t layer, const char* what) {
  return Status::error(Code::unsupported, "layer %zu uses %s, which this version of the runtime does not execute",
                       layer, what);
}

bool lacks_bias(const Norm& norm) { return norm.present() && norm.bias == absent; }

Status check_projections(const EncoderDescription& encoder, size_t layer, const std::vector<uint32_t>& projections) {
  if (projections.size() != 1) return refuse(layer, "a projection of its own for each head");
  const Projection& projection = encoder.projections[projections[0]];
  switch (projection.kind) {
    case ProjectionKind::linear:
      return {};
    case ProjectionKind::convolution:
      return refuse(layer, "a convolution as projection");
    case ProjectionKind::mean_pool:
      return refuse(layer, "mean pooling as projection");
    case ProjectionKind::max_pool:
      return refuse(layer, "max pooling as projection");
    case ProjectionKind::none:
      return refuse(layer, "full attention");
  }
  return refuse(layer, "an unknown projection");
}

Status check_layer(const EncoderDescription& encoder, size_t index) {
  const LayerDescription& layer = encoder.layers[index];
  const AttentionDescription& attention = layer.attention;
  if (attention.kv_heads != attention.heads) return refuse(index, "one key/value head for several query heads");
  if (attention.value_is_key) return refuse(index, "keys as values");
  if (attention.causal) return refuse(index, "a causal mask");
  if (attention.masks_rows) return refuse(index, "a row mask inside attention");
  if (attention.activation_before_output) return refuse(index, "an activation before the output projection");
  if (!attention.output.present()) return refuse(index, "no output projection");
  if (attention.output_second.present()) return refuse(index, "a second output projection");
  if (layer.attention_resample.present() || layer.ffn_resample.present()) {
    return refuse(index, "a resampled residual");
  }
  if (!layer.ffn_in.present() || !layer.ffn_out.present()) return refuse(index, "no feed-forward part");
  if (!layer.attention_norm.present() || !layer.ffn_norm.present()) return refuse(index, "no layer norm");
  if (lacks_bias(layer.attention_norm) || lacks_bias(layer.ffn_norm)) return refuse(index, "a layer norm without bias");
  LINFORMER_TRY(check_projections(encoder, index, attention.key_projections));
  LINFORMER_TRY(check_projections(encoder, index, attention.value_projections));
  const Projection& key = encoder.projections[attention.key_projections[0]];
  const Projection& value = encoder.projections[attention.value_projections[0]];
  if (key.k != value.k) {
    return Status::error(Code::corrupt_file, "layer %zu compresses keys to %u and values to %u: they must agree", index,
                         key.k, value.k);
  }
  return {};
}

}  // namespace

Status check_executable(const ModelDescription& description) {
  const EncoderDescription& encoder = description.encoder;
  const EmbeddingDescription& embedding = encoder.embedding;
  if (encoder.residual != ResidualKind::standard) {
    return Status::error(Code::unsupported,
                         "the model is reversible, which this version of the runtime does not execute");
  }
  if (embedding.tokens == absent) {
    return Status::error(Code::unsupported, "the model has no token embedding, so it cannot take token ids");
  }
  if (embedding.position_kind != PositionKind::none && embedding.position_kind != PositionKind::learned) {
    return Status::error(Code::unsupported,
                         "the model's positions are sinusoidal, which this version of the runtime does not execute");
  }
  if (embedding.factor.present() || embedding.token_types != absent) {
    return Status::error(Code::unsupported, "the model's embedding has %s, which this version does not execute",
                         embedding.factor.present() ? "a factor projection" : "token types");
  }
  if (lacks_bias(embedding.norm) || lacks_bias(encoder.final_norm) || lacks_bias(description.mlm.norm)) {
    return Status::error(Code::unsupported,
                         "the model has a layer norm without bias, which this version of the runtime does not execute");
  }
  for (size_t i = 0; i < encoder.layers.size(); ++i) LINFORMER_TRY(check_layer(encoder, i));
  for (const ClassificationHead& head : description.heads) {
    if (head.pooling != Pooling::first_token) {
      return Status::error(Code::unsupported,
                           "classification head '%s' does not pool the first token, the only pooling that this "
                           "version executes",
                           head.name.c_str());
    }
  }
  return {};
}

}  // namespace linformer
