// Folders of sentence-transformers: a Hugging Face encoder or a static embedding, and in modules.json what turns its
// rows into one vector. Source: UKPLab/sentence-transformers, modules Transformer, StaticEmbedding, Pooling, Dense,
// LayerNorm, Normalize and Dropout (v0.4 to v6).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert {

struct SentenceTransformer {
  std::string transformer;  // the folder of the encoder's checkpoint, config.json and tokenizer
  std::string dense, norm;  // the checkpoints of the modules Dense and LayerNorm; empty: there is none
  // sentence_pooling "cls", "mean", "max", "lasttoken" or "weightedmean"; sentence_dense_activation;
  // sentence_normalize; max_seq_length; those of prompts.h. --config may say them too.
  Value settings;
  std::vector<std::string> files;  // of JSON that were read
  std::vector<std::string> notes;
};

// What modules.json of a folder says; nothing where there is none.
// Throws Error naming the module that isn't supported.
std::optional<SentenceTransformer> read_sentence_transformer(const std::string& folder, ValueStore& store);

// What config_sentence_transformers.json says of a CrossEncoder's scores, as the settings that its config.json had
// before version 5.4; null where the folder is none. Its classifier is the encoder's own, so its modules.json may be
// absent.
Value read_cross_encoder(const std::string& folder, ValueStore& store);
std::string cross_encoder_file(const std::string& folder);

// Puts a module's tensors beside the encoder's, under names that add_sentence_embedding() knows. `from` must outlive
// `checkpoint`.
void add_dense_tensors(const Checkpoint& from, Checkpoint* checkpoint);
void add_norm_tensors(const Checkpoint& from, Checkpoint* checkpoint);

// Whether there are such.
bool has_module_tensors(const Checkpoint& checkpoint);

// Fills the model's sentence embedding as the settings say; false where they say nothing.
bool add_sentence_embedding(Conversion& conversion, TensorTable& tensors, const Settings& settings);

}  // namespace linformer::convert
