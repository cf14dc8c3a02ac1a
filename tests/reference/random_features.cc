// Determines which features of the runtime a random case uses. They are the rows of the table that the test prints.
#include "base/description.h"
#include "base/enum_names.h"
#include "reference/random_case.h"

namespace linformer_test {

using namespace linformer;

std::set<std::string> features_of(const RandomCase& c) {
  std::set<std::string> features;
  const RandomModel& shape = c.shape;
  for (const LayerDescription& layer : c.encoder().layers) {
    const AttentionDescription& attention = layer.attention;
    for (const Array<uint32_t>* list : {&attention.key_projections, &attention.value_projections}) {
      for (uint32_t index : *list) {
        const ProjectionKind kind = c.encoder().projections[index].kind;
        if (kind != ProjectionKind::none && attention.window != 0) {
          features.insert("window beside compressed keys");
          if (attention.position_bias != absent) features.insert("bias beside compressed keys");
        }
        if (c.encoder().projections[index].length_scale != LengthScale::none) features.insert("scaled by length");
        const bool nonuniform = kind == ProjectionKind::linear && list->size() > 1;
        features.insert(nonuniform                     ? "linear by head, nonuniform k"
                        : kind == ProjectionKind::none ? "full attention"
                                                       : enum_name(kind));
      }
    }
    if (attention.key_source != KeySource::own) features.insert("cross attention");
  }
  const auto note = [&](bool has, const char* name) {
    if (has) features.insert(name);
  };
  note(features.contains("full attention") && shape.n > 2 * 128, "full attention, over 256 keys");
  note(shape.causal, "causal");
  note(shape.one_kv_head, "one key/value head");
  note(shape.value_is_key, "values are keys");
  note(shape.row_mask == RowMask::zeroed, "masked rows zeroed");
  note(shape.row_mask == RowMask::excluded, "masked rows excluded");
  note(shape.residual == ResidualKind::reversible, "reversible");
  note(shape.residual == ResidualKind::none, "no residual");
  note(!shape.output_projection, "no output projection");
  note(shape.between != 0 || shape.attention_between != 0, "widths change");
  note(shape.vector_width != 0, "vectors");
  const size_t others = features.size();
  note(shape.layer.gated, "gated feed-forward");
  note(shape.layer.attention.rotary_base != 0, "rotary positions");
  note(shape.layer.attention.window != 0, "window");
  note(shape.position_bias, "position bias");
  note(features.size() == others, "no gate, rotary, window, bias");
  note(c.options.run.part == Part::decoder, "decoder");
  note(c.options.run.padding == Padding::keep, "padding kept");
  return features;
}

}  // namespace linformer_test
