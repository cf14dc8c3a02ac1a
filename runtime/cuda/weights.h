// Keeps a model's weights in the memory of devices. The first session that needs a weight uploads it, and all sessions
// on this device that multiply in the same type share it.
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
  int64_t rows = 0, ld = 0;
};

// The weights of a model on one device for one type of products. Matrices are row-major in this type. All other weights
// are in f32.
class DeviceWeights {
 public:
  // `type` is f32, f16 or bf16. `tensors` is the number of tensors in the model file.
  static Result<std::unique_ptr<DeviceWeights>> create(int device, ElementType type, size_t tensors);
  ~DeviceWeights();
  // Uploads the tensors that the program reads and that have not been uploaded before. `tensors` has the bytes of each
  // tensor in the file. Only one thread may call this at a time. Other threads may read uploaded tensors meanwhile.
  Status upload_missing(const Program& program, std::span<const std::byte* const> tensors);
  // Returns a tensor that products or tables read, in type().
  const DeviceTensor& matrix(const View& view) const { return tensors_[2 * static_cast<size_t>(view.tensor)]; }
  // Returns any other tensor, in f32.
  const DeviceTensor& vector(const View& view) const { return tensors_[2 * static_cast<size_t>(view.tensor) + 1]; }
  const Device& device() const { return *device_; }
  ElementType type() const { return type_; }
  uint64_t bytes() const { return bytes_; }

 private:
  explicit DeviceWeights(ElementType type) : type_(type) {}
  Status upload(const View& view, ElementType type, bool must_be_finite, const std::byte* from, DeviceTensor* tensor);

  std::unique_ptr<Device> device_;
  const ElementType type_;
  Array<DeviceTensor> tensors_;  // Two elements for each tensor of the file: for matrix() and for vector().
  uint64_t bytes_ = 0;
};

// The weights of a model on all devices and in all types. Thread-safe.
class WeightStore {
 public:
  // Returns the weights on a device in `type`, after it has uploaded those that `program` reads and that are missing.
  // The result lives as long as the store.
  Result<const DeviceWeights*> get(int device, ElementType type, const Program& program,
                                   std::span<const std::byte* const> tensors);
  uint64_t bytes() const;

 private:
  mutable std::mutex mutex_;
  Array<std::unique_ptr<DeviceWeights>> all_;
};

}  // namespace LINFORMER_NAMESPACE::cuda
