// Ports of fairseq's Linformer to Hugging Face's RoBERTa classes, which differ in names and in where their norms are.
#pragma once

#include <span>

#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::fairseq {

struct Port {
  const hugging_face::Family& family;
  const char* attention;                // before compress_k and compress_v, below a layer
  const char* query;                    // a layer's
  const char* model;                    // for the report
  std::span<const NamePattern> unused;  // beside those that all ports leave out
  // Of norms before each half, and of the one at the end where it is there. 0: norms are behind each half, and their
  // epsilon is a setting.
  float norm_epsilon = 0;
};

Recognition recognise_port(const Checkpoint& checkpoint, const Port& port);
// Throws Error that names the tensor or setting.
void convert_port(Conversion& conversion, const Port& port);

}  // namespace linformer::convert::fairseq
