// A layer as a table: where a dialect keeps its tensors, and what of the description they are.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert {

struct LayerPart {
  const char* name;  // below the layer; NAME.weight and NAME.bias are there
  std::variant<Linear AttentionDescription::*, Linear LayerDescription::*, Norm AttentionDescription::*,
               Norm LayerDescription::*>
      member;
};

struct LayerSizes {
  Size d_model, heads;  // `heads`: all of a layer's together
  Size ffn;             // 0: as ffn_in has it
};

// Reads the parts in their order; Linears that are there already, from other tensors, are left as they are.
void read_layer_parts(Conversion& conversion, TensorTable& tensors, std::span<const LayerPart> parts,
                      const std::string& prefix, size_t index, LayerSizes sizes, LayerDescription* layer);

}  // namespace linformer::convert
