#include "pipeline/prompts.h"

#include <algorithm>
#include <cstdio>

namespace LINFORMER_NAMESPACE {
namespace {

int printed_size(std::string_view text, size_t most) { return static_cast<int>(std::min(text.size(), most)); }

Status no_such_prompt(const SentenceEmbedding& embedding, std::string_view name) {
  if (embedding.prompts.empty()) {
    return Status::error(Code::invalid_argument, "this model has no prompts, so none is called '%.*s'",
                         printed_size(name, 60), name.data());
  }
  char names[256] = "";
  size_t length = 0;
  for (size_t i = 0; i < embedding.prompts.size() && length + 1 < sizeof names; ++i) {
    const int written = std::snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : ", ",
                                      embedding.prompts[i].name.c_str());
    if (written > 0) length += static_cast<size_t>(written);
  }
  return Status::error(Code::invalid_argument, "this model has no prompt called '%.*s': it has %s",
                       printed_size(name, 60), name.data(), names);
}

}  // namespace

Result<std::string_view> find_prompt(const SentenceEmbedding& embedding, std::optional<std::string_view> name) {
  const Prompt* found = nullptr;
  if (!name) {
    if (embedding.default_prompt >= 0) found = &embedding.prompts[static_cast<size_t>(embedding.default_prompt)];
  } else if (!name->empty()) {
    for (const Prompt& prompt : embedding.prompts) {
      if (prompt.name == *name) found = &prompt;
    }
    if (found == nullptr) return no_such_prompt(embedding, *name);
  }
  if (found == nullptr || found->text.empty()) return std::string_view();
  if (embedding.excludes_prompt) {
    return Status::error(Code::unsupported,
                         "this model leaves the tokens of its prompt '%.60s' out of the vector (include_prompt), which "
                         "is not supported: choose no prompt",
                         found->name.c_str());
  }
  return found->text.view();
}

}  // namespace LINFORMER_NAMESPACE
