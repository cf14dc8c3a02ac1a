// Finds a model's prompts, and creates a TextRunner that puts a prompt before each text.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/description.h"
#include "linformer/model.h"
#include "linformer/text_input.h"
#include "linformer/text_runner.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// Returns the text of the prompt with this name, or an empty text if the name is empty. Without a name, returns the
// text of the model's default prompt, or an empty text if there is no default. Errors: invalid_argument for a name that
// the model doesn't have; unsupported if the model excludes the prompt's tokens from pooling.
Result<std::string_view> find_prompt(const SentenceEmbedding& embedding, std::optional<std::string_view> name);

struct PromptedRunner {
  // Creates a TextRunner with one output that puts `prompt` before each text. The runner copies the prompt.
  static Result<TextRunner> create(std::shared_ptr<const Model> model, const Output& output, const TextOptions& options,
                                   std::string_view prompt);
};

}  // namespace LINFORMER_NAMESPACE
