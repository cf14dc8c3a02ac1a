// Loads model files for the commands, and checks that a model has what a command needs.
#pragma once

#include <memory>
#include <string>

#include "linformer/model.h"
#include "linformer/tokenizer.h"

namespace linformer::cli {

// If true, model files are read into memory instead of mapped. The option --no-mmap sets it for all models that a
// command loads.
extern bool read_whole_models;
Access model_access();
// Loads a model with model_access(). Throws DataError if it can't be loaded. If its file is mapped and another process
// truncates it, this process ends with an error message (input_files/lost_file.h).
std::shared_ptr<const Model> load_model(const std::string& path);
// Returns the tokenizer inside `model`. Throws DataError if it has none, or if the model doesn't read text.
Tokenizer load_tokenizer(const std::shared_ptr<const Model>& model, const std::string& path);
// Throw DataError if the model lacks something: a tokenizer; tokens as its input; vectors as its input; or a masked-LM
// head that this program can run.
void require_tokenizer(const Model& model, const std::string& path);
void require_tokens(const Model& model, const std::string& path);
void require_vectors(const Model& model, const std::string& path);
void require_masked_lm(const Model& model, const std::string& path);

}  // namespace linformer::cli
