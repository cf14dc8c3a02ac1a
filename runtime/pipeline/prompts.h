// A model's prompts, and a TextRunner that puts one before each text.
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

// The text of the prompt of this name; empty where the name is. Without a name that of the model's default, or none.
// Errors: invalid_argument for a name that the model lacks, unsupported for a prompt whose rows are not pooled.
Result<std::string_view> find_prompt(const SentenceEmbedding& embedding, std::optional<std::string_view> name);

struct PromptedRunner {
  // As TextRunner::create() of one output; a copy of the prompt is kept.
  static Result<TextRunner> create(std::shared_ptr<const Model> model, const Output& output, const TextOptions& options,
                                   std::string_view prompt);
};

}  // namespace LINFORMER_NAMESPACE
