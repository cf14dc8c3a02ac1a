#include "converter/dialects/weights.h"

#include <cmath>
#include <memory>

#include "converter/readers/error.h"

namespace linformer::convert {

namespace {

std::vector<uint64_t> matrix(const Tensor& tensor) { return {tensor.shape[0], tensor.shape[1]}; }

}  // namespace

uint32_t dimension(const Tensor& tensor, size_t axis) {
  if (axis >= tensor.shape.size()) {
    fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), ": it has no dimension ", axis);
  }
  const uint64_t size = tensor.shape[axis];
  if (size == 0 || size > max_dimension) {
    fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), ": sizes from 1 to ", max_dimension,
         " are possible");
  }
  return static_cast<uint32_t>(size);
}

void WeightWriter::check_shape(const Tensor& tensor, std::initializer_list<Size> shape) const {
  bool fits = tensor.shape.size() == shape.size();
  std::string wanted = "[";
  size_t axis = 0;
  for (const Size& size : shape) {
    fits = fits && (size.value == 0 || tensor.shape[axis] == size.value);
    wanted +=
        (axis++ ? ", " : "") + (size.value ? std::to_string(size.value) + " (" + size.meaning + ")" : size.meaning);
  }
  if (!fits) fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), " where ", wanted, "] is due");
  if (tensor.type > DataType::bf16) {
    fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), " where floating point is due");
  }
  for (axis = 0; axis < tensor.shape.size(); ++axis) dimension(tensor, axis);
}

writer::FloatSource WeightWriter::source(const Tensor& tensor) const {
  return [checkpoint = &checkpoint_, tensor = std::make_shared<const Tensor>(tensor)](uint64_t first,
                                                                                      std::span<float> values) {
    checkpoint->read_f32(*tensor, first, values);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) continue;
      fail("the tensor ", quote(tensor->name), " holds ", values[i], " at element ", first + i,
           tensor->type == DataType::f64 ? " (or a number too large for f32)" : "",
           ": its training diverged or the file is damaged");
    }
  };
}

TensorIndex WeightWriter::record(const std::string& role, const Tensor& tensor, TensorIndex index) {
  const std::string& kept = builder_.description.tensors[static_cast<size_t>(index)].name;
  report_.mapped.push_back(
      {role, tensor.name, shape_text(tensor), kept == tensor.name ? "" : "same values as " + kept});
  if (progress_) progress_(tensor.elements);
  return index;
}

Linear WeightWriter::linear(const std::string& role, const Tensor& weight, const Tensor* bias, Size out, Size in) {
  check_shape(weight, {out, in});
  Linear made;
  made.weight = record(role + ".weight", weight,
                       builder_.add_linear(weight.name, weight.shape[0], weight.shape[1], source(weight)));
  if (bias != nullptr) made.bias = floats(role + ".bias", *bias, {{weight.shape[0], out.meaning}});
  return made;
}

Norm WeightWriter::norm(const std::string& role, const Tensor& scale, const Tensor& bias, Size width) {
  Norm made;
  made.scale = floats(role + ".scale", scale, {width});
  made.bias = floats(role + ".bias", bias, {width});
  return made;
}

TensorIndex WeightWriter::table(const std::string& role, const Tensor& tensor, Size rows, Size columns) {
  check_shape(tensor, {rows, columns});
  return record(role, tensor, builder_.add_table(tensor.name, matrix(tensor), source(tensor)));
}

TensorIndex WeightWriter::floats(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape) {
  check_shape(tensor, shape);
  return record(role, tensor, builder_.add_floats(tensor.name, tensor.shape, source(tensor)));
}

std::optional<TensorIndex> WeightWriter::tied(const std::string& role, const Tensor& tensor, TensorIndex table) {
  check_shape(tensor, {{0, "any"}, {0, "any"}});
  if (!builder_.is_table(table, matrix(tensor), source(tensor))) return std::nullopt;
  return record(role, tensor, table);
}

Linear WeightWriter::spectral(const std::string& role, const Tensor& weight, const Tensor& u, const Tensor& v,
                              const Tensor* bias, Size out, Size in) {
  check_shape(weight, {out, in});
  const uint64_t rows = weight.shape[0], columns = weight.shape[1];
  check_shape(u, {{rows, out.meaning}});
  check_shape(v, {{columns, in.meaning}});
  std::vector<float> values = read(weight);
  const std::vector<float> left = read(u), right = read(v);
  double sigma = 0;
  for (uint64_t row = 0; row < rows; ++row) {
    double product = 0;
    for (uint64_t column = 0; column < columns; ++column)
      product += double{values[row * columns + column]} * right[column];
    sigma += left[row] * product;
  }
  if (!std::isnormal(sigma)) fail("the tensor ", quote(weight.name), " has a spectral norm of ", sigma);
  for (float& value : values) value = static_cast<float>(value / sigma);
  for (const float value : values) {
    if (!std::isfinite(value)) fail("the tensor ", quote(weight.name), " overflows when divided by its spectral norm");
  }
  Linear made;
  made.weight = record(role + ".weight", weight, builder_.add_linear(weight.name, rows, columns, values));
  report_.mapped.push_back({role + ".weight", u.name, shape_text(u), "divides by the spectral norm"});
  report_.mapped.push_back({role + ".weight", v.name, shape_text(v), "divides by the spectral norm"});
  if (bias != nullptr) made.bias = floats(role + ".bias", *bias, {{rows, out.meaning}});
  return made;
}

std::vector<float> WeightWriter::read(const Tensor& tensor) const {
  std::vector<float> values(tensor.elements);
  source(tensor)(0, values);
  return values;
}

}  // namespace linformer::convert
