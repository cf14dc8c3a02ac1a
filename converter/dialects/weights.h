// From a checkpoint's tensor to a role in the model file: shapes checked, values finite, everything reported.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

#include "converter/dialects/report.h"
#include "converter/readers/checkpoint.h"
#include "converter/writer/model_builder.h"
#include "linformer/description.h"

namespace linformer::convert {

// Elements of tensors taken in so far; called now and then.
using ReadProgress = std::function<void(uint64_t elements)>;

// One size that a tensor must have, and what to call it; 0 = any.
struct Size {
  uint64_t value;
  const char* meaning;
};

// All functions throw Error naming the tensor. The checkpoint must outlive the builder's use of it.
class WeightWriter {
 public:
  WeightWriter(const Checkpoint& checkpoint, writer::ModelBuilder& builder, Report& report, ReadProgress progress)
      : checkpoint_(checkpoint), builder_(builder), report_(report), progress_(std::move(progress)) {}

  // `bias` may be null.
  Linear linear(const std::string& role, const Tensor& weight, const Tensor* bias, Size out, Size in);
  Norm norm(const std::string& role, const Tensor& scale, const Tensor& bias, Size width);
  TensorIndex table(const std::string& role, const Tensor& tensor, Size rows, Size columns);
  TensorIndex floats(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape);
  // The index of `table` if `tensor` has its very values.
  std::optional<TensorIndex> tied(const std::string& role, const Tensor& tensor, TensorIndex table);
  // A Linear whose weight / its largest singular value is what the model uses: PyTorch's spectral_norm.
  Linear spectral(const std::string& role, const Tensor& weight, const Tensor& u, const Tensor& v, const Tensor* bias,
                  Size out, Size in);

  // All of a small tensor.
  std::vector<float> read(const Tensor& tensor) const;

 private:
  void check_shape(const Tensor& tensor, std::initializer_list<Size> shape) const;
  writer::FloatSource source(const Tensor& tensor) const;
  TensorIndex record(const std::string& role, const Tensor& tensor, TensorIndex index);

  const Checkpoint& checkpoint_;
  writer::ModelBuilder& builder_;
  Report& report_;
  ReadProgress progress_;
};

// The size of a dimension that exists, at least 1 and within the model file's limit.
uint32_t dimension(const Tensor& tensor, size_t axis);

}  // namespace linformer::convert
