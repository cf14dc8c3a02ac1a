// The keys that linformer-convert --from-lnfr writes into __metadata__ of a safetensors file, so that the file can be
// converted again without options.
#pragma once

namespace linformer::convert {

inline constexpr const char* exported_dialect_key = "linformer.dialect";
// A JSON object of settings, as --config takes it.
inline constexpr const char* exported_settings_key = "linformer.settings";
// A JSON object that maps the name of each head to the list of its labels.
inline constexpr const char* exported_labels_key = "linformer.labels";
// The base64 of a model file's metadata that holds only a tokenizer.
inline constexpr const char* exported_tokenizer_key = "linformer.tokenizer";

}  // namespace linformer::convert
