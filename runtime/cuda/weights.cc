#include "cuda/weights.h"

#include <cmath>
#include <cstring>
#include <new>

#include "base/storage.h"
#include "cuda/element.h"
#include "program/device_scratch.h"

namespace LINFORMER_NAMESPACE::cuda {
namespace {

float widened(const std::byte* from, ElementType type, uint64_t index) {
  if (type == ElementType::f32) {
    float x;
    std::memcpy(&x, from + index * sizeof x, sizeof x);
    return x;
  }
  if (type == ElementType::int8) return static_cast<float>(static_cast<int8_t>(from[index]));
  uint16_t bits;
  std::memcpy(&bits, from + index * sizeof bits, sizeof bits);
  return type == ElementType::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

void put(float x, ElementType type, std::byte* to, int64_t index) {
  if (type == ElementType::f32) {
    std::memcpy(to + index * static_cast<int64_t>(sizeof x), &x, sizeof x);
  } else if (type == ElementType::f16) {
    narrow_on_host(x, reinterpret_cast<Half*>(to) + index);
  } else {
    narrow_on_host(x, reinterpret_cast<Bf16*>(to) + index);
  }
}

// Returns false if x is finite and becomes infinite in `type`.
bool fits(float x, ElementType type) {
  constexpr float most_f16 = 65520, most_bf16 = 3.3961776e38f;  // The smallest numbers that become infinite.
  const float magnitude = std::abs(x);
  if (!std::isfinite(x) || type == ElementType::f32) return true;
  return magnitude < (type == ElementType::f16 ? most_f16 : most_bf16);
}

}  // namespace

// Uploads a tensor in `type`. `must_be_finite` is set for E, the projection along the sequence. Products read up to 7
// columns of E beyond a text and multiply them by rows of zeros, so an infinite value there would give NaN: it is an
// error, as NaN is. For the same reason, each row of E is followed by zeros.
Status DeviceWeights::upload(const View& view, ElementType type, bool must_be_finite, const std::byte* from,
                             DeviceTensor* tensor) {
  const int64_t rows = view.rows, cols = view.cols;
  const int64_t behind = must_be_finite ? device_row_multiple - 1 : 0;
  const int64_t ld = rows == 1 && type == ElementType::f32 ? cols : round_up(cols + behind, device_row_multiple);
  if (tensor->data != nullptr) {
    if (tensor->rows == rows && tensor->ld == ld) return {};
    return Status::error(Code::unsupported,
                         "a tensor is used in two shapes, which a GPU session doesn't support: use the CPU");
  }
  const uint64_t bytes = static_cast<uint64_t>(rows * ld * element_bytes(type));
  std::byte* const data = device_->allocate(bytes);
  if (data == nullptr) {
    return Status::error(Code::out_of_memory, "cuda:%d has no memory for %llu bytes of weights", device_->index(),
                         static_cast<unsigned long long>(bytes));
  }
  const auto done = [&](const Status& status) {
    if (!status.ok()) {
      device_->free(data);
      return status;
    }
    *tensor = {data, type, rows, ld};
    bytes_ += bytes;
    return status;
  };
  const bool panels = view.layout == RightLayout::panel16;
  if (!panels && view.type == type && view.ld == ld && !must_be_finite) return done(device_->upload(data, from, bytes));
  std::unique_ptr<std::byte[]> made(new (std::nothrow) std::byte[bytes]);
  if (!made) {
    return done(Status::error(Code::out_of_memory, "no memory to convert %llu bytes of weights",
                              static_cast<unsigned long long>(bytes)));
  }
  std::memset(made.get(), 0, bytes);
  StoredParts parts;
  const float* scales = nullptr;
  if (view.type == ElementType::int8 &&
      compute_part_offsets(view.type, panels ? TensorLayout::panel16 : TensorLayout::row_major,
                           static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), &parts)) {
    scales = reinterpret_cast<const float*>(from + parts.scales);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      const uint64_t index = panels ? element_index(view.type, TensorLayout::panel16, static_cast<uint64_t>(cols),
                                                    static_cast<uint64_t>(row), static_cast<uint64_t>(col))
                                    : static_cast<uint64_t>(row * view.ld + col);
      const float stored = widened(from, view.type, index), x = scales != nullptr ? stored * scales[row] : stored;
      if (!fits(x, type) || (must_be_finite && !std::isfinite(x))) {
        return done(Status::error(Code::unsupported,
                                  "tensor %d has the value %g, which a GPU can't multiply in %s: compute in f32, or "
                                  "use the CPU",
                                  static_cast<int>(view.tensor), static_cast<double>(x), name_of(type)));
      }
      put(x, type, made.get(), row * ld + col);
    }
  }
  return done(device_->upload(data, made.get(), bytes));
}

