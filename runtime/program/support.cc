#include "base/description.h"
#include "program/lower.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status refuse(size_t layer, const char* what) {
  return Status::error(Code::unsupported, "layer %zu uses %s, which this version of the runtime does not execute",
                       layer, what);
}

Status check_layer(const EncoderDescription& encoder, size_t index) {
  const LayerDescription& layer = encoder.layers[index];
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
        return refuse(index, "both compression before its linear layers and compression after them");
      }
    }
  }
  return {};
}

}  // namespace

Status check_executable(const EncoderDescription& encoder) {
  for (size_t i = 0; i < encoder.layers.size(); ++i) LINFORMER_TRY(check_layer(encoder, i));
  return {};
}

}  // namespace LINFORMER_NAMESPACE
