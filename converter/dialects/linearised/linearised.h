// Encoders of Hugging Face whose attention apps/research/linearise made linear. Such a checkpoint has the tensors and
// the settings of the encoder that it was made from, its teacher. The setting `linformer` says how each layer attends,
// and the tensors linformer.layers.I.keys and linformer.layers.I.values, [k, N], compress the keys and values of layer
// I.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/description.h"
#include "converter/dialects/dialect.h"

namespace linformer::convert {

inline constexpr const char* linearised_setting = "linformer";

// What a checkpoint has beside its teacher's tensors and settings. It is empty for a checkpoint that is not linearised.
class Linearised {
 public:
  // Takes the tensors that compress keys and values out of the checkpoint, so that the teacher's dialect reads the
  // others as if they were alone. Throws Error if the setting is malformed, or if the tensors don't fit the setting.
  static Linearised extract(Checkpoint& checkpoint, const Settings& settings);

  // Throws Error if encoders of this dialect can't be linearised.
  void check(const Dialect& dialect) const;
  // Returns the number of values in the tensors that extract() took out.
  uint64_t elements() const;
  // Puts the tensors back into the checkpoint, and changes the layers as the setting says. Before that, the caller must
  // have called the dialect's convert(), which reads the layers as those of the teacher. `conversion` is that of the
  // same checkpoint. Throws Error if a layer can't be changed in this way.
  void apply(Checkpoint& checkpoint, Conversion& conversion);

 private:
  static constexpr size_t none = SIZE_MAX;
  struct Layer {
    bool changed = false;  // If false, the layer stays as the teacher has it.
    uint32_t k = 0, window = 0, span = 0;
    std::vector<uint32_t> exact_tokens;
    size_t keys = none, values = none;  // Indices into tensors_.
  };

  void read_setting(const Setting<Value>& setting);
  void read_layer(Value entry, Layer* layer, const std::string& name) const;
  void assign_tensor(size_t index);
  void check_layer(size_t index, const EncoderDescription& encoder) const;
  uint32_t add_projection(const Layer& layer, const Tensor& matrix, const std::string& role, Conversion& conversion);
  void report(Report& report, const Array<Projection>& projections, size_t uses) const;
  std::string layer_name(size_t index) const;
  // Returns " (SOURCE)", which says in errors where the setting was read.
  std::string source_in_parentheses() const { return " (" + source_ + ")"; }

  std::string source_;  // Where the setting was read; empty if the checkpoint is not linearised.
  std::vector<Layer> layers_;
  std::vector<Tensor> tensors_;
};

}  // namespace linformer::convert
