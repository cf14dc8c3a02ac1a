// What the library says about a model's encoder or decoder, and about its layers and projections.
#pragma once

#include <vector>

#include "linformer/model.h"

namespace linformer::cli {

struct EncoderParts {
  EncoderParts(const Model& model, Part part) : info(model.encoder(part)) {
    for (int i = 0; i < info.layers; ++i) layers.push_back(model.layer(i, part));
    for (int i = 0; i < info.projections; ++i) projections.push_back(model.projection(i, part));
  }

  EncoderInfo info;
  std::vector<LayerInfo> layers;
  std::vector<ProjectionInfo> projections;
};

}  // namespace linformer::cli
