// The fairseq dialect on small checkpoints made by hand: eras, renames, sharing, settings, and what it refuses.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "converter/conversion.h"
#include "converter/tiny_fairseq.h"
#include "format/same_description.h"

using namespace linformer;
using namespace linformer_test;

namespace {

const std::string layer0 = tiny_encoder + "layers.0.", layer1 = tiny_encoder + "layers.1.";

// The first field in which two models differ apart from the names of their tensors.
std::string difference_but_names(const Converted& a, const Converted& b) {
  ModelDescription first = a.description(), second = b.description();
  for (TensorDescription& tensor : first.tensors) tensor.name.clear();
  for (TensorDescription& tensor : second.tensors) tensor.name.clear();
  return difference(first, second);
}

std::vector<HandTensor> renamed(std::vector<HandTensor> tensors, const std::string& from, const std::string& to) {
  for (HandTensor& tensor : tensors) {
    const size_t place = tensor.name.find(from);
    if (place != tensor.name.npos) tensor.name.replace(place, from.size(), to);
  }
  return tensors;
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

TEST_CASE("each role gets the values of its tensor, and the facts of the dialect") {
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
  CHECK(model.description().mlm.output.weight == encoder.embedding.tokens);  // tied by value
  CHECK(model.report.mapped.size() == tensors.size());
  CHECK(model.report.left_out.empty());
}

TEST_CASE("every file format and both places of settings give one model, byte for byte") {
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
  const std::string config = R"({"encoder_attention_heads": 2, "activation_fn": "gelu"})";
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

TEST_CASE("all sharing modes and fallbacks name the projections rightly") {
  TinyFairseq tiny;
  const auto projections_of = [](const Converted& model) {
    std::vector<uint32_t> list;
    for (const LayerDescription& layer : model.description().encoder.layers) {
      list.push_back(layer.attention.key_projections.at(0));
      list.push_back(layer.attention.value_projections.at(0));
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

  // Shared by value only, as after a move between devices.
  std::vector<HandTensor> equal = own;
  for (const std::string& name : {layer0 + "self_attn.compress_v.weight", layer1 + "self_attn.compress_k.weight",
                                  layer1 + "self_attn.compress_v.weight"}) {
    named(equal, name).values = named(equal, layer0 + "self_attn.compress_k.weight").values;
  }
  CHECK(projections_of(converted(torch_zip(equal, tiny.settings()))) == List{0, 0, 0, 0});

  // One shared layer, kept under its own name alone; then with the layers' copies of 2020; the layers' own go first.
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
  CHECK(lists(copies.report.left_out, layer1 + "shared_compress_layer.bias"));

  std::vector<HandTensor> junk = own;
  junk.push_back(random_tensor(tiny_encoder + "compress_layer.weight", {2, 6}, 5));
  junk.push_back(random_tensor(tiny_encoder + "compress_layer.bias", {2}, 5));
  junk.push_back(random_tensor(layer0 + "shared_compress_layer.weight", {2, 6}, 5));
  junk.push_back(random_tensor(layer0 + "self_attn.compress_k.bias", {2}, 5));
  junk.push_back({"encoder.version", {}, {3}, DataType::i64});
  junk.push_back({layer0 + "version", {}, {1}, DataType::i64});
  const Converted with_junk = converted(torch_zip(junk, tiny.settings()));
  CHECK(difference_but_names(converted(torch_zip(own, tiny.settings())), with_junk) == "");
  for (size_t i = own.size(); i < junk.size(); ++i) CHECK(lists(with_junk.report.left_out, junk[i].name));
}

TEST_CASE("the output is tied or not by its values, and lost aliases are found again") {
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

TEST_CASE("norms before or after, with and without the embedding's, and quant_noise by era") {
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

TEST_CASE("several heads, fairseq's default name first; spectral norm is divided out") {
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
  const std::vector<ClassificationHead>& heads = model.description().heads;
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

TEST_CASE("settings: the user's come first, and activations are fairseq's") {
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

TEST_CASE("what can't be known or does not fit together is refused with a sentence that says why") {
  struct Case {
    const char* what;
    std::function<void(std::vector<HandTensor>&, HandSettings&)> change;
    std::vector<std::string> parts;  // of the sentence
  };
  const auto tensor = [](auto change) {
    return [change](std::vector<HandTensor>& tensors, HandSettings&) { change(tensors); };
  };
  const auto setting = [](const char* name, Setting value) {
    return [name, value](std::vector<HandTensor>&, HandSettings& settings) { settings[name] = value; };
  };
  using Tensors = std::vector<HandTensor>;
  const Case cases[] = {
      {"no heads",
       [](Tensors&, HandSettings& s) { s.erase("encoder_attention_heads"); },
       {"--config", "{\"encoder_attention_heads\": "}},
      {"heads 0", setting("encoder_attention_heads", int64_t{0}), {"encoder_attention_heads", "does not divide"}},
      {"heads 3", setting("encoder_attention_heads", int64_t{3}), {"does not divide d_model 8"}},
      {"heads as text",
       setting("encoder_attention_heads", std::string("2")),
       {"encoder_attention_heads", "whole number"}},
      {"activation", setting("activation_fn", std::string("swish")), {"activation_fn", "swish", "gelu_accurate"}},
      {"shared kv 2", setting("shared_kv_compressed", int64_t{2}), {"shared_kv_compressed is 2"}},
      {"kv said shared", setting("shared_kv_compressed", int64_t{1}), {"compress_v", "differs"}},
      {"layers", setting("encoder_layers", int64_t{5}), {"encoder_layers is 5", "2 layers"}},
      {"width", setting("encoder_embed_dim", int64_t{16}), {"encoder_embed_dim"}},
      {"ffn", setting("encoder_ffn_embed_dim", int64_t{16}), {"encoder_ffn_embed_dim is 16", "12"}},
      {"positions", setting("max_positions", int64_t{512}), {"max_positions is 512", "6 positions"}},
      {"ratio", setting("compressed", int64_t{4}), {"compressed is 4", "6 positions to 2"}},
      {"sinusoidal", setting("encoder_learned_pos", false), {"encoder_learned_pos"}},
      {"no positions", setting("no_token_positional_embeddings", true), {"no_token_positional_embeddings"}},
      {"scaled", setting("no_scale_embedding", false), {"no_scale_embedding"}},
      {"pruned", setting("encoder_layers_to_keep", std::string("0")), {"encoder_layers_to_keep"}},
      {"unknown tensor",
       tensor([](Tensors& t) { t.push_back(random_tensor(layer0 + "adapter.weight", {2}, 1)); }),
       {"layers.0.adapter.weight", "not part of a fairseq Linformer"}},
      {"unknown top",
       tensor([](Tensors& t) { t.push_back(random_tensor("criterion.weight", {2}, 1)); }),
       {"criterion.weight", "not part of"}},
      {"missing weight",
       tensor([](Tensors& t) { remove(t, layer1 + "fc2.weight"); }),
       {"layers.1.fc2.weight", "missing"}},
      {"missing bias",
       tensor([](Tensors& t) { remove(t, layer1 + "self_attn.v_proj.bias"); }),
       {"v_proj.bias", "missing"}},
      {"missing value",
       tensor([](Tensors& t) { remove(t, layer1 + "self_attn.compress_v.weight"); }),
       {"compress_v.weight", "shared_kv_compressed is 0"}},
      {"no positions table",
       tensor([](Tensors& t) { remove(t, tiny_encoder + "embed_positions.weight"); }),
       {"embed_positions.weight", "missing"}},
      {"positions rows",
       tensor([](Tensors& t) {
         HandTensor& table = named(t, tiny_encoder + "embed_positions.weight");
         table = random_tensor(table.name, {6, 8}, 1);
       }),
       {"embed_positions", "[6, 8] f32", "8 (N + 2)"}},
      {"a layer skipped", tensor([](Tensors& t) { t = renamed(t, "layers.1.", "layers.2."); }), {"layer 1 of 3"}},
      {"layer number", tensor([](Tensors& t) { t = renamed(t, "layers.1.", "layers.99999999999."); }), {"99999999999"}},
      {"wrong shape",
       tensor([](Tensors& t) {
         HandTensor& bias = named(t, layer0 + "fc1.bias");
         bias = random_tensor(bias.name, {11}, 1);
       }),
       {"fc1.bias", "[11] f32", "12 (ffn width)"}},
      {"other N",
       tensor([](Tensors& t) {
         HandTensor& projection = named(t, layer1 + "self_attn.compress_v.weight");
         projection = random_tensor(projection.name, {2, 7}, 1);
       }),
       {"compress_v", "[2, 7]", "6 (N)"}},
      {"other k",
       tensor([](Tensors& t) {
         HandTensor& projection = named(t, layer1 + "self_attn.compress_v.weight");
         projection = random_tensor(projection.name, {3, 6}, 1);
       }),
       {"layer 1", "keys to 2", "values to 3"}},
      {"integers",
       tensor([](Tensors& t) { named(t, layer0 + "fc1.bias").type = DataType::i64; }),
       {"fc1.bias", "floating point"}},
      {"NaN",
       tensor([](Tensors& t) { named(t, layer0 + "fc2.weight").values[5] = std::nan(""); }),
       {"fc2.weight", "nan at element 5"}},
      {"infinity",
       tensor([](Tensors& t) { named(t, layer1 + "fc1.bias").values[0] = HUGE_VAL; }),
       {"fc1.bias", "inf at element 0"}},
      {"f64 overflow",
       tensor([](Tensors& t) {
         HandTensor& bias = named(t, layer1 + "fc1.bias");
         bias.type = DataType::f64;
         bias.values[2] = 1e200;
       }),
       {"fc1.bias", "element 2", "too large for f32"}},
      {"both names",
       tensor([](Tensors& t) { t.push_back(random_tensor(tiny_encoder + "emb_layer_norm.weight", {8}, 1)); }),
       {"emb_layer_norm", "layernorm_embedding", "both"}},
      {"half a head",
       tensor([](Tensors& t) {
         add_head(t, "mnli", 8, 8, 2);
         remove(t, "classification_heads.mnli.out_proj.bias");
       }),
       {"classification_heads.mnli.out_proj.bias", "missing"}},
      {"singular spectral norm",
       tensor([](Tensors& t) {
         add_head(t, "mnli", 8, 8, 2);
         named(t, "classification_heads.mnli.out_proj.weight").name += "_orig";
         t.push_back({"classification_heads.mnli.out_proj.weight_u", {2}, {0, 0}, DataType::f32});
         t.push_back({"classification_heads.mnli.out_proj.weight_v", {8}, {1, 1, 1, 1, 1, 1, 1, 1}, DataType::f32});
       }),
       {"weight_orig", "spectral norm of 0"}},
      {"full attention",
       tensor([](Tensors& t) { std::erase_if(t, [](const HandTensor& x) { return contains(x.name, "compress"); }); }),
       {"no supported implementation", "full attention"}},
      {"another model",
       tensor([](Tensors& t) {
         t = {random_tensor("linformer.net.layers.0.0.fn.to_q.weight", {2, 2}, 1)};
       }),
       {"no supported implementation", "linformer.net.layers.0.0.fn.to_q.weight", "fairseq"}},
  };
  int refused = 0;
  for (const Case& c : cases) {
    CAPTURE(c.what);
    TinyFairseq tiny;
    std::vector<HandTensor> tensors = tiny.tensors();
    HandSettings settings = tiny.settings();
    c.change(tensors, settings);
    const std::string error = conversion_error(torch_zip(tensors, settings));
    for (const std::string& part : c.parts) {
      CAPTURE(part);
      CAPTURE(error);
      CHECK(contains(error, part));
    }
    ++refused;
  }
  std::printf("%d refusals\n", refused);
}
