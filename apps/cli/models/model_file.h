// Model files as the commands load them, and what a command needs a model to have.
#pragma once

#include <memory>
#include <string>

#include "linformer/model.h"
#include "linformer/tokenizer.h"

namespace linformer::cli {

// Whether models are read whole instead of mapped, as --no-mmap says for all models that the command loads.
extern bool read_whole_models;
Access model_access();
// Loads a model as model_access() says. If its file is mapped and another process truncates it, this process ends with
// an error message (input_files/lost_file.h).
std::shared_ptr<const Model> load_model(const std::string& path);
// The tokenizer inside `model`. Throws DataError when it has none, or when the model doesn't read text.
Tokenizer load_tokenizer(const std::shared_ptr<const Model>& model, const std::string& path);
void require_tokenizer(const Model& model, const std::string& path);
// Throw DataError when the model reads the other kind of input.
void require_tokens(const Model& model, const std::string& path);
void require_vectors(const Model& model, const std::string& path);
void require_masked_lm(const Model& model, const std::string& path);

}  // namespace linformer::cli
