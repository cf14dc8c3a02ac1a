// The model families that the converter reads, for programs that tell their users.
#pragma once

#include <span>

namespace linformer::convert {

// All texts are static.
struct ModelFamily {
  const char* name;         // "ModernBERT"
  const char* models;       // well-known ones
  const char* dialect;      // DialectInfo::name
  const char* model_types;  // what config.json says, between commas; empty where there is no such file
  const char* heads;        // beside the rows themselves
  const char* tested;       // what answers were compared with
};

// In the order in which they are shown. Thread-safe.
std::span<const ModelFamily> supported_models();

}  // namespace linformer::convert
