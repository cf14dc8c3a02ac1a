#include <algorithm>
#include <cinttypes>
#include <numeric>

#include "base/checked.h"
#include "base/description.h"
#include "base/storage.h"
#include "io/container.h"
#include "model/utf8.h"
#include "model/validate.h"

namespace LINFORMER_NAMESPACE {
namespace {

Status check_shape(const FieldName& field, const TensorDescription& tensor, uint64_t* bytes) {
  if (tensor.shape.empty() || tensor.shape.size() > max_rank) {
    return bad_field(field, "has %zu dimensions, 1 to %" PRIu32 " are possible", tensor.shape.size(), max_rank);
  }
  uint64_t elements = 1;
  for (uint64_t size : tensor.shape) {
    if (size == 0 || size > max_dimension) {
      return bad_field(field, "has a dimension of %" PRIu64 ", 1 to %" PRIu32 " are possible", size, max_dimension);
    }
    if (!checked_mul(elements, size, &elements)) return bad_field(field, "has more elements than 64 bits can count");
  }
  const bool matrix = tensor.shape.size() == 2;
  if (tensor.layout == TensorLayout::panel16 && !matrix) {
    return bad_field(field, "is panel16 with %zu dimensions, 2 are needed", tensor.shape.size());
  }
  const bool narrow = element_bytes(tensor.type) == 2;
  if (tensor.layout == TensorLayout::padded_rows && (!matrix || !narrow)) {
    return bad_field(field, "is padded_rows of %s with %zu dimensions, a matrix of bf16 or f16 is needed",
                     name_of(tensor.type), tensor.shape.size());
  }
  if (tensor.type == ElementType::int8) {
    if (!matrix) return bad_field(field, "is int8 with %zu dimensions, 2 are needed", tensor.shape.size());
    if (tensor.layout == TensorLayout::panel16 && tensor.shape[1] > max_int8_inputs) {
      return bad_field(field, "is int8 with %" PRIu64 " inputs, at most %" PRIu64 " are possible", tensor.shape[1],
                       max_int8_inputs);
    }
  }
  StoredParts storage;
  const uint64_t rows = matrix ? tensor.shape[0] : 1, cols = matrix ? tensor.shape[1] : elements;
  if (!compute_part_offsets(tensor.type, tensor.layout, rows, cols, &storage)) {
    return bad_field(field, "has more elements than 64 bits can count");
  }
  *bytes = storage.bytes;
  return {};
}

Status check_unique_names(const Array<TensorDescription>& tensors) {
  Array<uint32_t> order;
  if (!order.try_resize_for_overwrite(tensors.size()))
    return Status::error(Code::out_of_memory, "no memory to compare tensor names");
  std::iota(order.begin(), order.end(), 0u);
  const auto is_before = [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; };
  // A heap sort, since its code is much smaller than that of std::sort().
  std::make_heap(order.begin(), order.end(), is_before);
  std::sort_heap(order.begin(), order.end(), is_before);
  for (size_t i = 1; i < order.size(); ++i) {
    if (tensors[order[i]].name == tensors[order[i - 1]].name) {
      return bad_field(FieldName("tensors[%" PRIu32 "]", order[i]), "has the name of tensor %" PRIu32 " (%.80s)",
                       order[i - 1], tensors[order[i]].name.c_str());
    }
  }
  return {};
}

}  // namespace

Status validate_tensors(const ModelDescription& model, uint64_t segment_bytes) {
  const Array<TensorDescription>& tensors = model.tensors;
  if (tensors.empty() || tensors.size() > max_tensors) {
    return bad_field(FieldName("tensors"), "has %zu entries, 1 to %" PRIu32 " are possible", tensors.size(),
                     max_tensors);
  }
  uint64_t expected_offset = 0, end = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorDescription& tensor = tensors[i];
    if (!is_printable_name(tensor.name)) {
      return bad_field(FieldName("tensors[%zu].name", i), "is empty, too long or not printable UTF-8");
    }
    const FieldName field("tensors[%zu] (%.80s)", i, tensor.name.c_str());
    uint64_t bytes = 0;
    LINFORMER_TRY(check_shape(field, tensor, &bytes));
    if (bytes != tensor.bytes) {
      return bad_field(field, "claims %" PRIu64 " bytes, its shape and type need %" PRIu64, tensor.bytes, bytes);
    }
    // Each tensor begins where the one before ends, so there are neither overlaps nor holes that could hide other data.
    if (tensor.offset != expected_offset) {
      return bad_field(field, "begins at byte %" PRIu64 " of the segment instead of %" PRIu64, tensor.offset,
                       expected_offset);
    }
    if (!range_within(tensor.offset, tensor.bytes, segment_bytes)) {
      return bad_field(field, "ends beyond the tensor segment's %" PRIu64 " bytes (%" PRIu64 " bytes from %" PRIu64 ")",
                       segment_bytes, tensor.bytes, tensor.offset);
    }
    end = tensor.offset + tensor.bytes;
    if (!checked_round_up(end, tensor_alignment, &expected_offset)) {
      return bad_field(field, "ends at byte %" PRIu64 ", beyond any file", end);
    }
  }
  if (end != segment_bytes) {
    return bad_field(FieldName("tensors"), "end at byte %" PRIu64 " of a segment of %" PRIu64, end, segment_bytes);
  }
  return check_unique_names(tensors);
}

}  // namespace LINFORMER_NAMESPACE
