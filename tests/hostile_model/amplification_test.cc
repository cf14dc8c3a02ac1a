// Tests small files that name one thing very often. Neither memory nor time may grow with the number of names.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/alteration.h"
#include "hostile_model/hostile_file.h"
#include "model/flatbuffers_compat.h"
#include "model/limits.h"
#include "support/allocations.h"

namespace linformer_test::amplification_test {

using namespace linformer;
using flatbuffers::FlatBufferBuilder;

namespace {

template <class T>
auto repeated(FlatBufferBuilder& builder, flatbuffers::Offset<T> item, size_t count) {
  return builder.CreateVector(std::vector<flatbuffers::Offset<T>>(count, item));
}

writer::AlignedBytes finish(FlatBufferBuilder& builder, flatbuffers::Offset<schema::Model> model) {
  schema::FinishModelBuffer(builder, model);
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return assemble({bytes, builder.GetSize()}, {});
}

flatbuffers::Offset<schema::ClassificationHead> head_of(
    FlatBufferBuilder& builder, flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Label>>> labels) {
  schema::ClassificationHeadBuilder head(builder);
  head.add_labels(labels);
  return head.Finish();
}

// Returns a model. `filler` unused bytes make the file so large that the number of its references alone is not
// suspicious.
flatbuffers::Offset<schema::Model> model_of(
    FlatBufferBuilder& builder, flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Tensor>>> tensors,
    flatbuffers::Offset<schema::Encoder> encoder,
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::ClassificationHead>>> heads,
    size_t filler = 0) {
  const auto bytes = builder.CreateVector(std::vector<uint8_t>(filler));
  schema::TokenizerBuilder tokenizer(builder);
  tokenizer.add_token_bytes(bytes);
  const auto tokenizer_table = tokenizer.Finish();
  return schema::CreateModel(builder, 0, 0, tensors, encoder, 0, heads, tokenizer_table);
}

void refuse(const char* what, const writer::AlignedBytes& file, const char* sentence) {
  Outcome outcome(what);
  outcome.load(file, {Verify::always, 0}, [&] { return std::string(what); });
  CAPTURE(outcome.message());
  CHECK(outcome.errors() == 1);
  CHECK(outcome.message().find(sentence) != std::string::npos);
}

}  // namespace

TEST_CASE("the peak counts memory of malloc, calloc, realloc and operator new") {
  constexpr size_t size = 100000;
  const AllocationPeak peak;
  void* volatile first = std::malloc(size);
  void* volatile second = std::calloc(size, 1);
  CHECK(peak.bytes() >= 2 * size);
  std::free(first);
  second = std::realloc(second, 5 * size);
  const std::vector<char> third(size);
  CHECK(peak.bytes() >= 6 * size);
  CHECK(peak.bytes() < 8 * size);
  std::free(second);
}

TEST_CASE("a long label that is named a million times is refused") {
  for (size_t filler : {size_t{0}, size_t{5} << 20}) {
    FlatBufferBuilder builder;
    const auto label = schema::CreateLabel(builder, builder.CreateString(std::string(100000, 'x')));
    const auto labels = repeated(builder, label, max_classes);
    const auto heads = repeated(builder, head_of(builder, labels), 1);
    refuse("one label, 2^20 times", finish(builder, model_of(builder, 0, 0, heads, filler)),
           filler == 0 ? "damaged" : "far more memory");
  }
}

TEST_CASE("a thousand heads that share a million labels are refused") {
  FlatBufferBuilder builder;
  const auto labels = repeated(builder, schema::CreateLabel(builder, builder.CreateString("x")), max_classes);
  const auto heads = repeated(builder, head_of(builder, labels), max_classification_heads);
  refuse("one label list, 2^10 times", finish(builder, model_of(builder, 0, 0, heads, 5 << 20)), "damaged");
}

TEST_CASE("a tensor that is named 2^16 times is refused") {
  for (size_t filler : {0, 1 << 19}) {
    FlatBufferBuilder builder;
    const auto name = builder.CreateString(std::string(1000, 'x'));
    const auto shape = builder.CreateVector(std::vector<uint64_t>{1, 1});
    const auto tensor =
        schema::CreateTensor(builder, name, schema::ElementType::f32, schema::TensorLayout::row_major, shape, 0, 4, 0);
    const auto tensors = repeated(builder, tensor, max_tensors);
    refuse("one tensor, 2^16 times", finish(builder, model_of(builder, tensors, 0, 0, filler)),
           filler == 0 ? "damaged" : "far more memory");
  }
}

TEST_CASE("layers that share two long projection lists are refused") {
  FlatBufferBuilder builder;
  const auto list = builder.CreateVector(std::vector<uint32_t>(max_heads));
  schema::AttentionBuilder attention_builder(builder);
  attention_builder.add_key_projections(list);
  attention_builder.add_value_projections(list);
  const auto attention = attention_builder.Finish();
  schema::LayerBuilder layer_builder(builder);
  layer_builder.add_attention(attention);
  const auto layers = repeated(builder, layer_builder.Finish(), max_layers);
  schema::EncoderBuilder encoder_builder(builder);
  encoder_builder.add_layers(layers);
  refuse("one layer, 2^10 times", finish(builder, model_of(builder, 0, encoder_builder.Finish(), 0, 1 << 16)),
         "far more memory");
}

TEST_CASE("more entries than any limit allows are refused") {
  FlatBufferBuilder builder;
  const auto layers = repeated(builder, schema::CreateLayer(builder), 1000000);
  schema::EncoderBuilder encoder_builder(builder);
  encoder_builder.add_layers(layers);
  refuse("a million layers", finish(builder, model_of(builder, 0, encoder_builder.Finish(), 0, 8 << 20)),
         "layers has 1000000");
}

TEST_CASE("an empty model is refused") {
  FlatBufferBuilder builder;
  refuse("empty model", finish(builder, model_of(builder, 0, 0, 0)), "producer is not");
}

TEST_CASE("metadata of another kind is refused") {
  FlatBufferBuilder builder;
  builder.Finish(model_of(builder, 0, 0, 0), "XXXX");
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  refuse("other identifier", assemble({bytes, builder.GetSize()}, {}), "damaged");
}

}  // namespace linformer_test::amplification_test
