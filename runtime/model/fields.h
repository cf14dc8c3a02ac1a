// What the validators share: names of fields for their sentences, and checks of a tensor that a field refers to.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/description.h"
#include "linformer/status.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// "layers[3].attention.query.weight": built on the stack, cut when absurdly long.
class FieldName {
 public:
  [[gnu::format(printf, 2, 3)]] explicit FieldName(const char* format, ...);
  const char* text() const { return text_; }
  // Defined in fields.cc, because inlined in each place it is a kilobyte of code.
  FieldName operator/(const char* member) const;

 private:
  char text_[128];
};

// corrupt_file with "<field> <sentence>: convert the checkpoint again".
[[gnu::format(printf, 2, 3)]] Status bad_field(const FieldName& field, const char* format, ...);

// Checks of references into `tensors`, which were themselves validated before.
class TensorFields {
 public:
  explicit TensorFields(std::span<const TensorDescription> tensors) : tensors_(tensors) {}

  // The index is inside the table.
  Status reference(const FieldName& field, TensorIndex index) const;
  // f32, row_major and of this shape: biases and norms, which the executor reads as plain floats.
  Status floats(const FieldName& field, TensorIndex index, std::initializer_list<uint64_t> shape) const;
  // E: the same, or padded_rows of bf16 or f16.
  Status left(const FieldName& field, TensorIndex index, std::initializer_list<uint64_t> shape) const;
  // A lookup table: row_major [at least one row, width] of any type. Returns the rows.
  Status table(const FieldName& field, TensorIndex index, uint64_t width, uint64_t* rows) const;
  // panel16 [out, in] of any type, and its optional f32 [out] bias. Any number of outputs when *out is 0,
  // which is then set.
  Status linear(const FieldName& field, const Linear& linear, uint64_t in, uint64_t* out) const;
  Status linear(const FieldName& field, const Linear& linear, uint64_t in, uint64_t out) const {
    return this->linear(field, linear, in, &out);
  }
  Status norm(const FieldName& field, const Norm& norm, uint64_t width) const;
  // Neither weight nor bias.
  static Status nothing(const FieldName& field, const Linear& linear, const char* reason);
  static Status nothing(const FieldName& field, const Norm& norm, const char* reason);

  // False where the index is outside the table.
  bool has_elements(TensorIndex index, uint64_t count) const {
    const bool inside = index >= 0 && static_cast<size_t>(index) < tensors_.size();
    return inside && (*this)[index].shape.size() == 1 && (*this)[index].shape[0] == count;
  }
  const TensorDescription& operator[](TensorIndex index) const { return tensors_[static_cast<size_t>(index)]; }

 private:
  bool has_shape(TensorIndex index, std::initializer_list<uint64_t> shape) const;
  Status mismatch(const FieldName& field, TensorIndex index, std::span<const uint64_t> expected) const;
  std::span<const TensorDescription> tensors_;
};

const char* name_of(TensorLayout layout);

}  // namespace LINFORMER_NAMESPACE
