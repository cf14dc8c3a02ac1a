// Adds tensors of a checkpoint to a model file. Their shapes and values are checked, and each is reported with its
// role.
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

// Called each time a tensor of the checkpoint is used, with the number of its elements. A tensor that is used twice
// counts twice.
using ReadProgress = std::function<void(uint64_t elements)>;

// The size that a dimension of a tensor must have, or 0 if any size is allowed, and the dimension's name in errors.
struct Size {
  uint64_t value;
  const char* meaning;
};

// Adds tensors of a checkpoint to a ModelBuilder. An Error that a function throws names the tensor or its role. The
// checkpoint must live until the builder has written the model file, because the builder then reads the values.
class WeightWriter {
 public:
  WeightWriter(const Checkpoint& checkpoint, writer::ModelBuilder& builder, Report& report, ReadProgress progress)
      : checkpoint_(checkpoint), builder_(builder), report_(report), progress_(std::move(progress)) {}

  // Adds a Linear. `bias` may be null.
  Linear linear(const std::string& role, const Tensor& weight, const Tensor* bias, Size out, Size in);
  // Adds one Linear whose outputs are those of several parts in order, such as one part for each head. `biases` is
  // empty or has one entry for each part.
  Linear stacked_linear(const std::string& role, std::span<const Tensor> weights, std::span<const Tensor> biases,
                        Size out, Size in);
  // Adds a Norm. `bias` may be null.
  Norm norm(const std::string& role, const Tensor& scale, const Tensor* bias, Size width);
  TensorIndex table(const std::string& role, const Tensor& tensor, Size rows, Size columns);
  // Adds a table whose row r is row rows[r] of `table` times weights[r]. The elements of `table` may be integers. If
  // `rows` is empty, row r is row r of `table`; if `weights` is empty, rows are not multiplied. Throws Error if there
  // are weights but not one for each row, or if the result is too large in proportion to the checkpoint.
  TensorIndex gathered_table(const std::string& role, const Tensor& table, std::vector<int64_t> rows,
                             std::vector<float> weights);
  TensorIndex floats(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape);
  // Adds a projection matrix, [k, N].
  TensorIndex projection(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape);
  // If the model file would store the same values for `tensor` as for `table`, returns the index of `table` and reports
  // the role; otherwise returns nothing.
  std::optional<TensorIndex> index_if_tied(const std::string& role, const Tensor& tensor, TensorIndex table);
  // Adds a Linear whose weight is `weight` divided by its spectral norm u^T `weight` v, as PyTorch's spectral_norm
  // does.
  Linear spectral_norm_linear(const std::string& role, const Tensor& weight, const Tensor& u, const Tensor& v,
                              const Tensor* bias, Size out, Size in);

  // Returns a table of [rows, columns] zeros, which the caller fills with values computed from settings or from a small
  // tensor. Throws Error if the table is too large in proportion to the checkpoint.
  std::vector<float> zeroed_table(uint64_t rows, uint64_t columns) const;
  // Adds a table that the caller computed. If it was computed from a tensor, the caller adds that tensor too, so that
  // the export can restore the tensor.
  TensorIndex computed_table(const std::string& role, const std::string& name, const std::vector<uint64_t>& shape,
                             std::span<const float> values);

  // Adds a line to the report which says that the tensor was used for `role`, with a note that may be empty.
  void report(const std::string& role, const Tensor& tensor, const std::string& note);
  // Returns all values of a tensor, which should be small.
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
  std::map<uint32_t, size_t> sources_;  // Entries of builder_.origin, by the index of the checkpoint's tensor.
  // The views of tensors that were added so far. A matrix that layers or heads share is read only once.
  using View = std::tuple<Form, uint32_t, uint64_t, std::vector<uint64_t>, std::vector<uint64_t>>;
  std::map<View, TensorIndex> views_;  // By form, tensor, offset, strides and shape.
};

// Returns the size of a dimension. Throws Error if the dimension does not exist, or if its size is 0 or above the model
// file's limit.
uint32_t dimension(const Tensor& tensor, size_t axis);

}  // namespace linformer::convert
