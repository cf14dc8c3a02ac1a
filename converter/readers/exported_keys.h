// What linformer-convert --from-lnfr puts into __metadata__ of a safetensors file, beside the tensors, so that the file
// converts again without any flags.
#pragma once

namespace linformer::convert {

inline constexpr const char* exported_dialect_key = "linformer.dialect";
inline constexpr const char* exported_settings_key = "linformer.settings";  // a JSON object, as --config takes it
inline constexpr const char* exported_labels_key = "linformer.labels";      // a JSON object: head -> list of labels
inline constexpr const char* exported_tokenizer_key =
    "linformer.tokenizer";  // base64 of metadata with a tokenizer alone

}  // namespace linformer::convert
