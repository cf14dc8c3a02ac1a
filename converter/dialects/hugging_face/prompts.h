// The prompts of sentence-transformers: texts that are put before a text that is embedded.
#pragma once

#include "converter/dialects/dialect.h"

namespace linformer::convert {

// The names of the settings: an object of prompts by name; the name of the prompt that is used if the caller chooses
// none; whether the rows of a prompt are pooled.
inline constexpr const char *prompts_setting = "sentence_prompts", *default_prompt_setting = "sentence_default_prompt",
                            *include_prompt_setting = "sentence_include_prompt";

// Adds the prompts in the settings to the model's sentence embedding. Throws Error that names a prompt which the model
// file can't hold.
void add_prompts(Conversion& conversion, const Settings& settings);

}  // namespace linformer::convert
