// The kind of a classification head, which says what its outputs mean, and the activation of a head whose output is a
// score.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/description.h"
#include "converter/dialects/dialect.h"
#include "converter/option_names.h"

namespace linformer::convert {

// The kind of a head, and where the kind comes from. The setting head_kind gives the kind by its name in HeadKind; a
// colon and an activation may follow the name `score`. The setting is such a text for all heads, or an object with a
// text for each head's name.
struct KindRule {
  HeadKind kind = HeadKind::single_label;
  Activation activation = Activation::none;  // Only if the kind is `score`.
  std::string source;                        // What gives the kind, for the report.
  bool assumed = false;                      // If true, nothing gives the kind, and the report gets a note.
};

// Returns the kind that Hugging Face's pipeline and sentence-transformers' CrossEncoder use if no setting says
// otherwise: softmax over several outputs, and the sigmoid of a single output.
KindRule usual_head_kind(uint64_t outputs);
// Returns the kind `regression`, so that no activation is applied. Used for outputs that are compared with those of
// other positions or other texts. `with` names the positions or texts, for the report.
KindRule compared_outputs_kind(const char* with);

// Returns the activation of this name, such as "Sigmoid", "identity" or "torch.nn.modules.activation.Tanh". Only the
// part after the last dot counts, in upper or lower case. Throws Error for an unknown name; the message begins with
// `what`, such as "the setting activation_fn (config.json)".
Activation activation_named(std::string_view name, const std::string& what);

// Returns the number of outputs of a head whose Linear `output` is set.
uint64_t count_outputs(const Conversion& conversion, const ClassificationHead& head);

// Sets the head's kind and adds it to the report. If the setting head_kind gives a kind for this head, that kind is
// taken. Otherwise it is the kind that `fallback` returns; `fallback` may throw Error for other settings that it can't
// read. Throws Error if the kind doesn't fit the number of outputs.
void set_head_kind(Conversion& conversion, const Settings& settings,
                   const std::function<KindRule(uint64_t outputs)>& fallback, ClassificationHead* head);

inline std::string head_kind_option() { return placeholder(Option::head_kinds); }
// Returns the option's arguments, each KIND or HEAD=KIND, as the settings {"head_kind": ...}. Throws Error if a KIND
// for all heads is not the only argument.
Value head_kind_setting(const std::vector<std::string>& given, ValueStore& store);

// Throws Error if head_kind names a head that the model does not have.
void check_head_kind_names(const Settings& settings, const ModelDescription& description);

}  // namespace linformer::convert
