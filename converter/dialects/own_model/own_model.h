// Models that somebody wrote around a package's encoder. Only the settings can tell the names of such a model's
// embedding, positions, norms and head.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert {

// The setting that names the encoder of such a model. If it is given, the checkpoint is read as such a model.
inline constexpr const char* own_encoder_setting = "encoder_prefix";

// The parts that the settings name. A name is that of the checkpoint without wrapper_prefix_length(), or empty if the
// model does not have the part.
struct OwnModel {
  std::string encoder;                            // The prefix of the encoder's names, with its last dot.
  std::string embedding, positions;               // Names of tensors.
  std::string norm, head_norm, head_dense, head;  // Names of modules, without a dot at the end.
  const Settings& settings;
};

// Returns the parts that the settings name, or nothing if they do not name an encoder. Throws Error if a setting names
// a part that is not in the checkpoint; the error says which tensors there are. `settings` must outlive the result.
std::optional<OwnModel> own_model_from_settings(const Settings& settings, const Checkpoint& checkpoint);

// Returns the function that gives a TensorTable its canonical names. With these names, the encoder's tensors are below
// `encoder`, and the embedding and the positions are called `embedding` and `positions`, as the dialect expects. The
// functions below know the canonical names of all other tensors.
std::function<std::string(std::string)> own_model_name_mapping(const OwnModel& own, const char* encoder,
                                                               const char* embedding, const char* positions);

// Returns the dialect that `find` returns for the tensors below the encoder's prefix. Throws Error if `find` returns
// null. The checkpoint's tensors stay as they are.
const Dialect& recognise_own_model_encoder(Checkpoint& checkpoint, const Settings& settings,
                                           const std::function<const Dialect*(const Checkpoint&)>& find,
                                           Report& report);

// Returns the table of positions that the settings name, or nothing if they do not name one. If the tensor has three
// axes, one of size 1 is removed.
std::optional<Tensor> own_model_position_table(TensorTable& tensors, const OwnModel& own, const char* positions);
// Adds the embedding of tokens and, if `positions` has a value, of learned positions. encoder.d_model and
// encoder.max_tokens must be set.
void add_own_model_embedding(Conversion& conversion, TensorTable& tensors, const OwnModel& own, const char* embedding,
                             const std::optional<Tensor>& positions);
// Adds the norm after the encoder, and the head with its pooling. If the settings name a pooling but no head, it adds a
// sentence embedding instead of a head.
void add_own_model_head(Conversion& conversion, TensorTable& tensors, const OwnModel& own);
// Throws Error that names the first tensor that neither the dialect nor a setting has used. Tensors of integers, such
// as counters, are left out of the model and listed in the report.
void reject_unused_tensors(TensorTable& tensors, const char* model, Report& report);

// Throws Error if the checkpoint has an encoder below `prefix`, and beside it a tensor that looks like an embedding of
// tokens. The error shows the settings to give, with names of tensors in the file. `others` are the settings that the
// package's encoder needs too, as members of a JSON object.
void reject_unconfigured_own_model(const Checkpoint& checkpoint, std::string_view prefix, const char* package,
                                   const char* others);

}  // namespace linformer::convert
