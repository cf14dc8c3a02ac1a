// What is put before texts that become vectors: the prompts of sentence-transformers.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

// The settings that they are: an object of texts by name; the name of the one that is put before texts where none is
// chosen; whether the rows of a prompt are pooled.
inline constexpr const char *prompts_setting = "sentence_prompts", *default_prompt_setting = "sentence_default_prompt",
                            *include_prompt_setting = "sentence_include_prompt";

// Gives the model's sentence embedding the prompts of the settings. Throws Error naming the one that can't be kept.
void add_prompts(Conversion& conversion, const Settings& settings);

}  // namespace linformer::convert
