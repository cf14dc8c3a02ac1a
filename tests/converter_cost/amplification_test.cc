// Tests how much memory it takes to encode a tensor in panels for a model file. A panel with very many inputs must be
// encoded in parts.
#include <vector>

#include "base/description.h"
#include "converter/writer/tensor_data.h"
#include "converter_cost/cost.h"

namespace linformer_test::amplification_test {

using namespace linformer;
using namespace linformer::writer;

namespace {

TensorDescription panels(uint64_t out, uint64_t in) {
  TensorDescription tensor;
  tensor.name = "matrix";
  tensor.type = ElementType::f32;
  tensor.layout = TensorLayout::panel16;
  tensor.shape = {out, in};
  return tensor;
}

// Fills `values` with whole numbers, so that most elements of a tensor differ. `first` is the index of values[0] in
// the tensor.
void fill(uint64_t first, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((first + i) % 1000003);
}

}  // namespace

TEST_CASE("one output of 2^22 inputs takes less memory than the tensor has bytes") {
  const TensorDescription tensor = panels(1, 1 << 22);
  uint64_t bytes = 0;
  const AllocationPeak peak;
  encode(tensor, fill, [&](std::span<const std::byte> part) { bytes += part.size(); });
  CHECK(peak.bytes() < uint64_t{4} << 22);
  CHECK(bytes == encoded_bytes(tensor));
}

TEST_CASE("panels of one part and of several decode to what was encoded") {
  for (const auto& [out, in] : {std::pair<uint64_t, uint64_t>{3, 65535}, {17, 65536}, {2, 65537}, {19, 140001}}) {
    const TensorDescription tensor = panels(out, in);
    std::vector<std::byte> bytes;
    encode(tensor, fill, [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
    REQUIRE(bytes.size() == encoded_bytes(tensor));
    const std::vector<float> back = decode(tensor, bytes.data());
    std::vector<float> expected(out * in);
    fill(0, expected);
    CHECK(back == expected);
  }
}

}  // namespace linformer_test::amplification_test
