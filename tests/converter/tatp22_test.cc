// Tests the tatp22 dialect (linformer-pytorch) on small checkpoints.
#include <doctest/doctest.h>

#include <functional>

#include "base/description.h"
#include "converter/conversion.h"
#include "converter/tiny_tatp22.h"

namespace linformer_test::tatp22_test {

using namespace linformer;

namespace {

const std::string plain = R"({"activation": "gelu", "full_attention": false, "causal": false, "decoder_mode": false})";

bool same_values(const Converted& model, TensorIndex index, const HandTensor& tensor) {
  return model.values(index) == std::vector<float>(tensor.values.begin(), tensor.values.end());
}

// Returns the values of several tensors, one after the other.
std::vector<float> joined(std::vector<HandTensor>& tensors, std::initializer_list<std::string> names) {
  std::vector<float> values;
  for (const std::string& name : names) {
    const std::vector<double>& part = named(tensors, name).values;
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

const AttentionDescription& attention(const Converted& model, size_t layer) {
  return model.description().encoder.layers[layer].attention;
}

}  // namespace

TEST_CASE("tatp22: each role gets the values of its tensors, and the description has the fixed settings") {
  TinyTatp22 tiny;
  tiny.sharing = "none";
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted model = converted(torch_zip(tensors), plain);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(model.description().dialect == "tatp22");
  CHECK(encoder.d_model == 8);
  CHECK(encoder.max_tokens == 7);
  CHECK(encoder.vocab_size == 10);
  CHECK(encoder.pad_id == -1);
  CHECK(encoder.norm_placement == NormPlacement::post);
  CHECK(!encoder.final_norm.present());
  CHECK(encoder.embedding.position_kind == PositionKind::sinusoidal_halves);
  CHECK(encoder.embedding.position_base == 100000.f);
  CHECK(same_values(model, encoder.embedding.positions, named(tensors, "pos_emb.inv_freq")));
  CHECK(same_values(model, encoder.embedding.tokens, named(tensors, "to_token_emb.weight")));
  REQUIRE(encoder.layers.size() == 2);
  REQUIRE(encoder.projections.size() == 8);
  for (size_t i = 0; i < 2; ++i) {
    const LayerDescription& layer = encoder.layers[i];
    const std::string first = "linformer.seq." + std::to_string(2 * i) + ".", fn = first + "fn.",
                      second = "linformer.seq." + std::to_string(2 * i + 1) + ".";
    CHECK(layer.attention.heads == 2);
    CHECK(layer.attention.kv_heads == 2);
    CHECK(layer.attention.head_dim == 4);
    CHECK(layer.attention.scale == 0.5f);
    CHECK(layer.attention.row_mask == RowMask::zeroed);
    CHECK(layer.attention.key_source == KeySource::own);
    CHECK(!layer.attention.causal);
    CHECK(layer.attention.output_activation == Activation::none);
    CHECK(layer.activation == Activation::gelu);
    CHECK(layer.attention.query.bias == absent);
    CHECK(model.values(layer.attention.query.weight) == joined(tensors, {fn + "to_q.0.weight", fn + "to_q.1.weight"}));
    CHECK(model.values(layer.attention.key.weight) == joined(tensors, {fn + "to_k.0.weight", fn + "to_k.1.weight"}));
    CHECK(model.values(layer.attention.value.weight) == joined(tensors, {fn + "to_v.0.weight", fn + "to_v.1.weight"}));
    CHECK(same_values(model, layer.attention.output.weight, named(tensors, fn + "w_o.weight")));
    CHECK(same_values(model, layer.attention.output.bias, named(tensors, fn + "w_o.bias")));
    CHECK(same_values(model, layer.attention_norm.scale, named(tensors, first + "norm.weight")));
    CHECK(same_values(model, layer.ffn_in.weight, named(tensors, second + "fn.w_1.weight")));
    CHECK(same_values(model, layer.ffn_out.bias, named(tensors, second + "fn.w_2.bias")));
    CHECK(same_values(model, layer.ffn_norm.bias, named(tensors, second + "norm.bias")));
    REQUIRE(layer.attention.key_projections.size() == 2);
    REQUIRE(layer.attention.value_projections.size() == 2);
    for (size_t head = 0; head < 2; ++head) {
      const std::string name = fn + "heads." + std::to_string(head) + ".";
      const Projection& key = encoder.projections[layer.attention.key_projections[head]];
      const Projection& value = encoder.projections[layer.attention.value_projections[head]];
      CHECK(key.kind == ProjectionKind::linear);
      CHECK(key.order == ProjectionOrder::after_linear);
      CHECK(key.k == 3);
      CHECK(same_values(model, key.weight, named(tensors, name + "E.weight")));
      CHECK(same_values(model, key.bias, named(tensors, name + "E.bias")));
      CHECK(same_values(model, value.weight, named(tensors, name + "F.weight")));
      CHECK(same_values(model, value.bias, named(tensors, name + "F.bias")));
    }
  }
  CHECK(!model.description().mlm.dense.present());
  CHECK(same_values(model, model.description().mlm.output.weight, named(tensors, "to_logits.weight")));
  CHECK(same_values(model, model.description().mlm.output.bias, named(tensors, "to_logits.bias")));
  CHECK(model.report.mapped.size() == tensors.size());
  CHECK(model.report.left_out.empty());
}

TEST_CASE("tatp22: every way of sharing is found by value, in full files and in files that keep one name of a tensor") {
  struct Sharing {
    const char* name;
    size_t projections, entries;  // distinct projections; entries in the lists of a layer
    bool same;                    // keys and values share their projections
    std::function<bool(const std::string&)> kept;
  };
  const auto is = [](const std::string& name, const char* part) { return contains(name, part); };
  const Sharing cases[] = {
      {"none", 8, 2, false, [](const std::string&) { return true; }},
      {"headwise", 4, 1, false, [&](const std::string& name) { return is(name, "heads.0."); }},
      {"kv", 2, 1, true, [&](const std::string& name) { return is(name, "heads.0.E"); }},
      {"layerwise", 1, 1, true, [&](const std::string& name) { return is(name, "seq.0.fn.heads.0.E"); }}};
  for (const Sharing& sharing : cases) {
    const std::string name = sharing.name;
    CAPTURE(name);
    TinyTatp22 tiny;
    tiny.sharing = name;
    std::vector<HandTensor> tensors = tiny.tensors();
    const Converted model = converted(torch_zip(tensors), plain);
    CHECK(model.description().encoder.projections.size() == sharing.projections);
    for (size_t layer = 0; layer < 2; ++layer) {
      CHECK(attention(model, layer).key_projections.size() == sharing.entries);
      CHECK((attention(model, layer).key_projections == attention(model, layer).value_projections) == sharing.same);
    }
    // A safetensors file without its metadata gives the same projections.
    std::erase_if(tensors, [&](const HandTensor& tensor) {
      return contains(tensor.name, "heads.") && !sharing.kept(tensor.name);
    });
    const Converted deduplicated = converted(safetensors(tensors), plain);
    REQUIRE(deduplicated.description().encoder.projections.size() == sharing.projections);
    for (size_t layer = 0; layer < 2; ++layer) {
      CHECK(attention(deduplicated, layer).key_projections == attention(model, layer).key_projections);
      CHECK(attention(deduplicated, layer).value_projections == attention(model, layer).value_projections);
    }
    for (size_t i = 0; i < sharing.projections; ++i) {
      CHECK(deduplicated.values(deduplicated.description().encoder.projections[i].weight) ==
            model.values(model.description().encoder.projections[i].weight));
    }
    // A .pt file keeps all names, so one that lacks some is damaged.
    if (name != "none") CHECK(contains(conversion_error(torch_zip(tensors), plain), "missing"));
  }
}

TEST_CASE("tatp22: a convolution's weights are stored as [kernel, out, in], and its k follows from input_size") {
  TinyTatp22 tiny;
  tiny.kernel = 2;
  tiny.sharing = "kv";
  std::vector<HandTensor> tensors = tiny.tensors();
  const std::string length = R"({"activation": "gelu", "input_size": 7, "dim_k": 3})";
  const Converted model = converted(torch_zip(tensors), length);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(encoder.max_tokens == 7);
  REQUIRE(encoder.projections.size() == 2);
  const Projection& projection = encoder.projections[0];
  CHECK(projection.kind == ProjectionKind::convolution);
  CHECK(projection.kernel == 2);
  CHECK(projection.stride == 2);
  CHECK(projection.k == 3);  // the last of the 7 positions is in no window
  const HandTensor& weight = named(tensors, "linformer.seq.0.fn.heads.0.E.weight");  // [out 4, in 4, kernel 2]
  const std::vector<float> values = model.values(projection.weight);                 // [kernel, out, in]
  for (size_t step = 0; step < 2; ++step) {
    for (size_t out = 0; out < 4; ++out) {
      for (size_t in = 0; in < 4; ++in) {
        CHECK(double{values[(step * 4 + out) * 4 + in]} == weight.values[(out * 4 + in) * 2 + step]);
      }
    }
  }
  CHECK(same_values(model, projection.bias, named(tensors, "linformer.seq.0.fn.heads.0.E.bias")));
  CHECK(contains(conversion_error(torch_zip(tensors), plain), "config '{\"input_size\": NUMBER}'"));
  CHECK(contains(conversion_error(torch_zip(tensors), R"({"input_size": 1})"), "wider than the longest text of 1"));
  CHECK(contains(conversion_error(torch_zip(tensors), R"({"input_size": 7, "dim_k": 1})"), "kernel of 2"));
}

TEST_CASE("tatp22: settings that no tensor shows are read, and assumed defaults are noted") {
  TinyTatp22 tiny;
  const std::string file = torch_zip(tiny.tensors());
  const Converted relu = converted(file, R"({"activation": "relu", "causal": true})");
  CHECK(attention(relu, 1).causal);
  CHECK(relu.description().encoder.layers[0].activation == Activation::relu);
  CHECK(fact(relu.report, "full_attention") == "false");  // the constructor's default, which a note names
  CHECK(std::any_of(relu.report.notes.begin(), relu.report.notes.end(),
                    [](const std::string& note) { return contains(note, "full_attention is not in the settings"); }));

  const Converted full = converted(file, R"({"full_attention": true, "causal": true})");
  REQUIRE(full.description().encoder.projections.size() == 1);
  CHECK(full.description().encoder.projections[0].kind == ProjectionKind::none);
  CHECK(attention(full, 0).causal);
  CHECK(is_left_out(full.report.left_out, "linformer.seq.2.fn.heads.1.F.bias"));
  CHECK(full.report.left_out.size() == 16);

  // The settings may also be in the file of the weights.
  const Converted own =
      converted(torch_zip(tiny.tensors(), {{"activation", std::string("relu")}, {"nhead", int64_t{2}}}));
  CHECK(own.description().encoder.layers[0].activation == Activation::relu);
}

TEST_CASE("tatp22: widths between layers, a width of the embedding and an output in two steps are converted") {
  TinyTatp22 tiny;
  tiny.sharing = "kv";
  tiny.emb_dim = 6;
  tiny.output_between = 5;
  tiny.ff_intermediate = 10;
  tiny.depth = 3;
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted model = converted(torch_zip(tensors), plain);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(encoder.d_model == 8);
  CHECK(same_values(model, encoder.embedding.factor.weight, named(tensors, "linformer.project_in.weight")));
  CHECK(same_values(model, encoder.output.weight, named(tensors, "linformer.project_out.weight")));
  CHECK(model.values(encoder.embedding.positions).size() == 3);
  REQUIRE(encoder.layers.size() == 3);
  const std::string stack = "linformer.fn.seq.";
  CHECK(same_values(model, encoder.layers[0].attention.output.weight, named(tensors, stack + "0.fn.w_o_1.weight")));
  CHECK(same_values(model, encoder.layers[0].attention.output_second.bias, named(tensors, stack + "0.fn.w_o_2.bias")));
  CHECK(!encoder.layers[0].attention_resample.present());
  CHECK(same_values(model, encoder.layers[0].ffn_resample.weight, named(tensors, stack + "1.resample.weight")));
  CHECK(!encoder.layers[1].ffn_resample.present());
  CHECK(same_values(model, encoder.layers[2].ffn_resample.bias, named(tensors, stack + "5.resample.bias")));
  CHECK(model.report.left_out.empty());

  tiny.old = true;  // whose norms are as wide as the layers' inputs
  std::vector<HandTensor> old_tensors = tiny.tensors();
  const Converted old = converted(torch_zip(old_tensors), plain);
  CHECK(same_values(old, old.description().encoder.layers[0].ffn_norm.scale,
                    named(old_tensors, stack + "1.fn.norm.weight")));
}

TEST_CASE("tatp22: models without tokens, logits or feed-forward layers, or within a Padder, are converted") {
  TinyTatp22 tiny;
  tiny.tokens = tiny.feed_forward = false;
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted model = converted(torch_zip(tensors), plain);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(encoder.embedding.tokens == absent);
  CHECK(encoder.embedding.vectors.width == 8);
  CHECK(encoder.embedding.position_kind == PositionKind::none);
  CHECK(encoder.vocab_size == 0);
  REQUIRE(encoder.layers.size() == 2);
  CHECK(!encoder.layers[0].ffn_in.present());
  CHECK(!model.description().mlm.present());

  for (HandTensor& tensor : tensors) tensor.name = "net." + tensor.name;
  const Converted padder = converted(torch_zip(tensors), plain);
  CHECK(padder.description().encoder.embedding.vectors.width == 8);
  CHECK(padder.report.mapped.size() == tensors.size());

  TinyTatp22 rows;
  rows.logits = false;
  CHECK(!converted(torch_zip(rows.tensors()), plain).description().mlm.present());
}

TEST_CASE("tatp22: the layout before 2020-09-14 is pre-norm, with an activation before w_o and gelu in between") {
  TinyTatp22 tiny;
  tiny.old = true;
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted model = converted(torch_zip(tensors), R"({"activation": "relu"})");
  CHECK(model.description().encoder.norm_placement == NormPlacement::pre);
  CHECK(!model.description().encoder.final_norm.present());
  for (const LayerDescription& layer : model.description().encoder.layers) {
    CHECK(layer.attention.output_activation == Activation::relu);
    CHECK(layer.activation == Activation::gelu);
  }
  CHECK(same_values(model, model.description().encoder.layers[1].attention_norm.scale,
                    named(tensors, "linformer.seq.2.fn.norm.weight")));
  CHECK(model.report.mapped.size() == tensors.size());
}

TEST_CASE("tatp22: decoders are converted, alone and behind an encoder") {
  TinyTatp22 tiny;
  tiny.decoder_mode = true;
  const std::string file = torch_zip(tiny.tensors());
  const Converted alone = converted(file, R"({"decoder_mode": true, "causal": true, "depth": 2})");
  const EncoderDescription& encoder = alone.description().encoder;
  CHECK(!alone.description().has_decoder());
  CHECK(encoder.encoder_states_width == 8);
  REQUIRE(encoder.layers.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(encoder.layers[i].attention.key_source == (i % 2 ? KeySource::encoder_states : KeySource::own));
    CHECK(encoder.layers[i].attention.causal == (i % 2 == 1));  // self-attention is never causal
    CHECK(encoder.layers[i].attention.row_mask == RowMask::zeroed);
  }
  // An encoder of twice the depth has the same tensors as this decoder, so only the settings tell the two apart.
  CHECK(attention(converted(file, plain), 1).key_source == KeySource::own);
  CHECK(contains(conversion_error(file, R"({"depth": 2})"), "depth is 2"));

  TinyTatp22 first;
  first.logits = false;
  first.depth = 3;
  first.vocabulary = 12;
  std::vector<HandTensor> tensors = first.tensors("encoder.");
  for (const HandTensor& tensor : tiny.tensors("decoder.")) tensors.push_back(tensor);
  const Converted both = converted(torch_zip(tensors), R"({"activation": "relu", "enc_depth": 3, "dec_depth": 2})");
  const ModelDescription& model = both.description();
  CHECK(model.encoder.layers.size() == 3);
  CHECK(model.encoder.encoder_states_width == 0);
  CHECK(model.encoder.vocab_size == 12);
  CHECK(model.encoder.layers[1].attention.row_mask == RowMask::zeroed);
  REQUIRE(model.decoder.layers.size() == 4);
  CHECK(model.decoder.vocab_size == 10);
  CHECK(model.decoder.encoder_states_width == 8);
  for (size_t i = 0; i < 4; ++i) {
    const AttentionDescription& layer = model.decoder.layers[i].attention;
    CHECK(layer.key_source == (i % 2 ? KeySource::encoder_states : KeySource::own));
    CHECK(layer.causal == (i % 2 == 1));
    CHECK(layer.row_mask == RowMask::none);
    CHECK(model.decoder.layers[i].activation == Activation::relu);
  }
  CHECK(same_values(both, model.mlm.output.weight, named(tensors, "decoder.to_logits.weight")));
  CHECK(both.report.mapped.size() == tensors.size());
  CHECK(contains(conversion_error(torch_zip(tensors)), "\"enc_full_attention\": false"));
}

}  // namespace linformer_test::tatp22_test
