// What config.json of a Hugging Face folder says, checked and in our terms.
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

// Whether a model of this model_type in config.json can be converted.
bool is_model_type(std::string_view type);
// The sentence about one that can't, with those that can.
std::string unsupported_model_type(const Setting<std::string>& said);

// All functions below throw Error that names the setting and what to write instead.

// By model_type; where that is missing by the names of the checkpoint's tensors, if they tell.
const Family& family_of(const Settings& settings, const Checkpoint& checkpoint, Report& report);
// Throws where a setting asks for what isn't computed here. `position_type`: what position_embedding_type may say.
void refuse_unsupported(const Settings& settings, std::string_view position_type = "absolute");
// The part of it that holds for every family.
void refuse_quantised(const Settings& settings);
Activation activation_of(const Settings& settings, const char* name, Report& report);
// What the first half of Jina's gated networks goes through: feed_forward_type, or `usual`.
Activation gate_activation(const Settings& settings, Activation usual, Report& report);
float epsilon_of(const Settings& settings, const Family& family, Report& report);
// `usual`: where config.json leaves pad_token_id out.
int32_t pad_of(const Settings& settings, int64_t usual, uint32_t vocabulary, Report& report);
// What follows the family's name in architectures, such as "ForMaskedLM"; nothing where no architecture is given.
std::optional<std::string> architecture_of(const Settings& settings);
// Reports how many outputs a head has, for each token or behind a pooling, whose name follows where `pooling` has one.
// `source`: what says so.
void report_outputs(Conversion& conversion, const ClassificationHead& head, const std::string& pooling,
                    const std::string& source);
// Names the outputs of a classifier and sets its kind, as the settings say.
void label_outputs(Conversion& conversion, const Settings& settings, ClassificationHead* head);
// The same of a head whose two outputs are the logits of an answer's first and last token.
void label_answers(Conversion& conversion, const Settings& settings, ClassificationHead* head);
// From id2label; empty where that is missing or says LABEL_0, LABEL_1, ...
std::vector<std::string> labels_of(const Settings& settings, uint64_t classes, Report& report);
// What the pipeline of transformers, or CrossEncoder of sentence-transformers, makes of a classifier's outputs.
KindRule kind_of(const Settings& settings, uint64_t outputs);

}  // namespace linformer::convert::hugging_face
