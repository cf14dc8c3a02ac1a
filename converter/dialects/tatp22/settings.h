// What linformer-pytorch's tensors do not show: arguments of the model's constructor, from the settings.
#pragma once

#include <cstdint>
#include <string>

#include "converter/dialects/dialect.h"

namespace linformer::convert::tatp22 {

// Which of the three classes made a stack of layers, or which half of LinformerEncDec it is.
enum class Part : uint8_t { model = 0, encoder, decoder };

// "enc_" or "dec_" where the argument is that of one half of LinformerEncDec.
std::string setting_name(Part part, const std::string& name);

struct Arguments {
  Activation activation = Activation::gelu;
  bool full_attention = false, causal = false, decoder_mode = false;
};

// Where some arguments of the constructor are given, the others have its defaults, which the report tells. Throws when
// none is.
Arguments arguments_of(const Settings& settings, Part part, Report& report);

// Of models whose tensors don't tell the length of a text. `why` says what kind those are.
uint32_t input_size_of(const Settings& settings, Part part, const char* why);

}  // namespace linformer::convert::tatp22
