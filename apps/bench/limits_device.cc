// A GPU's limits: the rate of cuBLASLt's products as the runtime asks for them, and of copies in its memory.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "bench/limits.h"

#if defined(LINFORMER_WITH_CUDA)
#include "base/types.h"
#include "cuda/device.h"
#endif

namespace linformer::bench {

#if defined(LINFORMER_WITH_CUDA)
namespace {

constexpr int attempts = 5, calls_of_attempt = 10;
// RoBERTa-base's first feed-forward product, of many rows.
constexpr int64_t rows = 16384, inner = 768, width = 3072;
constexpr uint64_t workspace_bytes = uint64_t{8} << 20, copied_bytes = uint64_t{256} << 20;

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T take(Result<T> result) {
  require(result.status());
  return std::move(result.value());
}

class DeviceMemory {
 public:
  DeviceMemory(const cuda::Device& device, uint64_t bytes) : device_(device), data_(device.allocate(bytes)) {
    if (data_ == nullptr) throw std::runtime_error("the device has no memory to measure its limits");
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { device_.free(data_); }
  std::byte* data() const { return data_; }

 private:
  const cuda::Device& device_;
  std::byte* data_;
};

// Of `amount` for each call of work(), in 1e9 a second.
template <class Work>
double best_rate(cuda::Stream& stream, double amount, const Work& work) {
  double best = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    require(work());
    require(stream.wait());
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls_of_attempt; ++call) require(work());
    require(stream.wait());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, calls_of_attempt * amount / seconds / 1e9);
  }
  return best;
}

Rate product_rate(const cuda::Device& device, ElementType type) {
  const int64_t size = element_bytes(type);
  const auto bytes = [&](int64_t elements, int64_t each) { return static_cast<uint64_t>(elements * each); };
  const DeviceMemory a(device, bytes(rows * inner, size)), b(device, bytes(width * inner, size)),
      c(device, bytes(rows * width, size)), workspace(device, workspace_bytes);
  const auto stream = take(cuda::Stream::create(device, {}));
  stream->set_workspace(workspace.data(), workspace_bytes);
  cuda::Product product;
  product.a = a.data();
  product.b = b.data();
  product.c = c.data();
  product.type = product.out_type = type;
  product.m = rows;
  product.n = product.c_ld = width;
  product.k = product.a_ld = product.b_ld = inner;
  product.transposed = true;
  stream->rehearse(true);
  require(stream->multiply(product));
  stream->rehearse(false);
  const double flop = 2. * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(width);
  return {best_rate(*stream, flop, [&] { return stream->multiply(product); }), "cuBLASLt"};
}

}  // namespace

Limits measure_device_limits(int index) {
  const auto device = take(cuda::Device::open(index));
  const cuda::Device::Current current(*device);
  Limits limits;
  limits.f32 = product_rate(*device, ElementType::f32);
  limits.f16 = product_rate(*device, ElementType::f16);
  if (device->architecture() >= 80) limits.bf16 = product_rate(*device, ElementType::bf16);
  const auto stream = take(cuda::Stream::create(*device, {}));
  const DeviceMemory from(*device, copied_bytes), to(*device, copied_bytes);
  const int64_t bytes = static_cast<int64_t>(copied_bytes);
  const auto copy = [&] { return stream->copy(to.data(), bytes, from.data(), bytes, bytes, 1); };
  limits.memory = {best_rate(*stream, 2. * static_cast<double>(bytes), copy), "copy"};
  return limits;
}

std::string device_text(int index) {
  const int architecture = take(cuda::Device::architecture_of(index));
  return "cuda:" + std::to_string(index) + ", compute capability " + std::to_string(architecture / 10) + "." +
         std::to_string(architecture % 10);
}

#else

namespace {

constexpr char build_has_none[] = "this build has no CUDA: configure it with -DLINFORMER_CUDA=ON, or use the CPU";

}  // namespace

Limits measure_device_limits(int) { throw std::runtime_error(build_has_none); }
std::string device_text(int) { throw std::runtime_error(build_has_none); }

#endif

}  // namespace linformer::bench
