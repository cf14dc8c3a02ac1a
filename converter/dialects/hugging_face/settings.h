// Reads and checks the settings in config.json of a Hugging Face folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/description.h"
#include "converter/dialects/head_kind.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/settings.h"
#include "linformer/convert.h"

namespace linformer::convert::hugging_face {

// Returns whether a model with this model_type in config.json can be converted.
bool is_supported_model_type(std::string_view type);
// Returns the error text for a model_type that can't be converted; it lists those that can.
std::string unsupported_model_type_message(const Setting<std::string>& model_type);

// All functions below throw Error that names the setting and what to write instead.

// Returns the family that model_type names or, if that is missing, the family that the names of the tensors show. The
// names also tell Jina's families from BERT, because all of them have the model_type "bert".
const Family& family_of(const Settings& settings, const Checkpoint& checkpoint, Report& report);
// Throws Error if a setting asks for a computation that is not supported. position_embedding_type must be absent or
// equal to `position_type`.
void refuse_unsupported(const Settings& settings, std::string_view position_type = "absolute");
// Throws Error if the weights are quantised. refuse_unsupported() includes this check.
void refuse_quantised(const Settings& settings);
// Returns the activation that the setting `name` gives, or gelu if it is absent.
Activation activation_of(const Settings& settings, const char* name, Report& report);
// Returns the activation in Jina's gated networks: that of feed_forward_type or, if it is absent, `usual`.
Activation gate_activation(const Settings& settings, Activation usual, Report& report);
float epsilon_of(const Settings& settings, const Family& family, Report& report);
// Returns the pad token: pad_token_id or, if that is absent, `usual`. It must be less than `vocabulary`.
int32_t pad_token_of(const Settings& settings, int64_t usual, uint32_t vocabulary, Report& report);
// Returns the part of the first name in architectures that follows the family's name, such as "ForMaskedLM". Returns
// nothing if no architecture is given.
std::optional<std::string> architecture_suffix(const Settings& settings);
// Adds to the report how many outputs a head has, and whether it has them for each token. `pooling` is the name of the
// pooling, or empty to leave it out. `source` says where the number was found.
void report_outputs(Conversion& conversion, const ClassificationHead& head, const std::string& pooling,
                    const std::string& source);
// Names the outputs of a classifier and sets its kind, as the settings say.
void label_outputs(Conversion& conversion, const Settings& settings, ClassificationHead* head);
// Names the outputs of a question-answering head and sets its kind. Its two outputs are the logits of an answer's first
// and last token.
void label_answer_outputs(Conversion& conversion, const Settings& settings, ClassificationHead* head);
// Returns the labels in id2label. The list is empty if id2label is missing, has only the placeholders LABEL_0, LABEL_1
// and so on, or has labels that a model file can't hold. The report has the labels, or a note if they can't be held.
std::vector<std::string> labels_of(const Settings& settings, uint64_t classes, Report& report);
// Returns how the pipeline of transformers, or CrossEncoder of sentence-transformers, interprets a classifier's
// outputs.
KindRule head_kind_of(const Settings& settings, uint64_t outputs);

}  // namespace linformer::convert::hugging_face
