#include "converter/dialects/weights.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/description.h"
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
  if (!fits) fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), ", but ", wanted, "] is expected");
  if (tensor.type > DataType::bf16) {
    fail("the tensor ", quote(tensor.name), " is ", shape_text(tensor), ", but floating point is expected");
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

TensorIndex WeightWriter::add(Form form, const Tensor& tensor) {
  const auto [place, added] = views_.emplace(
      View{form, tensor.same_as, tensor.source_offset, tensor.source_strides, tensor.shape}, TensorIndex{absent});
  if (!added) return place->second;
  switch (form) {
    case Form::linear:
      place->second = builder_.add_linear(tensor.name, tensor.shape[0], tensor.shape[1], source(tensor));
      break;
    case Form::table:
      place->second = builder_.add_table(tensor.name, matrix(tensor), source(tensor));
      break;
    case Form::projection:
      place->second = builder_.add_projection(tensor.name, tensor.shape[0], tensor.shape[1], source(tensor));
      break;
    case Form::floats:
      place->second = builder_.add_floats(tensor.name, tensor.shape, source(tensor));
      break;
  }
  return place->second;
}

// Records in the report and in the builder's origin that the model's tensor `index` holds the values of `tensor`. The
// model's tensor may be made of several; `first_row` is the row at which this one begins.
TensorIndex WeightWriter::record(const std::string& role, const Tensor& tensor, TensorIndex index, uint64_t first_row) {
  const std::string& kept = builder_.description.tensors[static_cast<size_t>(index)].name;
  report(role, tensor, kept == tensor.name || first_row > 0 ? "" : "same values as " + escaped(kept));
  const auto [place, added] = sources_.emplace(tensor.source, builder_.origin.tensors.size());
  const Tensor& whole = checkpoint_.tensors.at(tensor.source);
  if (added) builder_.origin.tensors.push_back({whole.name, whole.shape, {}});
  Array<writer::SourcePiece>& pieces = builder_.origin.tensors[place->second].pieces;
  for (const writer::SourcePiece& piece : pieces) {
    if (piece.offset == tensor.source_offset && piece.strides == tensor.source_strides) return index;
  }
  pieces.push_back(
      {index, first_row, tensor.shape.empty() ? 1 : tensor.shape[0], tensor.source_offset, tensor.source_strides});
  return index;
}

void WeightWriter::report(const std::string& role, const Tensor& tensor, const std::string& note) {
  report_.mapped.push_back({role, tensor.name, shape_text(tensor), note});
  if (progress_) progress_(tensor.elements);
}

Linear WeightWriter::linear(const std::string& role, const Tensor& weight, const Tensor* bias, Size out, Size in) {
  check_shape(weight, {out, in});
  Linear made;
  made.weight = record(role + ".weight", weight, add(Form::linear, weight));
  if (bias != nullptr) made.bias = floats(role + ".bias", *bias, {{weight.shape[0], out.meaning}});
  return made;
}

writer::FloatSource WeightWriter::stacked(std::vector<writer::FloatSource> parts,
                                          const std::vector<uint64_t>& elements) {
  std::vector<uint64_t> ends(elements.size());
  std::partial_sum(elements.begin(), elements.end(), ends.begin());
  return [parts = std::move(parts), ends = std::move(ends)](uint64_t first, std::span<float> values) {
    while (!values.empty()) {
      const auto i = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
      const uint64_t begin = i == 0 ? 0 : ends[i - 1];
      const size_t count = static_cast<size_t>(std::min<uint64_t>(values.size(), ends[i] - first));
      parts[i](first - begin, values.first(count));
      values = values.subspan(count);
      first += count;
    }
  };
}

Linear WeightWriter::stacked_linear(const std::string& role, std::span<const Tensor> weights,
                                    std::span<const Tensor> biases, Size out, Size in) {
  std::vector<writer::FloatSource> sources, bias_sources;
  std::vector<uint64_t> elements, rows;
  uint64_t outputs = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    check_shape(weights[i], {{0, "part of the outputs"}, in});
    sources.push_back(source(weights[i]));
    elements.push_back(weights[i].elements);
    rows.push_back(weights[i].shape[0]);
    outputs += rows.back();
    if (biases.empty()) continue;
    check_shape(biases[i], {{rows.back(), "part of the outputs"}});
    bias_sources.push_back(source(biases[i]));
  }
  if (weights.empty() || (out.value != 0 && outputs != out.value)) {
    fail("the tensors of ", role, " have ", outputs, " outputs together, but ", out.value, " (", out.meaning,
         ") are expected");
  }
  Linear made;
  made.weight =
      builder_.add_linear(weights[0].name, outputs, weights[0].shape[1], stacked(std::move(sources), elements));
  if (!biases.empty()) {
    made.bias = builder_.add_floats(biases[0].name, {outputs}, stacked(std::move(bias_sources), rows));
  }
  uint64_t first = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    record(role + ".weight", weights[i], made.weight, first);
    if (!biases.empty()) record(role + ".bias", biases[i], made.bias, first);
    first += rows[i];
  }
  return made;
}

