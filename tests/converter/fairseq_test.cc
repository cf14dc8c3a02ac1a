// Tests the fairseq dialect on small checkpoints: versions of fairseq, renamed tensors, shared projections, settings,
// and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/description.h"
#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "format/same_description.h"

namespace linformer_test::fairseq_test {

using namespace linformer;

namespace {

const std::string layer0 = tiny_encoder + "layers.0.", layer1 = tiny_encoder + "layers.1.";

// Returns the first field in which two models differ, apart from the names of their tensors.
std::string difference_but_names(const Converted& a, const Converted& b) {
  ModelDescription first = a.description(), second = b.description();
  for (TensorDescription& tensor : first.tensors) tensor.name.clear();
  for (TensorDescription& tensor : second.tensors) tensor.name.clear();
  return differing_field(first, second);
}

std::vector<HandTensor> prefixed(std::vector<HandTensor> tensors, const std::string& prefix) {
  for (HandTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}

bool same_values(const std::vector<float>& read, const std::vector<double>& written) {
  return read == std::vector<float>(written.begin(), written.end());
}

void check_all_values(const Converted& model, std::vector<HandTensor>& tensors) {
  const EncoderDescription& encoder = model.description().encoder;
  const auto check = [&](TensorIndex index, const std::string& name) {
    CAPTURE(name);
    CHECK(same_values(model.values(index), named(tensors, name).values));
  };
  check(encoder.embedding.tokens, tiny_encoder + "embed_tokens.weight");
  check(encoder.embedding.positions, tiny_encoder + "embed_positions.weight");
  check(encoder.embedding.norm.scale, tiny_encoder + "layernorm_embedding.weight");
  check(encoder.embedding.norm.bias, tiny_encoder + "layernorm_embedding.bias");
  for (size_t i = 0; i < encoder.layers.size(); ++i) {
    const LayerDescription& layer = encoder.layers[i];
    const std::string prefix = tiny_encoder + "layers." + std::to_string(i) + ".";
    const std::pair<const Linear*, const char*> linears[] = {{&layer.attention.query, "self_attn.q_proj"},
                                                             {&layer.attention.key, "self_attn.k_proj"},
                                                             {&layer.attention.value, "self_attn.v_proj"},
                                                             {&layer.attention.output, "self_attn.out_proj"},
                                                             {&layer.ffn_in, "fc1"},
                                                             {&layer.ffn_out, "fc2"}};
    for (const auto& [linear, name] : linears) {
      check(linear->weight, prefix + name + ".weight");
      check(linear->bias, prefix + name + ".bias");
    }
    check(layer.attention_norm.scale, prefix + "self_attn_layer_norm.weight");
    check(layer.attention_norm.bias, prefix + "self_attn_layer_norm.bias");
    check(layer.ffn_norm.scale, prefix + "final_layer_norm.weight");
    check(layer.ffn_norm.bias, prefix + "final_layer_norm.bias");
    check(encoder.projections[layer.attention.key_projections[0]].weight, prefix + "self_attn.compress_k.weight");
    check(encoder.projections[layer.attention.value_projections[0]].weight, prefix + "self_attn.compress_v.weight");
  }
  check(model.description().mlm.dense.weight, "encoder.lm_head.dense.weight");
  check(model.description().mlm.norm.bias, "encoder.lm_head.layer_norm.bias");
  check(model.description().mlm.output.weight, "encoder.lm_head.weight");
  check(model.description().mlm.output.bias, "encoder.lm_head.bias");
}

}  // namespace

TEST_CASE("each role gets the values of its tensor, and the description has the settings that fairseq fixes") {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted model = converted(torch_zip(tensors, tiny.settings()));
  check_all_values(model, tensors);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(model.description().dialect == "fairseq");
  CHECK(encoder.d_model == 8);
  CHECK(encoder.max_tokens == 6);
  CHECK(encoder.vocab_size == 10);
  CHECK(encoder.pad_id == 1);
  CHECK(encoder.norm_placement == NormPlacement::post);
  CHECK(encoder.embedding.position_kind == PositionKind::learned);
  CHECK(encoder.embedding.position_offset == 2);
  CHECK(encoder.embedding.positions_count_non_pad);
  CHECK(encoder.embedding.pad_position == 1);
  CHECK(encoder.embedding.zero_pad_rows);
  CHECK(encoder.embedding.scale == 1.f);
  CHECK(!encoder.embedding.transform.present());
  REQUIRE(encoder.projections.size() == 4);
  for (const Projection& projection : encoder.projections) {
    CHECK(projection.kind == ProjectionKind::linear);
    CHECK(projection.order == ProjectionOrder::before_linear);
    CHECK(projection.k == 2);
    CHECK(projection.bias == absent);
  }
  REQUIRE(encoder.layers.size() == 2);
  for (const LayerDescription& layer : encoder.layers) {
    CHECK(layer.attention.heads == 2);
    CHECK(layer.attention.kv_heads == 2);
    CHECK(layer.attention.head_dim == 4);
    CHECK(layer.attention.scale == 0.5f);
    CHECK(layer.activation == Activation::gelu);
    CHECK(!layer.attention.value_is_key);
  }
  CHECK(!encoder.final_norm.present());
  CHECK(model.description().mlm.output.weight == encoder.embedding.tokens);  // tied, because the values are equal
  CHECK(model.report.mapped.size() == tensors.size());
  CHECK(model.report.left_out.empty());
}

TEST_CASE("every file format, with settings as args, as cfg or in --config, gives the same model, byte for byte") {
  TinyFairseq tiny;
  const std::vector<HandTensor> tensors = tiny.tensors();
  const Converted zip = converted(torch_zip(tensors, tiny.settings()));
  const std::span<const std::byte> expected = zip.file;
  const auto equals = [&](const Converted& other) {
    const std::span<const std::byte> bytes = other.file;
    return std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end());
  };
  CHECK(equals(converted(torch_zip(tensors, tiny.settings()))));
  CHECK(equals(converted(torch_zip_with_cfg(tensors, tiny.settings()))));
  CHECK(equals(converted(torch_legacy(tensors, tiny.settings()))));
  const std::string config = zip.settings;
  CHECK(equals(converted(safetensors(tensors), config)));
  std::vector<HandTensor> shuffled(tensors.rbegin(), tensors.rend());
  CHECK(equals(converted(safetensors(shuffled), config)));
}

TEST_CASE("wrappers, old names and packed attention give the same model") {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, "sentence_classification_head", 8, 8, 3);
  const Converted base = converted(torch_zip(tensors, tiny.settings()));

