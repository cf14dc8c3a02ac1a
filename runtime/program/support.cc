#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status refuse(size_t layer, const char* what) {
  return Status::error(Code::unsupported, "layer %zu uses %s, which this version of the runtime does not execute",
                       layer, what);
}

bool lacks_bias(const Norm& norm) { return norm.present() && norm.bias == absent; }

Status check_layer(const EncoderDescription& encoder, size_t index) {
  const LayerDescription& layer = encoder.layers[index];
  if (lacks_bias(layer.attention_norm) || lacks_bias(layer.ffn_norm)) return refuse(index, "a layer norm without bias");
  const Array<uint32_t>& projections = layer.attention.key_projections;
  for (uint32_t projection : projections) {
    const bool full = encoder.projections[projection].kind == ProjectionKind::none;
    if (full != (encoder.projections[projections[0]].kind == ProjectionKind::none)) {
      return refuse(index, "full attention in some of its heads only");
    }
  }
  for (const Array<uint32_t>* list : {&layer.attention.key_projections, &layer.attention.value_projections}) {
    for (uint32_t projection : *list) {
      if (encoder.projections[projection].order != encoder.projections[list->front()].order) {
        return refuse(index, "projections before and after the linear in one layer");
      }
    }
  }
  return {};
}

}  // namespace

Status check_executable(const ModelDescription& description, const EncoderDescription& encoder) {
  const EmbeddingDescription& embedding = encoder.embedding;
  bool norms_lack_bias = lacks_bias(embedding.norm) || lacks_bias(embedding.vectors.norm_in) ||
                         lacks_bias(embedding.vectors.norm_out) || lacks_bias(encoder.final_norm) ||
                         lacks_bias(description.mlm.norm) || lacks_bias(description.embedding.norm);
  for (const ClassificationHead& head : description.heads) norms_lack_bias = norms_lack_bias || lacks_bias(head.norm);
  if (norms_lack_bias) {
    return Status::error(Code::unsupported,
                         "the model has a layer norm without bias, which this version of the runtime does not execute");
  }
  for (size_t i = 0; i < encoder.layers.size(); ++i) LINFORMER_TRY(check_layer(encoder, i));
  return {};
}

}  // namespace LINFORMER_NAMESPACE
