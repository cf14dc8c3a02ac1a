// A device that is simulated on the CPU, for tests on machines without a GPU.
#include <cstring>
#include <new>

#include "base/clock.h"
#include "cuda/device.h"
#include "cuda/element.h"

namespace linformer::cuda {
namespace {

template <class T, class Out>
void multiply_as(const Product& p) {
  for (int64_t i = 0; i < p.count; ++i) {
    const T* a = static_cast<const T*>(p.a) + i * p.a_step;
    const T* b = static_cast<const T*>(p.b) + i * p.b_step;
    Out* c = static_cast<Out*>(p.c) + i * p.c_step;
    for (int64_t row = 0; row < p.m; ++row) {
      for (int64_t col = 0; col < p.n; ++col) {
        float sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          sum += widen(a[row * p.a_ld + k]) * widen(b[p.transposed ? col * p.b_ld + k : k * p.b_ld + col]);
        }
        Out* to = c + row * p.c_ld + col;
        if (p.bias != nullptr) sum += p.bias[col];
        narrow(p.adds ? widen(*to) + sum : sum, to);
      }
    }
  }
}

template <class T>
void multiply_typed(const Product& p) {
  if (p.out_type == ElementType::f32) return multiply_as<T, float>(p);
  multiply_as<T, T>(p);
}

}  // namespace

Result<int> Device::architecture_of(int index) {
  if (index != 0)
    return Status::error(Code::invalid_argument, "there is no device cuda:%d: cuda:0 is simulated", index);
  return Simulated::architecture;
}

Result<std::unique_ptr<Device>> Device::open(int index) {
  const Result<int> architecture = architecture_of(index);
  if (!architecture.ok()) return architecture.status();
  std::unique_ptr<Device> device(new (std::nothrow) Device);
  if (!device) return Status::error(Code::out_of_memory, "no memory for a device");
  device->architecture_ = *architecture;
  return device;
}

Device::~Device() = default;
Device::Current::Current(const Device& device) : before_(device.index_) {}
Device::Current::~Current() = default;

std::byte* Device::allocate(uint64_t bytes) const {
  if (Simulated::allocations >= 0 && Simulated::allocations-- == 0) return nullptr;
  std::byte* memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256}, std::nothrow));
  if (memory != nullptr) std::memset(memory, 0xff, bytes);
  return memory;
}

void Device::free(std::byte* memory) const { ::operator delete (memory, std::align_val_t{256}); }

Status Device::upload(void* to, const void* from, uint64_t bytes) const {
  if (bytes > 0) std::memcpy(to, from, bytes);
  Simulated::uploads += 1;
  return {};
}

Result<std::unique_ptr<Stream>> Stream::create(const Device& device, const Options&) {
  std::unique_ptr<Stream> stream(new (std::nothrow) Stream(device));
  if (!stream) return Status::error(Code::out_of_memory, "no memory for a stream");
  return stream;
}

Stream::~Stream() = default;
void Stream::pin(std::byte*, uint64_t) {}
Status Stream::mark() { return {}; }
Status Stream::wait_for_mark() { return {}; }
Status Stream::wait() { return {}; }
Status Stream::read_laps() { return {}; }

Status Stream::end_lap(double* seconds) {
  const double now = seconds_now();
  if (seconds != nullptr && !in_dry_run_) *seconds += now - lap_began_;
  lap_began_ = now;
  return {};
}

Status Stream::copy(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t bytes, int64_t rows) {
  for (int64_t row = 0; !in_dry_run_ && row < rows; ++row) {
    std::memcpy(static_cast<std::byte*>(to) + row * to_step, static_cast<const std::byte*>(from) + row * from_step,
                static_cast<size_t>(bytes));
  }
  return {};
}

Status Stream::multiply(const Product& product) {
  Simulated::products += 1;
  if (in_dry_run_) return {};
  if (product.type == ElementType::f16) {
    multiply_typed<Half>(product);
  } else if (product.type == ElementType::bf16) {
    multiply_typed<Bf16>(product);
  } else {
    multiply_typed<float>(product);
  }
  return {};
}

}  // namespace linformer::cuda