Result<std::unique_ptr<DeviceWeights>> DeviceWeights::create(int device, ElementType type, size_t tensors) {
  std::unique_ptr<DeviceWeights> made(new (std::nothrow) DeviceWeights(type));
  if (!made || !made->tensors_.try_resize(2 * tensors)) {
    return Status::error(Code::out_of_memory, "no memory for the addresses of %zu tensors", tensors);
  }
  Result<std::unique_ptr<Device>> opened = Device::open(device);
  if (!opened.ok()) return opened.status();
  made->device_ = std::move(opened.value());
  return made;
}

Status DeviceWeights::upload_missing(const Program& program, std::span<const std::byte* const> tensors) {
  const auto add = [&](const View& view, bool in_f32, bool finite) -> Status {
    if (view.place != Place::weight) return {};
    const size_t index = static_cast<size_t>(view.tensor);
    return upload(view, in_f32 ? ElementType::f32 : type_, finite, tensors[index], &tensors_[2 * index + in_f32]);
  };
  const auto matrix = [&](const View& view) { return add(view, false, false); };
  const auto vector = [&](const View& view) { return add(view, true, false); };
  // In 16 bits E is multiplied by zero rows behind a text, so it must be finite.
  const auto projection_matrix = [&](const View& view) { return add(view, false, type_ != ElementType::f32); };
  const auto upload_for = [&](View view, Use use) {
    if (use == Use::matrix || use == Use::table) return matrix(view);
    if (use == Use::projection) return projection_matrix(view);
    if (use == Use::vector) view.cols = view.ld;  // The view may be a slice. The whole vector is uploaded.
    return vector(view);
  };
  for (const Op& op : program.ops) {
    Op copy = op;
    for (int i = 0; i < operand_count(op.kind()); ++i) {
      const Operand operand = operand_of(copy, i);
      LINFORMER_TRY(upload_for(operand.view, operand.use));
    }
  }
  for (const KeyGroup& group : program.groups) {
    for (const HeadProjection& projection : group.projections) {
      View weight = projection.weight;
      // The weight of a convolution is [taps, out, in].
      if (projection.kind == ProjectionKind::convolution) weight.rows = projection.kernel * weight.cols;
      LINFORMER_TRY(projection_matrix(weight));
      LINFORMER_TRY(vector(projection.bias));
      LINFORMER_TRY(vector(projection.row_bias));
    }
  }
  return {};
}

DeviceWeights::~DeviceWeights() {
  for (const DeviceTensor& tensor : tensors_) {
    if (tensor.data != nullptr) device_->free(tensor.data);
  }
}

Result<const DeviceWeights*> WeightStore::get(int device, ElementType type, const Program& program,
                                              std::span<const std::byte* const> tensors) {
  const std::lock_guard lock(mutex_);
  DeviceWeights* found = nullptr;
  for (const std::unique_ptr<DeviceWeights>& weights : all_) {
    if (weights->device().index() == device && weights->type() == type) found = weights.get();
  }
  if (found == nullptr) {
    Result<std::unique_ptr<DeviceWeights>> made = DeviceWeights::create(device, type, tensors.size());
    if (!made.ok()) return made.status();
    found = made->get();
    if (!all_.try_push(std::move(made.value()))) return Status::error(Code::out_of_memory, "no memory for weights");
  }
  LINFORMER_TRY(found->upload_missing(program, tensors));
  return static_cast<const DeviceWeights*>(found);
}

uint64_t WeightStore::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const std::unique_ptr<DeviceWeights>& weights : all_) sum += weights->bytes();
  return sum;
}

}  // namespace LINFORMER_NAMESPACE::cuda
