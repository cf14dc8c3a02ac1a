// Ports of fairseq's Linformer to Hugging Face's RoBERTa classes. Ports differ in names and in where their norms are.
#pragma once

#include <span>

#include "converter/dialects/dialect.h"
#include "converter/dialects/hugging_face/names.h"
#include "converter/dialects/tensor_table.h"

namespace linformer::convert::fairseq {

// The names in a port, and where its norms are.
struct Port {
  const hugging_face::Family& family;
  const char* attention;                // Begins the names of compress_k and compress_v in a layer.
  const char* query;                    // The name of the query in a layer.
  const char* model;                    // What errors call the model.
  std::span<const NamePattern> unused;  // Tensors that are left out in addition to those of all ports.
  // If not 0, a norm comes before each sublayer (attention, feed-forward network), and this is the epsilon of these
  // norms and of the final norm. If 0, a norm comes after each sublayer, and a setting gives the epsilon of the norms.
  float norm_epsilon = 0;
};

Recognition recognise_port(const Checkpoint& checkpoint, const Port& port);
// Converts the checkpoint. Throws Error that names the tensor or setting.
void convert_port(Conversion& conversion, const Port& port);

}  // namespace linformer::convert::fairseq