Norm WeightWriter::norm(const std::string& role, const Tensor& scale, const Tensor* bias, Size width) {
  Norm made;
  made.scale = floats(role + ".scale", scale, {width});
  if (bias != nullptr) made.bias = floats(role + ".bias", *bias, {width});
  return made;
}

TensorIndex WeightWriter::table(const std::string& role, const Tensor& tensor, Size rows, Size columns) {
  check_shape(tensor, {rows, columns});
  return record(role, tensor, add(Form::table, tensor));
}

TensorIndex WeightWriter::gathered_table(const std::string& role, const Tensor& table, std::vector<int64_t> rows,
                                         std::vector<float> weights) {
  if (table.shape.size() != 2) {
    fail("the tensor ", quote(table.name), " is ", shape_text(table), ", but [tokens, width] is expected");
  }
  const uint64_t count = rows.empty() ? dimension(table, 0) : rows.size(), columns = dimension(table, 1);
  if (count > max_dimension) fail("there are ", count, " tokens: at most ", max_dimension, " are possible");
  if (!weights.empty() && weights.size() != count) {
    fail("there are ", weights.size(), " weights for ", count, " tokens: one weight for each token is expected");
  }
  // `rows` may name the same row many times, and the row is read each time.
  checkpoint_.budget().charge_tensor(count * columns * sizeof(float));
  auto gathered = [checkpoint = &checkpoint_, table = std::make_shared<const Tensor>(table),
                   rows = std::make_shared<const std::vector<int64_t>>(std::move(rows)),
                   weights = std::make_shared<const std::vector<float>>(std::move(weights)),
                   columns](uint64_t first, std::span<float> values) {
    while (!values.empty()) {
      const uint64_t row = first / columns, column = first % columns;
      const std::span<float> part = values.first(std::min<uint64_t>(values.size(), columns - column));
      const uint64_t read = rows->empty() ? row : static_cast<uint64_t>((*rows)[row]);
      checkpoint->read_numbers(*table, read * columns + column, part);
      for (float& value : part) {
        if (!weights->empty()) value *= (*weights)[row];
        if (!std::isfinite(value)) fail("the tensor ", quote(table->name), " holds ", value, " in row ", read);
      }
      values = values.subspan(part.size());
      first += part.size();
    }
  };
  const TensorIndex made = builder_.add_table(table.name, {count, columns}, writer::FloatSource(std::move(gathered)));
  // The export writes this table as it is in the model file, and doesn't restore `rows` and `weights`.
  builder_.origin.tensors.push_back({table.name, {count, columns}, {{made, 0, count, 0, {columns, 1}}}});
  report(role, table, "a row for each token");
  return made;
}

TensorIndex WeightWriter::floats(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape) {
  check_shape(tensor, shape);
  return record(role, tensor, add(Form::floats, tensor));
}

TensorIndex WeightWriter::projection(const std::string& role, const Tensor& tensor, std::initializer_list<Size> shape) {
  check_shape(tensor, shape);
  return record(role, tensor, add(Form::projection, tensor));
}

std::optional<TensorIndex> WeightWriter::index_if_tied(const std::string& role, const Tensor& tensor,
                                                       TensorIndex table) {
  check_shape(tensor, {{0, "any"}, {0, "any"}});
  if (!builder_.has_values(table, matrix(tensor), source(tensor))) return std::nullopt;
  return record(role, tensor, table);
}

Linear WeightWriter::spectral_norm_linear(const std::string& role, const Tensor& weight, const Tensor& u,
                                          const Tensor& v, const Tensor* bias, Size out, Size in) {
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
  // The export writes one tensor, under the name that the weight has in a model without spectral_norm.
  std::string name = weight.name;
  if (const size_t suffix = name.rfind("_orig"); suffix != name.npos) name.resize(suffix);
  made.weight = builder_.add_linear(name, rows, columns, values);
  builder_.origin.tensors.push_back({name, weight.shape, {{made.weight, 0, rows, 0, {columns, 1}}}});
  for (const Tensor* part : {&weight, &u, &v}) report(role + ".weight", *part, "divided by its spectral norm");
  if (bias != nullptr) made.bias = floats(role + ".bias", *bias, {{rows, out.meaning}});
  return made;
}

std::vector<float> WeightWriter::zeroed_table(uint64_t rows, uint64_t columns) const {
  // The table is charged twice, because the writer keeps a copy until the file is written.
  checkpoint_.budget().charge_memory(2 * sizeof(float) * rows * columns);
  return std::vector<float>(rows * columns);
}

TensorIndex WeightWriter::computed_table(const std::string& role, const std::string& name,
                                         const std::vector<uint64_t>& shape, std::span<const float> values) {
  for (const float value : values) {
    if (!std::isfinite(value)) fail("the values of ", role, " are not finite numbers");
  }
  return builder_.add_floats(name, shape, values);
}

std::vector<float> WeightWriter::read(const Tensor& tensor) const {
  std::vector<float> values(tensor.elements);
  source(tensor)(0, values);
  return values;
}

}  // namespace linformer::convert
