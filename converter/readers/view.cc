#include "base/checked.h"
#include "converter/readers/checkpoint.h"
#include "converter/readers/error.h"

namespace linformer::convert {

Tensor slice_rows(const Tensor& tensor, uint64_t first, uint64_t count) {
  if (tensor.shape.empty() || !range_within(first, count, tensor.shape[0])) {
    fail("tensor ", quote(tensor.name), " is ", shape_text(tensor), ": it has no rows ", first, " to ", first + count);
  }
  Tensor slice = tensor;
  slice.offset += first * tensor.strides[0];
  slice.source_offset += first * tensor.source_strides[0];
  slice.elements = tensor.shape[0] ? tensor.elements / tensor.shape[0] * count : 0;
  slice.shape[0] = count;
  return slice;
}

Tensor select(const Tensor& tensor, uint64_t index) { return squeezed(slice_rows(tensor, index, 1), 0); }

Tensor permuted(const Tensor& tensor, std::initializer_list<size_t> axes) {
  if (tensor.shape.size() != axes.size()) {
    fail("tensor ", quote(tensor.name), " is ", shape_text(tensor), ", but ", axes.size(), " dimensions are expected");
  }
  Tensor view = tensor;
  size_t to = 0;
  for (const size_t from : axes) {
    view.shape[to] = tensor.shape[from];
    view.strides[to] = tensor.strides[from];
    view.source_strides[to++] = tensor.source_strides[from];
  }
  return view;
}

Tensor squeezed(const Tensor& tensor, size_t axis) {
  if (axis >= tensor.shape.size() || tensor.shape[axis] != 1) {
    fail("tensor ", quote(tensor.name), " is ", shape_text(tensor), ": its dimension ", axis, " should be 1");
  }
  Tensor view = tensor;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  view.shape.erase(view.shape.begin() + at);
  view.strides.erase(view.strides.begin() + at);
  view.source_strides.erase(view.source_strides.begin() + at);
  return view;
}

}  // namespace linformer::convert
