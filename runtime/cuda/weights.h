// A model's weights in a device's memory: uploaded by the first session that needs them, shared by all.
#pragma once

#include <mutex>
#include <span>

#include "cuda/device.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE::cuda {

struct DeviceTensor {
  std::byte* data = nullptr;
  ElementType type = ElementType::f32;
  int64_t rows = 0, ld = 0;  // ld: elements
};

// Of one device and one type of products: matrices row by row in this type, the rest in f32.
class DeviceWeights {
 public:
  // `type`: f32, f16 or bf16.
  static Result<std::unique_ptr<DeviceWeights>> create(int device, ElementType type, size_t tensors);
  ~DeviceWeights();
  // Uploads what the program reads and nobody uploaded before. `tensors`: the bytes of each in the file. The caller
  // holds a lock; who read other tensors meanwhile isn't disturbed.
  Status add(const Program& program, std::span<const std::byte* const> tensors);
  // What products and tables read, in type().
  const DeviceTensor& matrix(const View& view) const { return tensors_[2 * static_cast<size_t>(view.tensor)]; }
  // Everything else, in f32.
  const DeviceTensor& vector(const View& view) const { return tensors_[2 * static_cast<size_t>(view.tensor) + 1]; }
  const Device& device() const { return *device_; }
  ElementType type() const { return type_; }
  uint64_t bytes() const { return bytes_; }

 private:
  explicit DeviceWeights(ElementType type) : type_(type) {}
  Status upload(const View& view, ElementType type, bool finite, const std::byte* from, DeviceTensor* tensor);

  std::unique_ptr<Device> device_;
  const ElementType type_;
  Array<DeviceTensor> tensors_;  // two of each
  uint64_t bytes_ = 0;
};

// All of a model's. Thread-safe.
class WeightStore {
 public:
  // What `program` reads, in `type`. They live as long as the store.
  Result<const DeviceWeights*> get(int device, ElementType type, const Program& program,
                                   std::span<const std::byte* const> tensors);
  uint64_t bytes() const;

 private:
  mutable std::mutex mutex_;
  Array<std::unique_ptr<DeviceWeights>> all_;
};

}  // namespace LINFORMER_NAMESPACE::cuda
