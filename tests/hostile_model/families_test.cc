// Alters each number of several files. There is one file for each kind of attention and of input.
#include <doctest/doctest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/alteration.h"
#include "hostile_model/hostile_file.h"
#include "hostile_model/metadata_fields.h"

namespace linformer_test::families_test {

using namespace linformer;

namespace {

struct Variant {
  const char* name;
  std::function<void(TinyModel&)> make;
};

void attend_with(ModelDescription& model, const Projection& projection) {
  for (LayerDescription& layer : model.encoder.layers) {
    layer.attention.key_projections = layer.attention.value_projections = {0};
  }
  model.encoder.projections = {projection};
}

Projection windows(ProjectionKind kind) {
  Projection projection;
  projection.kind = kind;
  projection.order = ProjectionOrder::after_linear;
  projection.kernel = projection.stride = 3;
  projection.k = 6;  // of 20 tokens
  return projection;
}

const Variant variants[] = {
    {"everything", [](TinyModel& tiny) { tiny.set_every_field(); }},
    {"full attention, embeddings",
     [](TinyModel& tiny) {
       ModelDescription& model = tiny.builder.description;
       Projection full;
       full.kind = ProjectionKind::none;
       attend_with(model, full);
       for (LayerDescription& layer : model.encoder.layers) layer.attention.row_mask = RowMask::excluded;
       model.encoder.embedding.token_types = model.encoder.embedding.positions;
       model.embedding = {true, Pooling::mean, model.encoder.layers[0].attention.query, Activation::tanh, true};
       model.heads[0].pooling = Pooling::none;
     }},
    {"convolution",
     [](TinyModel& tiny) {
       ModelDescription& model = tiny.builder.description;
       Projection convolution = windows(ProjectionKind::convolution);
       convolution.weight = tiny.builder.add_floats("conv.weight", {3, 8, 8}, std::vector<float>(192, 0.125f));
       convolution.bias = tiny.builder.add_floats("conv.bias", {8}, std::vector<float>(8, 0.5f));
       attend_with(model, convolution);
       for (LayerDescription& layer : model.encoder.layers) layer.attention.row_mask = RowMask::zeroed;
     }},
    {"pooling by head, pairs of texts",
     [](TinyModel& tiny) {
       ModelDescription& model = tiny.builder.description;
       attend_with(model, windows(ProjectionKind::mean_pool));
       model.encoder.projections.push_back(windows(ProjectionKind::max_pool));
       for (LayerDescription& layer : model.encoder.layers) {
         layer.attention.key_projections = layer.attention.value_projections = {0, 1};
       }
       ClassificationHead& head = model.heads[0];
       head.pairing = Pairing::product_difference;
       head.pooling = Pooling::mean_over_max_tokens;
       head.dense = {};
       head.output.weight = tiny.builder.add_linear("pair.weight", 2, 64, std::vector<float>(128, 0.25f));
       head.output.bias = absent;
       head.labels.clear();
     }},
    {"vectors",
     [](TinyModel& tiny) {
       ModelDescription& model = tiny.builder.description;
       EmbeddingDescription& embedding = model.encoder.embedding;
       embedding.tokens = absent;
       embedding.positions_count_non_pad = embedding.zero_pad_rows = false;
       embedding.vectors.width = 5;
       embedding.vectors.linear.weight = tiny.builder.add_linear("patch.weight", 16, 5, std::vector<float>(80, 0.5f));
       embedding.prefix = tiny.builder.add_floats("cls", {1, 16}, std::vector<float>(16, 0.75f));
       model.encoder.vocab_size = 0;
       model.encoder.pad_id = -1;
       model.mlm = {};
       model.tokenizer = {};
     }},
    {"encoder and decoder",
     [](TinyModel& tiny) {
       ModelDescription& model = tiny.builder.description;
       model.decoder = model.encoder;
       model.decoder.layers[1].attention.key_source = KeySource::encoder_states;
       model.decoder.encoder_states_width = 16;
       for (Projection& projection : model.decoder.projections) projection.order = ProjectionOrder::after_linear;
     }},
};

// Returns 0, 1, 2, the unsigned and the signed maximum, and `value` plus and minus one, without those equal to `value`.
std::vector<uint64_t> hostile_values(uint64_t value, size_t bytes) {
  const uint64_t ones = bytes == 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
  std::vector<uint64_t> values;
  for (uint64_t candidate : {uint64_t{0}, uint64_t{1}, uint64_t{2}, ones, ones >> 1, value + 1, value - 1}) {
    if ((candidate & ones) != value) values.push_back(candidate & ones);
  }
  return values;
}

}  // namespace

TEST_CASE("a file with any number set to a hostile value gives an error or a usable model, for every way to attend") {
  for (const Variant& variant : variants) {
    CAPTURE(std::string(variant.name));
    TinyModel tiny;
    variant.make(tiny);
    HostileFile file(tiny.builder.serialize());
    const auto original = Model::load(file.bytes());
    REQUIRE_MESSAGE(original.ok(), std::string(original.status().message()));
    CHECK(on_loaded(original.value()) == "");
    Outcome outcome(variant.name);
    for (const MetadataField& field : metadata_fields(file.metadata())) {
      // Other tests alter the checksums of weights and the tokenizer.
      if (field.path.starts_with("tokenizer") || field.path.find("checksum") != field.path.npos) continue;
      std::byte* at = file.metadata().data() + field.offset;
      uint64_t value = 0;
      std::memcpy(&value, at, field.bytes);
      std::vector<uint64_t> values = hostile_values(value, field.bytes);
      if (field.floating) values.insert(values.end(), {0x7fc00000, 0x7f800000, 0xbf800000});
      for (uint64_t hostile : values) {
        std::memcpy(at, &hostile, field.bytes);
        file.fix_checksums();
        outcome.load(file.bytes(), {Verify::never, 0}, [&] { return field.path + " = " + std::to_string(hostile); });
      }
      std::memcpy(at, &value, field.bytes);
    }
    CHECK(outcome.errors() > 0);
    CHECK(outcome.loaded() > 0);
  }
}

}  // namespace linformer_test::families_test
