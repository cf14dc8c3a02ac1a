// Reads folders of sentence-transformers. Such a folder has a Hugging Face encoder or a static embedding, and its
// modules.json lists the modules that turn the encoder's rows into one vector.
// Source: UKPLab/sentence-transformers, modules Transformer, StaticEmbedding, Pooling, Dense, LayerNorm, Normalize and
// Dropout (v0.4 to v6).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert {

struct SentenceTransformer {
  std::string transformer;  // The folder of the encoder's checkpoint, config.json and tokenizer.
  std::string dense, norm;  // The checkpoint files of the modules Dense and LayerNorm. Empty if there is none.
  // The settings sentence_pooling ("cls", "mean", "max", "lasttoken" or "weightedmean"), sentence_dense_activation,
  // sentence_normalize, max_seq_length and those of prompts.h. --config may give them too.
  Value settings;
  std::vector<std::string> files;  // The JSON files that were read.
  std::vector<std::string> notes;
};

// Returns the contents of modules.json of a folder, or nothing if the folder has no such file. Throws Error that names
// a module which is not supported.
std::optional<SentenceTransformer> read_sentence_transformer(const std::string& folder, ValueStore& store);

// Returns what config_sentence_transformers.json of a CrossEncoder's folder says about its scores, as settings with the
// names that config.json had before version 5.4. Returns null if the folder is not that of a CrossEncoder. The folder
// of a CrossEncoder may lack modules.json, because the classifier is part of the encoder's checkpoint.
Value read_cross_encoder(const std::string& folder, ValueStore& store);
// Returns the path of config_sentence_transformers.json in the folder.
std::string cross_encoder_file(const std::string& folder);

// Add the tensors of the module Dense or LayerNorm to the encoder's checkpoint, under names that
// add_sentence_embedding() reads. `from` must outlive `checkpoint`.
void add_dense_tensors(const Checkpoint& from, Checkpoint* checkpoint);
void add_norm_tensors(const Checkpoint& from, Checkpoint* checkpoint);

// Returns whether the checkpoint has tensors of these modules.
bool has_module_tensors(const Checkpoint& checkpoint);

// Fills the model's sentence embedding as the settings say. Returns false if there is no setting sentence_pooling.
bool add_sentence_embedding(Conversion& conversion, TensorTable& tensors, const Settings& settings);

}  // namespace linformer::convert