  std::vector<HandTensor> packed = tensors;
  for (const std::string& layer : {layer0, layer1}) {
    for (const char* part : {"weight", "bias"}) {
      HandTensor joined{layer + "self_attn.in_proj_" + part, {24}, {}, DataType::f32};
      if (std::string(part) == "weight") joined.shape.push_back(8);
      for (const char* name : {"q_proj.", "k_proj.", "v_proj."}) {
        const HandTensor own = named(packed, layer + "self_attn." + name + part);
        joined.values.insert(joined.values.end(), own.values.begin(), own.values.end());
        remove(packed, own.name);
      }
      packed.push_back(joined);
    }
  }
  std::vector<HandTensor> numbered = renamed(tensors, ".self_attn_layer_norm.", ".layer_norms.0.");
  for (HandTensor& tensor : numbered) {
    const size_t place =
        tensor.name.find(".layers.") == tensor.name.npos ? tensor.name.npos : tensor.name.find(".final_layer_norm.");
    if (place != tensor.name.npos) tensor.name.replace(place, 18, ".layer_norms.1.");
  }
  const std::pair<const char*, std::vector<HandTensor>> cases[] = {
      {"module.", prefixed(tensors, "module.")},
      {"module.model.", prefixed(tensors, "module.model.")},
      {"_orig_mod.module.", prefixed(tensors, "_orig_mod.module.")},
      {"decoder", renamed(tensors, "encoder.", "decoder.")},
      {"emb_layer_norm", renamed(tensors, ".layernorm_embedding.", ".emb_layer_norm.")},
      {"layer_norms", numbered},
      {"in_proj", packed}};
  for (const auto& renaming : cases) {
    CAPTURE(renaming.first);
    const Converted other = converted(torch_zip(renaming.second, tiny.settings()));
    CHECK(difference_but_names(base, other) == "");
  }
}

