// Reads from the settings those arguments of the model's constructor that linformer-pytorch's tensors do not show.
#pragma once

#include <cstdint>
#include <string>

#include "converter/dialects/dialect.h"

namespace linformer::convert::tatp22 {

// Says whether a stack of layers is a whole model (Linformer or LinformerLM) or which part of a LinformerEncDec it is.
enum class Part : uint8_t { model = 0, encoder, decoder };

// Returns the setting's name for an argument: its own name, after "enc_" or "dec_" for a part of a LinformerEncDec.
std::string setting_name(Part part, const std::string& name);

struct Arguments {
  Activation activation = Activation::gelu;
  bool full_attention = false, causal = false, decoder_mode = false;
};

// Returns the arguments. If the settings have some arguments of the constructor, the others have the constructor's
// defaults, which are added to the report. Throws Error if the settings have none.
Arguments arguments_of(const Settings& settings, Part part, Report& report);

// Returns the setting input_size, for a model whose tensors do not show the length of a text. `why` says in the error
// why they do not.
uint32_t input_size_of(const Settings& settings, Part part, const char* why);

}  // namespace linformer::convert::tatp22
