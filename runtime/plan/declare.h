// Inside the plan: products declared to the GEMM provider, and the part of a layer that is attention.
#pragma once

#include "plan/program.h"

namespace linformer {

// Declares products; the provider knows equal ones again.
class Declarations {
 public:
  Declarations(const ModelDescription& description, Program* program)
      : tensors_(description.tensors), provider_(program->gemm.get()), block_rows_(program->plan.block_rows) {}

  Status add(const GemmDesc& shape, int* id);
  // A linear on at most a block of rows.
  GemmDesc linear_shape(const Linear& linear) const;
  Status linear(const Linear& linear, Activation activation, bool residual, int* id);

  const TensorDescription& tensor(TensorIndex index) const { return tensors_[static_cast<size_t>(index)]; }
  int64_t inputs(const Linear& linear) const { return static_cast<int64_t>(tensor(linear.weight).shape[1]); }
  int64_t outputs(const Linear& linear) const { return static_cast<int64_t>(tensor(linear.weight).shape[0]); }

 private:
  const std::vector<TensorDescription>& tensors_;
  GemmProvider* provider_;
  int64_t block_rows_;
};

// Fills the layer's path, groups, sides, scores and context; widens the program's buffers for them.
Status declare_attention(const EncoderDescription& encoder, Declarations* declarations, LayerProgram* layer,
                         Program* program);

}  // namespace linformer
