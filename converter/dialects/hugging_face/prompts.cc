#include "converter/dialects/hugging_face/prompts.h"

#include "base/description.h"
#include "converter/readers/error.h"
#include "model/limits.h"
#include "model/utf8.h"

namespace linformer::convert {

namespace {

Prompt read_prompt(Value name, Value text, const std::string& source) {
  if (!text.is(ValueKind::text)) {
    fail("the prompt ", quote(name.text()), " (", source, ") is a ", text.kind_name(), ", not a text");
  }
  if (!is_printable_name(name.text())) {
    fail("the prompt ", quote(name.text()), " (", source, ") has a name that is empty, too long or not printable");
  }
  if (text.text().size() > max_prompt_bytes || !is_utf8(text.text())) {
    fail("the prompt ", quote(name.text()), " (", source, ") has ", text.text().size(), " bytes; at most ",
         max_prompt_bytes, " bytes of valid UTF-8 are possible");
  }
  return {name.text(), text.text()};
}

}  // namespace

void add_prompts(Conversion& conversion, const Settings& settings) {
  SentenceEmbedding& embedding = conversion.description.embedding;
  const std::optional<Setting<bool>> included = settings.flag(include_prompt_setting);
  embedding.excludes_prompt = included && !included->value;
  const std::optional<Setting<Value>> prompts = settings.value(prompts_setting);
  std::string names;
  if (prompts) {
    const std::vector<Value>& items = prompts->value.items();
    if (!prompts->value.is(ValueKind::dict)) {
      fail("the setting ", prompts_setting, " (", prompts->source, ") is a ", prompts->value.kind_name(),
           ", not an object of texts by name");
    }
    if (items.size() / 2 > max_prompts) {
      fail("the setting ", prompts_setting, " (", prompts->source, ") has ", items.size() / 2, " prompts; ",
           max_prompts, " are possible");
    }
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      embedding.prompts.push_back(read_prompt(items[i], items[i + 1], prompts->source));
      names += (names.empty() ? "" : ", ") + std::string(items[i].text());
    }
  }
  const std::optional<Setting<std::string>> chosen = settings.text(default_prompt_setting);
  for (size_t i = 0; chosen && i < embedding.prompts.size(); ++i) {
    if (embedding.prompts[i].name == chosen->value) embedding.default_prompt = static_cast<int32_t>(i);
  }
  if (chosen && embedding.default_prompt < 0) {
    fail("the default prompt ", quote(chosen->value), " (", chosen->source, ") is none of the prompts",
         names.empty() ? "" : " " + names);
  }
  if (embedding.prompts.empty()) return;
  conversion.report.add_fact("prompts", names + (chosen ? "; " + chosen->value + " where none is chosen" : ""),
                             prompts->source);
}

}  // namespace linformer::convert