TEST_CASE("every way of sharing projections is recognised") {
  TinyFairseq tiny;
  const auto projections_of = [](const Converted& model) {
    std::vector<uint32_t> list;
    for (const LayerDescription& layer : model.description().encoder.layers) {
      list.push_back(layer.attention.key_projections[0]);
      list.push_back(layer.attention.value_projections[0]);
    }
    return list;
  };
  using List = std::vector<uint32_t>;
  std::vector<HandTensor> own = tiny.tensors();
  CHECK(projections_of(converted(torch_zip(own, tiny.settings()))) == List{0, 1, 2, 3});

  TinyFairseq shared_kv = tiny;
  shared_kv.value_projection = false;
  CHECK(projections_of(converted(torch_zip(shared_kv.tensors(), shared_kv.settings()))) == List{0, 0, 1, 1});
  HandSettings silent = shared_kv.settings();
  silent.erase("shared_kv_compressed");
  CHECK(projections_of(converted(torch_zip(shared_kv.tensors(), silent))) == List{0, 0, 1, 1});

  // Tensors with equal values count as shared. A move between devices makes such copies.
  std::vector<HandTensor> equal = own;
  for (const std::string& name : {layer0 + "self_attn.compress_v.weight", layer1 + "self_attn.compress_k.weight",
                                  layer1 + "self_attn.compress_v.weight"}) {
    named(equal, name).values = named(equal, layer0 + "self_attn.compress_k.weight").values;
  }
  CHECK(projections_of(converted(torch_zip(equal, tiny.settings()))) == List{0, 0, 0, 0});

  // All layers share one projection. First the file has it only under the encoder's name. Then a layer also has a copy
  // of its own, as in fairseq of 2020. The layer's copy takes precedence.
  std::vector<HandTensor> shared = shared_kv.tensors();
  HandTensor one = named(shared, layer0 + "self_attn.compress_k.weight");
  remove(shared, layer0 + "self_attn.compress_k.weight");
  remove(shared, layer1 + "self_attn.compress_k.weight");
  CHECK(contains(conversion_error(torch_zip(shared, silent)), "no supported implementation"));
  one.name = tiny_encoder + "compress_layer.weight";
  shared.push_back(one);
  HandSettings unshared_kv = silent;
  unshared_kv["shared_kv_compressed"] = int64_t{0};
  for (const HandSettings& settings : {silent, unshared_kv, shared_kv.settings()}) {
    CHECK(projections_of(converted(torch_zip(shared, settings))) == List{0, 0, 0, 0});
  }
  shared.push_back(random_tensor(layer1 + "shared_compress_layer.weight", {2, 6}, 5));
  shared.push_back(random_tensor(layer1 + "shared_compress_layer.bias", {2}, 5));
  const Converted copies = converted(torch_zip(shared, silent));
  CHECK(projections_of(copies) == List{0, 0, 1, 1});
  CHECK(is_left_out(copies.report.left_out, layer1 + "shared_compress_layer.bias"));

  std::vector<HandTensor> junk = own;
  junk.push_back(random_tensor(tiny_encoder + "compress_layer.weight", {2, 6}, 5));
  junk.push_back(random_tensor(tiny_encoder + "compress_layer.bias", {2}, 5));
  junk.push_back(random_tensor(layer0 + "shared_compress_layer.weight", {2, 6}, 5));
  junk.push_back(random_tensor(layer0 + "self_attn.compress_k.bias", {2}, 5));
  junk.push_back({"encoder.version", {}, {3}, DataType::i64});
  junk.push_back({layer0 + "version", {}, {1}, DataType::i64});
  const Converted with_junk = converted(torch_zip(junk, tiny.settings()));
  CHECK(difference_but_names(converted(torch_zip(own, tiny.settings())), with_junk) == "");
  for (size_t i = own.size(); i < junk.size(); ++i) CHECK(is_left_out(with_junk.report.left_out, junk[i].name));
}

TEST_CASE("the output is tied if its values equal the embedding's, also if the file has only one of the names") {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted tied = converted(torch_zip(tensors, tiny.settings()));
  std::vector<HandTensor> untied = tensors;
  named(untied, "encoder.lm_head.weight").values[3] += 1;
  const Converted own = converted(torch_zip(untied, tiny.settings()));
  CHECK(own.description().mlm.output.weight != own.description().encoder.embedding.tokens);
  CHECK(same_values(own.values(own.description().mlm.output.weight), named(untied, "encoder.lm_head.weight").values));
  for (const char* lost : {"encoder.lm_head.weight", "encoder.sentence_encoder.embed_tokens.weight"}) {
    std::vector<HandTensor> less = tensors;
    remove(less, lost);
    const Converted found = converted(torch_zip(less, tiny.settings()));
    CHECK(difference_but_names(tied, found) == "");
    CHECK(!found.report.notes.empty());
  }
  TinyFairseq headless = tiny;
  headless.masked_lm = false;
  CHECK(!converted(torch_zip(headless.tensors(), tiny.settings())).description().mlm.present());
}

