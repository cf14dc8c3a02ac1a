// Measures the limits of a GPU: the rate of cuBLASLt's products, with the runtime's settings, and of copies in its
// memory.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "bench/limits.h"

#if defined(LINFORMER_WITH_CUDA)
#include "base/types.h"
#include "cuda/device.h"
#include "cuda/element.h"
#endif

namespace linformer::bench {

#if defined(LINFORMER_WITH_CUDA)
namespace {

constexpr int device_attempts = 4, calls_of_attempt = 5;
constexpr uint64_t workspace_bytes = uint64_t{8} << 20;

void require_device(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T take(Result<T> result) {
  require_device(result.status());
  return std::move(result.value());
}

class DeviceMemory {
 public:
  DeviceMemory(const cuda::Device& device, uint64_t bytes) : device_(device), data_(device.allocate(bytes)) {
    if (data_ == nullptr) throw std::runtime_error("the device doesn't have enough free memory to measure its limits");
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { device_.free(data_); }
  std::byte* data() const { return data_; }

  // Fills the memory with random numbers in (-1, 1), because products of zeros run faster than others.
  void fill(ElementType type, int64_t elements) const {
    const int64_t size = element_bytes(type), some = std::min(elements, int64_t{1} << 18);
    std::vector<float> values(static_cast<size_t>(some));  // f32 is the widest type, so all types fit.
    std::byte* const bytes = reinterpret_cast<std::byte*>(values.data());
    uint64_t state = 1;
    for (int64_t i = 0; i < some; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      const float value = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-31f;
      if (type == ElementType::f16) {
        cuda::narrow_on_host(value, reinterpret_cast<cuda::Half*>(bytes) + i);
      } else if (type == ElementType::bf16) {
        cuda::narrow_on_host(value, reinterpret_cast<cuda::Bf16*>(bytes) + i);
      } else {
        values[static_cast<size_t>(i)] = value;
      }
    }
    for (int64_t i = 0; i < elements; i += some) {
      require_device(
          device_.upload(data_ + i * size, bytes, static_cast<uint64_t>(std::min(some, elements - i) * size)));
    }
  }

 private:
  const cuda::Device& device_;
  std::byte* data_;
};

// Measures a rate in several attempts, and returns the best one, in units of 1e9 per second. A call of work() does
// `amount` operations or bytes.
template <class Work>
double device_rate(cuda::Stream& stream, double amount, const Work& work) {
  double best = 0;
  for (int attempt = 0; attempt < device_attempts; ++attempt) {
    require_device(work());
    require_device(stream.wait());
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls_of_attempt; ++call) require_device(work());
    require_device(stream.wait());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, calls_of_attempt * amount / seconds / 1e9);
  }
  return best;
}

double product_rate(const cuda::Device& device, ElementType type, int64_t rows, int64_t inner, int64_t width) {
  const int64_t size = element_bytes(type);
  const auto bytes = [&](int64_t elements) { return static_cast<uint64_t>(elements * size); };
  const DeviceMemory a(device, bytes(rows * inner)), b(device, bytes(width * inner)), c(device, bytes(rows * width)),
      workspace(device, workspace_bytes);
  a.fill(type, rows * inner);
  b.fill(type, width * inner);
  const auto stream = take(cuda::Stream::create(device, {}));
  stream->set_workspace(workspace.data(), workspace_bytes);
  stream->set_usual_sizes(rows, inner);
  cuda::Product product;
  product.a = a.data();
  product.b = b.data();
  product.c = c.data();
  product.type = product.out_type = type;
  product.m = rows;
  product.n = product.c_ld = width;
  product.k = product.a_ld = product.b_ld = inner;
  product.transposed = true;
  stream->set_dry_run(true);
  require_device(stream->multiply(product));
  stream->set_dry_run(false);
  const double flop = 2. * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(width);
  return device_rate(*stream, flop, [&] { return stream->multiply(product); });
}

}  // namespace

Limits measure_device_limits(int index, int64_t side) {
  const auto device = take(cuda::Device::open(index));
  const cuda::Device::Current current(*device);
  Limits limits;
  const auto rate = [&](ElementType type) -> Rate {
    // The shape of RoBERTa-base's first feed-forward product: K = 768, N = 3,072.
    const double layer = product_rate(*device, type, 2 * side, side * 3 / 32, side * 3 / 8);
    return {std::max(layer, product_rate(*device, type, side, side, side)), "cuBLASLt"};
  };
  limits.f32 = rate(ElementType::f32);
  limits.f16 = rate(ElementType::f16);
  if (device->architecture() >= 80) limits.bf16 = rate(ElementType::bf16);
  const auto stream = take(cuda::Stream::create(*device, {}));
  const int64_t bytes = side * side * int64_t{sizeof(float)};
  const DeviceMemory from(*device, static_cast<uint64_t>(bytes)), to(*device, static_cast<uint64_t>(bytes));
  from.fill(ElementType::f32, side * side);
  const auto copy = [&] { return stream->copy(to.data(), bytes, from.data(), bytes, bytes, 1); };
  limits.memory = {device_rate(*stream, 2. * static_cast<double>(bytes), copy), "copy"};
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

Limits measure_device_limits(int, int64_t) { throw std::runtime_error(build_has_none); }
std::string device_text(int) { throw std::runtime_error(build_has_none); }

#endif

}  // namespace linformer::bench
