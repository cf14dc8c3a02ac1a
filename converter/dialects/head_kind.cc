#include "converter/dialects/head_kind.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/description.h"
#include "base/enum_names.h"
#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

constexpr const char* setting_name = "head_kind";
constexpr const char* kinds = "single_label, multi_label, score, score:identity and regression";

// Reads KIND or score:ACTIVATION. `given_with` is the option, or the source of the setting.
KindRule parse_kind(std::string_view text, const std::string& given_with) {
  const bool option = given_with == head_kind_option();
  const std::string what = option ? given_with : std::string("the setting ") + setting_name + " (" + given_with + ")";
  const std::string source = option ? given_with : setting_name + (", " + given_with);
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const HeadKind kind : {HeadKind::single_label, HeadKind::multi_label, HeadKind::score, HeadKind::regression}) {
    if (name != enum_name(kind)) continue;
    KindRule rule{kind, Activation::none, source};
    if (kind == HeadKind::score) rule.activation = Activation::sigmoid;
    if (colon == text.npos) return rule;
    if (kind != HeadKind::score) fail(what, " is ", quote(text), ": only a score has an activation");
    rule.activation = activation_named(text.substr(colon + 1), what);
    return rule;
  }
  fail(what, " is ", quote(text), "; ", kinds, " are possible");
}

// Returns the kind that the setting head_kind gives for this head, or nothing if it gives none.
std::optional<KindRule> kind_from_setting(const Settings& settings, const std::string& head) {
  const std::optional<Setting<Value>> said = settings.value(setting_name);
  if (!said) return std::nullopt;
  Value value = said->value;
  if (value.is(ValueKind::dict)) {
    value = value.find(head);
    if (value.is(ValueKind::null)) return std::nullopt;
  }
  if (!value.is(ValueKind::text)) {
    fail("the setting ", setting_name, " (", said->source, ") is neither a kind nor an object of kinds by head");
  }
  return parse_kind(value.text(), said->source);
}

KindRule kind_by(const std::function<KindRule(uint64_t outputs)>& rule, uint64_t outputs) {
  try {
    return rule(outputs);
  } catch (const Error& error) {
    fail(error.what(), "; or say what the outputs are with ", head_kind_option());
  }
}

std::string text_of(const KindRule& rule) {
  switch (rule.kind) {
    case HeadKind::single_label:
      return "single_label (softmax)";
    case HeadKind::multi_label:
      return "multi_label (sigmoid of each)";
    case HeadKind::score:
      return std::string("score (") +
             (rule.activation == Activation::none ? "the output as it is" : name_of(rule.activation)) + ")";
    case HeadKind::regression:
      return "regression (the outputs as they are)";
  }
  return "";
}

void check_fit(const KindRule& rule, const std::string& head, uint64_t outputs) {
  if (rule.kind == HeadKind::single_label && outputs == 1) {
    fail("head ", quote(head), " has one output, so it can't be single_label (", rule.source,
         "): softmax over one class is always 1; give score, score:identity, multi_label or regression");
  }
  if (rule.kind == HeadKind::score && outputs != 1) {
    fail("head ", quote(head), " has ", outputs, " outputs, and a score (", rule.source,
         ") has one; give single_label, multi_label or regression");
  }
}

}  // namespace

KindRule usual_head_kind(uint64_t outputs) {
  if (outputs != 1) return {HeadKind::single_label, Activation::none, "several outputs: no setting says otherwise"};
  return {HeadKind::score, Activation::sigmoid, "one output: no setting says otherwise", true};
}

KindRule compared_outputs_kind(const char* with) {
  return {HeadKind::regression, Activation::none, std::string("compared with those of ") + with};
}

Activation activation_named(std::string_view name, const std::string& what) {
  std::string last(name.substr(name.rfind('.') + 1));
  std::transform(last.begin(), last.end(), last.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::pair<std::string_view, Activation> names[] = {
      {"identity", Activation::none}, {"none", Activation::none}, {"sigmoid", Activation::sigmoid},
      {"tanh", Activation::tanh},     {"relu", Activation::relu}, {"gelu", Activation::gelu}};
  for (const auto& [known, activation] : names) {
    if (last == known) return activation;
  }
  fail(what, " is ", quote(name), "; Identity, Sigmoid, Tanh, ReLU and GELU are supported");
}

uint64_t count_outputs(const Conversion& conversion, const ClassificationHead& head) {
  return conversion.description.tensors[static_cast<size_t>(head.output.weight)].shape[0];
}

void set_head_kind(Conversion& conversion, const Settings& settings,
                   const std::function<KindRule(uint64_t outputs)>& fallback, ClassificationHead* head) {
  const uint64_t outputs = count_outputs(conversion, *head);
  const std::optional<KindRule> said = kind_from_setting(settings, head->name);
  const KindRule chosen = said ? *said : kind_by(fallback, outputs);
  check_fit(chosen, head->name, outputs);
  head->kind = chosen.kind;
  head->score_activation = chosen.activation;
  conversion.report.add_fact("kind of " + head->name, text_of(chosen), chosen.source);
  if (!chosen.assumed) return;
  conversion.report.notes.push_back("Nothing says what the one output of head " + quote(head->name) +
                                    " means: its sigmoid is taken. For the output as it is give " + head_kind_option() +
                                    " score:identity, or regression.");
}

Value head_kind_setting(const std::vector<std::string>& given, ValueStore& store) {
  const Value settings = store.make(ValueKind::dict), by_head = store.make(ValueKind::dict);
  Value every;
  for (const std::string& argument : given) {
    const size_t equals = argument.rfind('=');
    const Value kind = store.make_text(argument.substr(equals == argument.npos ? 0 : equals + 1));
    if (equals == argument.npos) {
      every = kind;
    } else {
      by_head.node()->items.insert(by_head.node()->items.end(), {store.make_text(argument.substr(0, equals)), kind});
    }
  }
  if (every && given.size() > 1) {
    fail(head_kind_option(), " ", quote(every.text()), " is for every head: give it once, or each time as HEAD=KIND");
  }
  settings.node()->items = {store.make_text(setting_name), every ? every : by_head};
  return settings;
}

void check_head_kind_names(const Settings& settings, const ModelDescription& description) {
  const std::optional<Setting<Value>> said = settings.value(setting_name);
  if (!said || !said->value.is(ValueKind::dict)) return;
  std::string known;
  for (const ClassificationHead& head : description.heads) known += (known.empty() ? "" : ", ") + head.name;
  const std::vector<Value>& items = said->value.items();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string_view name = items[i].text();
    if (std::none_of(description.heads.begin(), description.heads.end(),
                     [&](const ClassificationHead& head) { return head.name == name; })) {
      fail(said->source, ": ", setting_name, " names the head ", quote(name),
           "; the model's heads: ", known.empty() ? "none" : known);
    }
  }
}

}  // namespace linformer::convert
