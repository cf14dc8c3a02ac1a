// Reads the parts of a layer by a table that maps module names of the checkpoint to members of the description.
#pragma once

#include <span>
#include <string>
#include <variant>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert {

struct LayerPart {
  const char* name;  // The module's name below the layer; its tensors are NAME.weight and NAME.bias.
  std::variant<Linear AttentionDescription::*, Linear LayerDescription::*, Norm AttentionDescription::*,
               Norm LayerDescription::*>
      member;
};

struct LayerSizes {
  Size d_model, heads;  // `heads` is the width of all heads of a layer together.
  Size ffn;             // If 0, it is the number of outputs of ffn_in.
};

// Reads the parts of layer `index` in the order of the table. A Linear that the caller has set from other tensors is
// left as it is. `prefix` is what the names of the layer's tensors begin with.
void read_layer_parts(Conversion& conversion, TensorTable& tensors, std::span<const LayerPart> parts,
                      const std::string& prefix, size_t index, LayerSizes sizes, LayerDescription* layer);

}  // namespace linformer::convert
