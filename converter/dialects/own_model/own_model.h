// A model that somebody wrote around a package's encoder: its embedding, positions, norms and head have names that only
// the settings can tell.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert {

// The setting with which such a model's settings begin.
inline constexpr const char* own_encoder_setting = "encoder_prefix";

// What the settings name, by the checkpoint's names without what all of them begin with. Modules are without their last
// dot; empty: there is none.
struct OwnModel {
  std::string encoder;               // with its dot
  std::string embedding, positions;  // tensors
  std::string norm, head_norm, head_dense, head;
  const Settings& settings;
};

// Nothing where the settings name no encoder. Throws Error that names the setting, and says which tensors there are,
// where it names one that isn't there. `settings` must outlive the result.
std::optional<OwnModel> own_model_of(const Settings& settings, const Checkpoint& checkpoint);

// Names for a TensorTable: a dialect finds the encoder below `encoder`, the embedding and the positions as `embedding`
// and `positions`; the functions below find the rest.
std::function<std::string(std::string)> own_names(const OwnModel& own, const char* encoder, const char* embedding,
                                                  const char* positions);

// The dialect of the tensors below the encoder's prefix, of all that `find` knows; the checkpoint stays as it is.
// Throws Error where there is none.
const Dialect& recognise_own(Checkpoint& checkpoint, const Settings& settings,
                             const std::function<const Dialect*(const Checkpoint&)>& find, Report& report);

// Rows of the positions that the settings name, with axes of one row left out; nothing where they name none.
std::optional<Tensor> own_positions(TensorTable& tensors, const OwnModel& own, const char* positions);
// The embedding of tokens and its learned positions. encoder.d_model and encoder.max_tokens must be set.
void add_own_embedding(Conversion& conversion, TensorTable& tensors, const OwnModel& own, const char* embedding,
                       const std::optional<Tensor>& positions);
// The norm behind the encoder, the pooling and the head, or without one a sentence embedding.
void add_own_head(Conversion& conversion, TensorTable& tensors, const OwnModel& own);
// Throws Error that names a tensor whose place in the model nothing says.
void account_for_own(TensorTable& tensors, const char* model, Report& report);

// Throws Error that shows the settings to give, with the names of the tensors in the file, where beside an encoder
// below `prefix` there is what looks like an embedding of tokens. `others`: what the encoder needs beside it, as JSON.
void ask_for_own_model(const Checkpoint& checkpoint, std::string_view prefix, const char* package, const char* others);

}  // namespace linformer::convert