TEST_CASE("the places of norms, the embedding's norm and quant_noise are read for every version of fairseq") {
  TinyFairseq tiny;
  tiny.final_norm = true;
  std::vector<HandTensor> tensors = tiny.tensors();
  const Converted pre = converted(torch_zip(tensors, tiny.settings()));
  CHECK(pre.description().encoder.norm_placement == NormPlacement::pre);
  CHECK(same_values(pre.values(pre.description().encoder.final_norm.scale),
                    named(tensors, tiny_encoder + "layer_norm.weight").values));
  HandSettings post = tiny.settings();
  post["encoder_normalize_before"] = false;
  CHECK(contains(conversion_error(torch_zip(tensors, post)), "encoder_normalize_before"));
  tiny.final_norm = false;
  HandSettings wrong = tiny.settings();
  wrong["encoder_normalize_before"] = true;
  CHECK(contains(conversion_error(torch_zip(tiny.tensors(), wrong)), "encoder_normalize_before"));

  std::vector<HandTensor> bare = tiny.tensors();
  remove(bare, tiny_encoder + "layernorm_embedding.weight");
  remove(bare, tiny_encoder + "layernorm_embedding.bias");
  CHECK(contains(conversion_error(torch_zip(bare, tiny.settings())), "layernorm_embedding.weight"));
  HandSettings without = tiny.settings();
  without["layernorm_embedding"] = false;
  CHECK(!converted(torch_zip(bare, without)).description().encoder.embedding.norm.present());

  std::vector<HandTensor> noise = tiny.tensors();
  noise.push_back(random_tensor(tiny_encoder + "quant_noise.weight", {8, 8}, 3));
  const Converted later = converted(torch_zip(noise, tiny.settings()));
  CHECK(same_values(later.values(later.description().encoder.embedding.transform.weight), noise.back().values));
  CHECK(later.description().encoder.embedding.transform.bias == absent);
  CHECK(!later.description().encoder.embedding.transform_before_norm);
  const Converted earlier =
      converted(torch_zip(renamed(noise, ".layernorm_embedding.", ".emb_layer_norm."), tiny.settings()));
  CHECK(earlier.description().encoder.embedding.transform_before_norm);
}

TEST_CASE("several heads are converted, fairseq's default name first, and a spectral norm is divided out") {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, "mnli", 8, 5, 3);
  add_head(tensors, "sentence_classification_head", 8, 8, 2);
  HandTensor& weight = named(tensors, "classification_heads.mnli.out_proj.weight");
  const std::vector<double> original = weight.values;
  weight.name += "_orig";
  tensors.push_back(random_tensor("classification_heads.mnli.out_proj.weight_u", {3}, 11));
  const std::vector<double> u = tensors.back().values;
  tensors.push_back(random_tensor("classification_heads.mnli.out_proj.weight_v", {5}, 12));
  const std::vector<double> v = tensors.back().values;
  HandSettings settings = tiny.settings();
  settings["pooler_activation_fn"] = std::string("relu");
  const Converted model = converted(torch_zip(tensors, settings));
  const Array<ClassificationHead>& heads = model.description().heads;
  REQUIRE(heads.size() == 2);
  CHECK(heads[0].name == "sentence_classification_head");
  CHECK(heads[1].name == "mnli");
  for (const ClassificationHead& head : heads) {
    CHECK(head.activation == Activation::relu);
    CHECK(head.pooling == Pooling::first_token);
    CHECK(head.labels.empty());
  }
  CHECK(same_values(model.values(heads[0].output.weight),
                    named(tensors, "classification_heads.sentence_classification_head.out_proj.weight").values));
  double sigma = 0;
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 5; ++column) sigma += u[row] * original[row * 5 + column] * v[column];
  }
  const std::vector<float> divided = model.values(heads[1].output.weight);
  for (size_t i = 0; i < original.size(); ++i) CHECK(divided[i] == doctest::Approx(original[i] / sigma).epsilon(1e-6));
}

TEST_CASE("f16, bf16 and f64 checkpoints keep their values") {
  TinyFairseq tiny;
  for (const DataType type : {DataType::f16, DataType::bf16, DataType::f64}) {
    std::vector<HandTensor> tensors = tiny.tensors();
    for (HandTensor& tensor : tensors) {
      tensor.type = type;
      for (double& value : tensor.values) value = std::round(value * 8) / 8;  // exact in every type
    }
    check_all_values(converted(torch_zip(tensors, tiny.settings())), tensors);
  }
}

TEST_CASE("settings: the user's take precedence, and activations have fairseq's names") {
  TinyFairseq tiny;
  const std::string file = torch_zip(tiny.tensors(), tiny.settings());
  CHECK(converted(file, R"({"encoder_attention_heads": 4})").description().encoder.layers[0].attention.heads == 4);
  const std::pair<const char*, Activation> names[] = {
      {"gelu", Activation::gelu},           {"gelu_accurate", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh}, {"relu", Activation::relu},
      {"tanh", Activation::tanh},           {"linear", Activation::none}};
  for (const auto& [name, activation] : names) {
    const Converted model = converted(file, std::string(R"({"activation_fn": ")") + name + "\"}");
    CHECK(model.description().encoder.layers[1].activation == activation);
    CHECK(model.description().mlm.activation == activation);
  }
  const Converted assumed = converted(torch_zip(tiny.tensors(), {{"encoder_attention_heads", int64_t{2}}}));
  CHECK(assumed.description().encoder.layers[0].activation == Activation::gelu);
  CHECK(contains(assumed.report.notes.at(0), "activation_fn"));
}

}  // namespace linformer_test::fairseq_test
