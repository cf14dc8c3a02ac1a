#include "model/fields.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "base/description.h"

namespace LINFORMER_NAMESPACE {
namespace {

// The text of a shape, such as "[768, 3072]". A dimension of 0 stands for any number, and its text is "any".
struct ShapeText {
  char text[128];
  explicit ShapeText(std::span<const uint64_t> shape) {
    size_t used = 0;
    const auto append = [&](const char* format, uint64_t value) {
      if (used >= sizeof text) return;
      const int written = std::snprintf(text + used, sizeof text - used, format, value);
      if (written > 0) used += static_cast<size_t>(written);
    };
    std::snprintf(text, sizeof text, "[");
    used = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != 0) append(", ", 0);
      if (shape[i] == 0) {
        append("any", 0);
      } else {
        append("%" PRIu64, shape[i]);
      }
    }
    append("]", 0);
  }
};

}  // namespace

const char* name_of(TensorLayout layout) {
  return layout == TensorLayout::row_major ? "row_major" : layout == TensorLayout::panel16 ? "panel16" : "padded_rows";
}

FieldName::FieldName(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text_, sizeof text_, format, arguments);
  va_end(arguments);
}

FieldName FieldName::operator/(const char* member) const { return FieldName("%s.%s", text_, member); }

Status bad_field(const FieldName& field, const char* format, ...) {
  char sentence[224];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return Status::error(Code::corrupt_file, "%s %s: convert the checkpoint again", field.text(), sentence);
}

Status TensorFields::check_reference(const FieldName& field, TensorIndex index) const {
  if (index >= 0 && static_cast<uint64_t>(index) < tensors_.size()) return {};
  if (index == absent) return bad_field(field, "is missing");
  return bad_field(field, "refers to tensor %" PRId32 ", but the file has %zu tensors", index, tensors_.size());
}

Status TensorFields::shape_mismatch(const FieldName& field, TensorIndex index,
                                    std::span<const uint64_t> expected) const {
  const TensorDescription& tensor = (*this)[index];
  return bad_field(field, "needs shape %s, tensor %" PRId32 " (%.60s) has %s", ShapeText(expected).text, index,
                   tensor.name.c_str(), ShapeText(tensor.shape).text);
}

bool TensorFields::has_shape(TensorIndex index, std::initializer_list<uint64_t> shape) const {
  const auto& of_tensor = (*this)[index].shape;
  return std::equal(shape.begin(), shape.end(), of_tensor.begin(), of_tensor.end());
}

Status TensorFields::check_f32_tensor(const FieldName& field, TensorIndex index,
                                      std::initializer_list<uint64_t> shape) const {
  LINFORMER_TRY(check_reference(field, index));
  const TensorDescription& tensor = (*this)[index];
  if (!has_shape(index, shape)) return shape_mismatch(field, index, std::span(shape.begin(), shape.size()));
  if (tensor.type != ElementType::f32 || tensor.layout != TensorLayout::row_major) {
    return bad_field(field, "needs f32 row_major, tensor %" PRId32 " (%.60s) is %s %s", index, tensor.name.c_str(),
                     name_of(tensor.type), name_of(tensor.layout));
  }
  return {};
}

Status TensorFields::check_projection_matrix(const FieldName& field, TensorIndex index,
                                             std::initializer_list<uint64_t> shape) const {
  LINFORMER_TRY(check_reference(field, index));
  if ((*this)[index].layout != TensorLayout::padded_rows) return check_f32_tensor(field, index, shape);
  return has_shape(index, shape) ? Status() : shape_mismatch(field, index, std::span(shape.begin(), shape.size()));
}

Status TensorFields::check_table(const FieldName& field, TensorIndex index, uint64_t width, uint64_t* rows) const {
  LINFORMER_TRY(check_reference(field, index));
  const TensorDescription& tensor = (*this)[index];
  if (tensor.shape.size() != 2 || (width != 0 && tensor.shape[1] != width)) {
    return shape_mismatch(field, index, std::array<uint64_t, 2>{0, width});
  }
  if (tensor.layout != TensorLayout::row_major) {
    return bad_field(field, "needs row_major, tensor %" PRId32 " (%.60s) is %s %s", index, tensor.name.c_str(),
                     name_of(tensor.type), name_of(tensor.layout));
  }
  *rows = tensor.shape[0];
  return {};
}

Status TensorFields::check_linear(const FieldName& field, const Linear& linear, uint64_t in, uint64_t* out) const {
  LINFORMER_TRY(check_reference(field / "weight", linear.weight));
  const TensorDescription& weight = (*this)[linear.weight];
  if (weight.shape.size() != 2 || weight.shape[1] != in || (*out != 0 && weight.shape[0] != *out)) {
    return shape_mismatch(field / "weight", linear.weight, std::array<uint64_t, 2>{*out, in});
  }
  if (weight.layout != TensorLayout::panel16) {
    return bad_field(field / "weight", "needs panel16, tensor %" PRId32 " (%.60s) is %s %s", linear.weight,
                     weight.name.c_str(), name_of(weight.type), name_of(weight.layout));
  }
  *out = weight.shape[0];
  if (linear.bias == absent) return {};
  return check_f32_tensor(field / "bias", linear.bias, {*out});
}

Status TensorFields::check_norm(const FieldName& field, const Norm& norm, uint64_t width) const {
  if (!std::isfinite(norm.epsilon) || norm.epsilon <= 0) {
    return bad_field(field / "epsilon", "is %g, a positive number is needed", static_cast<double>(norm.epsilon));
  }
  if (!norm.present()) return must_be_absent(field, norm, "has no scale");
  LINFORMER_TRY(check_f32_tensor(field / "scale", norm.scale, {width}));
  if (norm.bias == absent) return {};
  return check_f32_tensor(field / "bias", norm.bias, {width});
}

Status TensorFields::must_be_absent(const FieldName& field, const Linear& linear, const char* reason) {
  if (linear.weight == absent && linear.bias == absent) return {};
  return bad_field(field, "has weight %" PRId32 " and bias %" PRId32 " but must be absent: it %s", linear.weight,
                   linear.bias, reason);
}

Status TensorFields::must_be_absent(const FieldName& field, const Norm& norm, const char* reason) {
  if (norm.scale == absent && norm.bias == absent) return {};
  return bad_field(field, "has scale %" PRId32 " and bias %" PRId32 " but must be absent: it %s", norm.scale, norm.bias,
                   reason);
}

}  // namespace LINFORMER_NAMESPACE
