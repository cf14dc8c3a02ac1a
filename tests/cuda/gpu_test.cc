// Tests that need a GPU: outputs in the device's memory, and the caller's stream.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "support/engines.h"
#include "support/random_model.h"

namespace linformer_test::gpu_test {
namespace {

using namespace linformer;

class DeviceFloats {
 public:
  explicit DeviceFloats(size_t count) : count_(count) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0xff, count * sizeof(float)) == cudaSuccess);
  }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  ~DeviceFloats() { cudaFree(data_); }
  std::span<float> span() const { return {data_, count_}; }
  std::vector<float> copy() const {
    std::vector<float> values(count_);
    REQUIRE(cudaMemcpy(values.data(), data_, count_ * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
    return values;
  }

 private:
  size_t count_;
  float* data_ = nullptr;
};

TEST_CASE("outputs in the device's memory on the caller's stream equal those on the host in many calls") {
  if (linformer_test::engines().empty()) return;
  for (ElementType type : {ElementType::f32, ElementType::f16}) {
    RandomModel shape;
    shape.type = type;
    const auto model = linformer_test::random_model(shape);
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    {
      SessionOptions options;
      options.cuda.device = 0;
      options.memory.max_batch = 3;
      Result<Session> host = Session::create(model, options);
      options.stream.handle = stream;
      options.stream.outputs_on_device = true;
      Result<Session> device = Session::create(model, options);
      REQUIRE_MESSAGE(host.ok(), std::string(host.status().message()));
      REQUIRE_MESSAGE(device.ok(), std::string(device.status().message()));
      constexpr int calls = 8;
      std::vector<std::vector<float>> expected;
      std::vector<std::unique_ptr<DeviceFloats>> got;
      for (int call = 0; call < calls; ++call) {
        std::vector<std::vector<int32_t>> texts;
        size_t rows = 0;
        for (int64_t length : {48 - call, 1 + call, 20}) {
          texts.push_back(linformer_test::random_ids(static_cast<uint64_t>(call), length, shape.vocabulary));
          rows += texts.back().size();
        }
        const std::vector<Tokens> spans(texts.begin(), texts.end());
        std::vector<float> hidden(rows * shape.d_model, NAN), logits(9, NAN), probabilities(9, NAN);
        REQUIRE(host->run(spans, {Output::hidden(hidden), Output::logits(logits), Output::probabilities(probabilities)})
                    .ok());
        for (const std::vector<float>& part : {hidden, logits, probabilities}) {
          expected.push_back(part);
          got.push_back(std::make_unique<DeviceFloats>(part.size()));
        }
        const size_t last = got.size();
        REQUIRE(device
                    ->run(spans, {Output::hidden(got[last - 3]->span()), Output::logits(got[last - 2]->span()),
                                  Output::probabilities(got[last - 1]->span())})
                    .ok());
      }
      REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
      for (size_t i = 0; i < got.size(); ++i) {
        const std::vector<float> values = got[i]->copy();
        for (float value : values) REQUIRE(std::isfinite(value));
        CHECK(std::memcmp(values.data(), expected[i].data(), values.size() * sizeof(float)) == 0);
      }
    }
    cudaStreamDestroy(stream);
  }
}

TEST_CASE("a session leaves the calling thread's device as it was") {
  if (linformer_test::engines().empty()) return;
  int before = -1, after = -1;
  REQUIRE(cudaGetDevice(&before) == cudaSuccess);
  SessionOptions options;
  options.cuda.device = 0;
  Result<Session> session = Session::create(linformer_test::random_model(RandomModel()), options);
  REQUIRE(session.ok());
  REQUIRE(cudaGetDevice(&after) == cudaSuccess);
  CHECK(before == after);
}

}  // namespace

}  // namespace linformer_test::gpu_test
