// What the outputs of a classification head are: its kind, and of a score the activation.
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

// The setting head_kind, or an object of such by head: one of HeadKind's names, a score's activation behind a colon.
struct KindRule {
  HeadKind kind = HeadKind::single_label;
  Activation activation = Activation::none;  // of a score
  std::string source;                        // for the report
  bool assumed = false;                      // nothing in the checkpoint says it: the report has a note
};

// What Hugging Face's pipeline and sentence-transformers' CrossEncoder take where nothing says otherwise: softmax over
// several classes, the sigmoid of one output.
KindRule usual_kind(uint64_t outputs);
// Outputs that are compared over a text's positions, or over several texts: as they are.
KindRule compared_kind(const char* with);

// "Sigmoid", "identity", "torch.nn.modules.activation.Tanh": what stands behind the last dot, in any case. Throws Error
// that starts with `what`, such as "the setting activation_fn (config.json)".
Activation activation_named(std::string_view name, const std::string& what);

// The number of outputs of a head whose output is set.
uint64_t outputs_of(const Conversion& conversion, const ClassificationHead& head);

// Sets the head's kind, as the setting head_kind says or else by `rule`, and reports it. `rule` is asked with the
// number of outputs where head_kind says nothing of the head: what it can't read doesn't matter otherwise. Throws Error
// where the kind doesn't fit the number of outputs.
void set_kind(Conversion& conversion, const Settings& settings, const std::function<KindRule(uint64_t outputs)>& rule,
              ClassificationHead* head);

inline std::string head_kind_option() { return mark(Option::head_kinds); }
// The option's arguments, KIND or HEAD=KIND, as settings {"head_kind": ...}. Throws Error.
Value head_kind_setting(const std::vector<std::string>& given, ValueStore& store);

// Throws Error where head_kind names a head that the model lacks.
void check_kind_names(const Settings& settings, const ModelDescription& description);

}  // namespace linformer::convert
