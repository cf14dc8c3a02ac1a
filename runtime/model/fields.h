// Shared by the validators: the names of fields for errors, and checks of a tensor that a field refers to.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// The name of a field, such as "layers[3].attention.query.weight". It lies on the stack, and is cut if it is too long.
class FieldName {
 public:
  [[gnu::format(printf, 2, 3)]] explicit FieldName(const char* format, ...);
  const char* text() const { return text_; }
  // Defined in fields.cc, because inlining it would add a kilobyte of code in each place.
  FieldName operator/(const char* member) const;

 private:
  char text_[128];
};

// Returns corrupt_file with the message "<field> <sentence>: convert the checkpoint again".
[[gnu::format(printf, 2, 3)]] Status bad_field(const FieldName& field, const char* format, ...);

// Checks fields that refer to tensors. The tensors themselves must have been validated before. The functions that
// return a Status return an error that names the field if the tensor isn't as described.
class TensorFields {
 public:
  explicit TensorFields(std::span<const TensorDescription> tensors) : tensors_(tensors) {}

  // The index names a tensor.
  Status check_reference(const FieldName& field, TensorIndex index) const;
  // The tensor is f32, row_major and of this shape, as biases and norms are, which the executor reads as plain floats.
  Status check_f32_tensor(const FieldName& field, TensorIndex index, std::initializer_list<uint64_t> shape) const;
  // For the matrix E of a linear projection: the tensor has this shape, and is f32 and row_major, or padded_rows of
  // bf16 or f16.
  Status check_projection_matrix(const FieldName& field, TensorIndex index,
                                 std::initializer_list<uint64_t> shape) const;
  // For a lookup table: the tensor is row_major [at least one row, width] of any dtype. If `width` is 0, any width is
  // allowed. Sets *rows.
  Status check_table(const FieldName& field, TensorIndex index, uint64_t width, uint64_t* rows) const;
  // The weight is panel16 [out, in] of any dtype, and the optional bias is f32 [out]. If *out is 0, any number of
  // outputs is allowed, and *out is set to it.
  Status check_linear(const FieldName& field, const Linear& linear, uint64_t in, uint64_t* out) const;
  Status check_linear(const FieldName& field, const Linear& linear, uint64_t in, uint64_t out) const {
    return check_linear(field, linear, in, &out);
  }
  Status check_norm(const FieldName& field, const Norm& norm, uint64_t width) const;
  // Neither the weight (or the norm's scale) nor the bias is present. `reason` completes the error's "must be absent:
  // it ...".
  static Status must_be_absent(const FieldName& field, const Linear& linear, const char* reason);
  static Status must_be_absent(const FieldName& field, const Norm& norm, const char* reason);

  // Returns whether the tensor has one dimension of `count` elements. Returns false if the index names no tensor.
  bool is_vector_of(TensorIndex index, uint64_t count) const {
    const bool inside = index >= 0 && static_cast<size_t>(index) < tensors_.size();
    return inside && (*this)[index].shape.size() == 1 && (*this)[index].shape[0] == count;
  }
  const TensorDescription& operator[](TensorIndex index) const { return tensors_[static_cast<size_t>(index)]; }

 private:
  bool has_shape(TensorIndex index, std::initializer_list<uint64_t> shape) const;
  Status shape_mismatch(const FieldName& field, TensorIndex index, std::span<const uint64_t> expected) const;
  std::span<const TensorDescription> tensors_;
};

const char* name_of(TensorLayout layout);

}  // namespace LINFORMER_NAMESPACE
