// The model families that the converter reads, for programs that list them.
#pragma once

#include <span>

namespace linformer::convert {

// A family of models. All texts are static.
struct ModelFamily {
  const char* name;         // Such as "ModernBERT".
  const char* models;       // Well-known models of the family.
  const char* dialect;      // The DialectInfo::name that converts them.
  const char* model_types;  // The values of model_type in config.json, separated by commas; empty if there are none.
  const char* heads;        // The heads that are converted.
  const char* tested;       // What was tested, such as the reference that answers were compared with.
};

// Returns the families in the order in which programs show them. Thread-safe.
std::span<const ModelFamily> supported_models();

}  // namespace linformer::convert
