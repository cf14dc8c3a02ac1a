// From a checkpoint's tensor to a role in the model file: shapes checked, values finite, everything reported.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/description.h"
#include "converter/readers/checkpoint.h"
#include "converter/writer/model_builder.h"
#include "linformer/convert.h"

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
  // One Linear from parts that follow each other along its outputs, such as one for each head; `biases` is empty or
  // has one for each part.
  Linear stacked_linear(const std::string& role, std::span<const Tensor> weights, std::span<const Tensor> biases,
                        Size out, Size in);
  // `bias` may be null: it is zeros then, which all such norms share, since sessions add one always.
  Norm norm(const std::string& role, const Tensor& scale, const Tensor* bias, Size width);
  TensorIndex table(const std::string& role, const Tensor& tensor, Size rows, Size columns);
  // Row r is row rows[r] of `table`, an integer one too, times weights[r]; without `rows` row r, without `weights` as
  // it is. Throws Error where the two have different lengths, or the checkpoint is too small for so many rows.
  TensorIndex gathered_table(const std::string& role, const Tensor& table, std::vector<int64_t> rows,
                             std::vector<float> weights);
  TensorIndex floats(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape);
  // E: [k, N].
  TensorIndex projection(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape);
  // The index of `table` if `tensor` has its very values.
  std::optional<TensorIndex> tied(const std::string& role, const Tensor& tensor, TensorIndex table);
  // A Linear whose weight / its largest singular value is what the model uses: PyTorch's spectral_norm.
  Linear spectral(const std::string& role, const Tensor& weight, const Tensor& u, const Tensor& v, const Tensor* bias,
                  Size out, Size in);

  // Makes room for a table of [rows, columns] that is computed from settings or a small tensor. Throws Error where the
  // checkpoint is too small for a table of this size.
  std::vector<float> room_for_table(uint64_t rows, uint64_t columns) const;
  // Such a table. A tensor that it came from is kept in the file too, for the way back.
  TensorIndex computed(const std::string& role, const std::string& name, const std::vector<uint64_t>& shape,
                       std::span<const float> values);

  // Notes that the checkpoint's tensor is part of what `role` came from.
  void report(const std::string& role, const Tensor& tensor, const std::string& note);
  // All of a small tensor.
  std::vector<float> read(const Tensor& tensor) const;

 private:
  void check_shape(const Tensor& tensor, std::initializer_list<Size> shape) const;
  writer::FloatSource source(const Tensor& tensor) const;
  static writer::FloatSource stacked(std::vector<writer::FloatSource> parts, const std::vector<uint64_t>& elements);
  // What a tensor becomes in the model file.
  enum class Form : uint8_t { linear, table, projection, floats };
  TensorIndex add(Form form, const Tensor& tensor);
  TensorIndex record(const std::string& role, const Tensor& tensor, TensorIndex index, uint64_t first_row = 0);

  const Checkpoint& checkpoint_;
  writer::ModelBuilder& builder_;
  Report& report_;
  ReadProgress progress_;
  std::map<uint32_t, size_t> sources_;  // the checkpoint's tensor -> entry of builder_.origin
  // What was added already: a matrix that all layers or heads share is read once, not for each of them.
  using View = std::tuple<Form, uint32_t, uint64_t, std::vector<uint64_t>, std::vector<uint64_t>>;
  std::map<View, TensorIndex> views_;  // by form, tensor, offset, strides and shape
};

// The size of a dimension that exists, at least 1 and within the model file's limit.
uint32_t dimension(const Tensor& tensor, size_t axis);

}  // namespace linformer::convert
