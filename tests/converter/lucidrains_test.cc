// Tests the lucidrains dialect: each role's values, every layout of the package, settings, refusals and the goldens.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::lucidrains_test {

using namespace linformer;
using nlohmann::json;

namespace {

constexpr const char* two_heads = R"({"heads": 2})";

struct Tiny {
  int64_t d = 8, width = 8, keys = 8, vocabulary = 10, n = 6, k = 2, ffn = 12, layers = 2;
  std::string layout = "layers";  // or blocks, pairs
  bool model = true, share_kv = false, output = true, sequence = false, glu = false;

  std::pair<std::string, std::string> names(int64_t layer) const {
    const std::string net = model ? "linformer.net." : "net.", i = std::to_string(layer);
    if (layout == "layers") return {net + "layers." + i + ".0.", net + "layers." + i + ".1."};
    if (layout == "blocks") return {net + "blocks." + i + ".f.net.", net + "blocks." + i + ".g.net."};
    return {net + std::to_string(2 * layer) + ".fn.", net + std::to_string(2 * layer + 1) + ".fn."};
  }

  void add_attention(const std::string& prefix, std::vector<HandTensor>* made) const {
    const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
      made->push_back(random_tensor(prefix + name, shape, 1));
    };
    add("proj_k", {n, k});
    add("to_q.weight", {width, d});
    add("to_k.weight", {keys, d});
    if (!share_kv) {
      add("proj_v", {n, k});
      add("to_v.weight", {keys, d});
    }
    if (!output) return;
    add("to_out.weight", {d, width});
    add("to_out.bias", {d});
  }

  std::vector<HandTensor> tensors() const {
    std::vector<HandTensor> made;
    const auto add_weight_bias = [&](const std::string& name, const std::vector<int64_t>& shape) {
      made.push_back(random_tensor(name + ".weight", shape, 1));
      made.push_back(random_tensor(name + ".bias", {shape[0]}, 1));
    };
    if (model) {
      made.push_back(random_tensor("token_emb.weight", {vocabulary, d}, 1));
      made.push_back(random_tensor("pos_emb.weight", {n, d}, 1));
      add_weight_bias("to_logits", {vocabulary, d});
    }
    for (int64_t i = 0; i < layers; ++i) {
      const auto [attention, feed_forward] = names(i);
      add_weight_bias(attention + "norm", {d});
      add_attention(attention + "fn.", &made);
      add_weight_bias(feed_forward + "norm", {d});
      add_weight_bias(feed_forward + (sequence ? "fn.net.0" : "fn.w1"), {glu ? 2 * ffn : ffn, d});
      add_weight_bias(feed_forward + (sequence ? "fn.net.2" : "fn.w2"), {d, ffn});
    }
    return made;
  }
};

// Returns the values of a [rows, columns] tensor as [columns, rows].
std::vector<float> transposed(const HandTensor& tensor) {
  const auto rows = static_cast<size_t>(tensor.shape[0]), columns = static_cast<size_t>(tensor.shape[1]);
  std::vector<float> made;
  for (size_t column = 0; column < columns; ++column) {
    for (size_t row = 0; row < rows; ++row) made.push_back(static_cast<float>(tensor.values[row * columns + column]));
  }
  return made;
}

void check_values(const Converted& model, const Tiny& tiny) {
  std::vector<HandTensor> tensors = tiny.tensors();
  const ModelDescription& description = model.description();
  const EncoderDescription& encoder = description.encoder;
  const auto check = [&](TensorIndex index, const std::string& name) {
    check_values(model, index, named(tensors, name));
  };
  const auto check_pair = [&](TensorIndex weight, TensorIndex bias, const std::string& name) {
    check(weight, name + ".weight");
    check(bias, name + ".bias");
  };
  if (tiny.model) {
    check(encoder.embedding.tokens, "token_emb.weight");
    check(encoder.embedding.positions, "pos_emb.weight");
    check_pair(description.mlm.output.weight, description.mlm.output.bias, "to_logits");
  }
  REQUIRE(encoder.layers.size() == static_cast<size_t>(tiny.layers));
  for (int64_t i = 0; i < tiny.layers; ++i) {
    const auto [names, feed_forward] = tiny.names(i);
    const LayerDescription& layer = encoder.layers[static_cast<size_t>(i)];
    const AttentionDescription& attention = layer.attention;
    check(attention.query.weight, names + "fn.to_q.weight");
    check(attention.key.weight, names + "fn.to_k.weight");
    CHECK(attention.query.bias == absent);
    CHECK(attention.key.bias == absent);
    CHECK(attention.value_is_key == tiny.share_kv);
    if (!tiny.share_kv) {
      check(attention.value.weight, names + "fn.to_v.weight");
      CHECK(attention.value.bias == absent);
      CHECK(model.values(encoder.projections[attention.value_projections[0]].weight) ==
            transposed(named(tensors, names + "fn.proj_v")));
    }
    CHECK(model.values(encoder.projections[attention.key_projections[0]].weight) ==
          transposed(named(tensors, names + "fn.proj_k")));
    CHECK(attention.output.present() == tiny.output);
    if (tiny.output) check_pair(attention.output.weight, attention.output.bias, names + "fn.to_out");
    check_pair(layer.attention_norm.scale, layer.attention_norm.bias, names + "norm");
    check_pair(layer.ffn_norm.scale, layer.ffn_norm.bias, feed_forward + "norm");
    check_pair(layer.ffn_in.weight, layer.ffn_in.bias, feed_forward + (tiny.sequence ? "fn.net.0" : "fn.w1"));
    check_pair(layer.ffn_out.weight, layer.ffn_out.bias, feed_forward + (tiny.sequence ? "fn.net.2" : "fn.w2"));
    CHECK(layer.activation == (tiny.sequence ? Activation::leaky_relu : Activation::gelu));
    CHECK(layer.gated == tiny.glu);
    CHECK(layer.attention.key_source == KeySource::own);
    CHECK(layer.attention.row_mask == RowMask::none);
  }
  CHECK(model.report.mapped.size() == tensors.size());
  CHECK(model.report.left_out.empty());
}

}  // namespace

TEST_CASE("lucidrains: each role of a language model gets its tensor's values, and the fixed settings are right") {
  const Tiny tiny;
  const Converted model = converted(safetensors(tiny.tensors()), two_heads);
  check_values(model, tiny);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(model.description().dialect == "lucidrains");
  CHECK(encoder.d_model == 8);
  CHECK(encoder.max_tokens == 6);
  CHECK(encoder.vocab_size == 10);
  CHECK(encoder.pad_id == -1);
  CHECK(encoder.norm_placement == NormPlacement::pre);
  CHECK(encoder.residual == ResidualKind::standard);
  CHECK(!encoder.final_norm.present());
  CHECK(encoder.embedding.position_kind == PositionKind::learned);
  CHECK(encoder.embedding.position_offset == 0);
  CHECK(!encoder.embedding.norm.present());
  CHECK(!model.description().mlm.dense.present());
  REQUIRE(encoder.projections.size() == 4);
  for (const Projection& projection : encoder.projections) {
    CHECK(projection.order == ProjectionOrder::after_linear);
    CHECK(projection.k == 2);
  }
  for (const LayerDescription& layer : encoder.layers) {
    CHECK(layer.attention.heads == 2);
    CHECK(layer.attention.kv_heads == 2);
    CHECK(layer.attention.head_dim == 4);
    CHECK(layer.attention.scale == 0.5f);
    CHECK(layer.attention_norm.epsilon == 1e-5f);
  }
}

TEST_CASE("lucidrains: every layout, shape and option is converted") {
  Tiny reversible, pairs, oldest, bare, narrow, shared, wide, gated, gated_reversible;
  reversible.layout = "blocks";
  pairs.layout = "pairs";
  pairs.sequence = true;
  oldest = pairs;
  oldest.output = false;
  bare.model = false;
  narrow.keys = 4;  // one_kv_head
  shared.share_kv = true;
  wide.width = wide.keys = 12;  // heads x dim_head
  gated.glu = true;
  gated_reversible = reversible;
  gated_reversible.glu = true;
  const std::pair<const char*, Tiny*> cases[] = {{"reversible", &reversible},
                                                 {"pairs", &pairs},
                                                 {"oldest", &oldest},
                                                 {"bare", &bare},
                                                 {"narrow", &narrow},
                                                 {"shared", &shared},
                                                 {"wide", &wide},
                                                 {"gated", &gated},
                                                 {"gated reversible", &gated_reversible}};
  for (const auto& [name, tiny] : cases) {
    const auto& what = name;
    CAPTURE(what);
    const Converted model = converted(torch_zip(tiny->tensors()), tiny == &narrow ? "" : two_heads);
    check_values(model, *tiny);
    const EncoderDescription& encoder = model.description().encoder;
    const AttentionDescription& attention = encoder.layers[0].attention;
    CHECK((encoder.residual == ResidualKind::reversible) == (tiny->layout == "blocks"));
    CHECK(attention.heads == 2);
    CHECK(attention.kv_heads == (tiny == &narrow ? 1 : 2));
    CHECK(attention.head_dim == static_cast<uint32_t>(tiny->width) / 2);
    CHECK(encoder.embedding.vectors.width == (tiny == &bare ? 8 : 0));
    CHECK((encoder.vocab_size == 0) == (tiny == &bare));
    CHECK(model.description().mlm.present() == (tiny != &bare));
  }
}

TEST_CASE("lucidrains: gated layers may stand beside others, and have the activation of the settings") {
  Tiny plain, gated;
  gated.glu = true;
  std::vector<HandTensor> mixed = plain.tensors(), other = gated.tensors();
  for (const char* part : {".weight", ".bias"}) {
    const std::string name = std::string("linformer.net.layers.1.1.fn.w1") + part;
    named(mixed, name) = named(other, name);
  }
  const Converted model = converted(safetensors(mixed), R"({"heads": 2, "activation": "relu"})");
  const Array<LayerDescription>& layers = model.description().encoder.layers;
  CHECK(!layers[0].gated);
  CHECK(layers[1].gated);
  for (const LayerDescription& layer : layers) CHECK(layer.activation == Activation::relu);
  CHECK(fact(model.report, "activation") == "relu");
  const Converted swiglu = converted(safetensors(mixed), R"({"heads": 2, "activation": "silu"})");
  CHECK(swiglu.model->description().encoder.layers[0].activation == Activation::silu);
  CHECK(contains(conversion_error(safetensors(mixed), R"({"heads": 2, "glu": true})"), "layers.0.1.fn.w1.weight"));
  CHECK(contains(conversion_error(safetensors(mixed), R"({"heads": 2, "glu": false})"), "layers.1.1.fn.w1.weight"));
  CHECK(fact(model.report, "gated (glu)") == "1 of 2 layers");
  Tiny old = gated;
  old.layout = "pairs";
  old.sequence = true;
  CHECK(contains(conversion_error(safetensors(old.tensors()), two_heads), "fn.net.0.weight"));
}

TEST_CASE("lucidrains: an attention on its own reads vectors, and encoder states if they are given") {
  Tiny tiny;
  std::vector<HandTensor> tensors;
  tiny.add_attention("", &tensors);
  const Converted model = converted(torch_legacy(tensors), two_heads);
  const EncoderDescription& encoder = model.description().encoder;
  CHECK(encoder.residual == ResidualKind::none);
  CHECK(encoder.encoder_states_width == 8);
  CHECK(encoder.embedding.vectors.width == 8);
  CHECK(encoder.embedding.position_kind == PositionKind::none);
  REQUIRE(encoder.layers.size() == 1);
  CHECK(encoder.layers[0].attention.key_source == KeySource::encoder_states_or_own);
  CHECK(!encoder.layers[0].attention_norm.present());
  CHECK(!encoder.layers[0].ffn_in.present());
  CHECK(model.values(encoder.projections[encoder.layers[0].attention.value_projections[0]].weight) ==
        transposed(named(tensors, "proj_v")));
  CHECK(model.report.mapped.size() == tensors.size());
}

TEST_CASE("lucidrains: wrappers, formats and settings in the file give the same model") {
  const Tiny tiny;
  const std::vector<HandTensor> tensors = tiny.tensors();
  const Converted base = converted(safetensors(tensors), two_heads);
  const auto equals = [&](const Converted& other) {
    const std::span<const std::byte> a = base.file, b = other.file;
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  const HandSettings settings{{"heads", int64_t{2}}, {"seq_len", int64_t{6}}, {"dim", int64_t{8}}};
  CHECK(equals(converted(torch_zip(tensors), two_heads)));
  CHECK(equals(converted(torch_legacy(tensors), two_heads)));
  CHECK(fact(converted(torch_zip(tensors, settings)).report, "heads") == "2");
  std::vector<HandTensor> parallel = tensors;
  for (HandTensor& tensor : parallel) tensor.name = "module." + tensor.name;
  const Converted wrapped = converted(torch_zip(parallel), two_heads);
  CHECK(wrapped.report.mapped.size() == tensors.size());
  CHECK(wrapped.description().encoder.projections.size() == 4);
  const Converted padded = converted(safetensors(tensors), R"({"heads": 2, "pad_id": 3})");
  CHECK(padded.description().encoder.pad_id == 3);
}

TEST_CASE("lucidrains: refusals say what is wrong") {
  using Tensors = std::vector<HandTensor>;
  struct Case {
    const char* what;
    std::function<void(Tensors&)> change;
    std::string config;
    std::vector<std::string> parts;
  };
  const auto none = [](Tensors&) {};
  const std::string first = "linformer.net.layers.0.", second = "linformer.net.layers.1.";
  const Case cases[] = {
      {"no heads", none, "", {"attention heads (together 8 wide)", "config '{\"heads\": NUMBER}'", "default is 8"}},
      {"heads 3", none, R"({"heads": 3})", {"heads is 3", "does not divide the width 8"}},
      {"heads 0", none, R"({"heads": 0})", {"heads is 0"}},
      {"dim_head", none, R"({"heads": 2, "dim_head": 8})", {"dim_head is 8", "4 channels in each head"}},
      {"depth", none, R"({"heads": 2, "depth": 3})", {"depth is 3", "2 layers"}},
      {"k", none, R"({"heads": 2, "k": 3})", {"k is 3", "2 compressed positions"}},
      {"seq_len", none, R"({"heads": 2, "seq_len": 7})", {"seq_len is 7", "6 positions"}},
      {"pad", none, R"({"heads": 2, "pad_id": 10})", {"pad_id is 10", "0 to 9"}},
      {"unknown",
       [](Tensors& t) { t.push_back(random_tensor("norm.weight", {8}, 1)); },
       two_heads,
       {"norm.weight", "not part of a model of the linformer package"}},
      {"no logits", [](Tensors& t) { remove(t, "to_logits.weight"); }, two_heads, {"to_logits.weight", "missing"}},
      {"no value", [&](Tensors& t) { remove(t, first + "0.fn.to_v.weight"); }, two_heads, {"to_v.weight", "missing"}},
      {"no proj_v", [&](Tensors& t) { remove(t, second + "0.fn.proj_v"); }, two_heads, {"proj_v", "missing"}},
      {"gap", [](Tensors& t) { t = renamed(t, "layers.1.", "layers.2."); }, two_heads, {"layer 1 of 3"}},
      {"positions",
       [](Tensors& t) {
         named(t, "pos_emb.weight") = random_tensor("pos_emb.weight", {5, 8}, 1);
       },
       two_heads,
       {"pos_emb.weight", "6 (seq_len)"}},
      {"keys",
       [&](Tensors& t) {
         named(t, first + "0.fn.to_k.weight") = random_tensor(first + "0.fn.to_k.weight", {3, 8}, 1);
       },
       two_heads,
       {"to_k.weight", "[3, 8]", "as one of at most"}},
      {"other k",
       [&](Tensors& t) {
         named(t, second + "0.fn.proj_v") = random_tensor(second + "0.fn.proj_v", {6, 3}, 1);
       },
       two_heads,
       {"layer 1 compresses keys to 2 positions and values to 3"}},
      {"shorter projection",
       [&](Tensors& t) {
         named(t, second + "0.fn.proj_k") = random_tensor(second + "0.fn.proj_k", {5, 2}, 1);
       },
       two_heads,
       {"proj_k", "6 (N)"}},
      {"w1 and w2",
       [&](Tensors& t) {
         named(t, first + "1.fn.w1.weight") = random_tensor(first + "1.fn.w1.weight", {20, 8}, 1);
       },
       two_heads,
       {"w1.weight", "[20, 8]", "gives 20 channels", "w2.weight", "takes 12", "glu"}},
      {"bias of glu",
       [&](Tensors& t) {
         named(t, first + "1.fn.w1.weight") = random_tensor(first + "1.fn.w1.weight", {24, 8}, 1);
       },
       two_heads,
       {"w1.bias", "[12]", "24 (twice the ffn width)"}},
      {"no glu", none, R"({"heads": 2, "glu": true})", {"glu is true", "w1.weight", "just the channels", "w2.weight"}},
      {"activation", none, R"({"heads": 2, "activation": "mish"})", {"activation is \"mish\"", "gelu, relu"}},
  };
  int refused = 0;
  for (const Case& c : cases) {
    CAPTURE(c.what);
    Tensors tensors = Tiny().tensors();
    c.change(tensors);
    const std::string error = conversion_error(safetensors(tensors), c.config);
    CAPTURE(error);
    check_sentence(error, c.parts);
    ++refused;
  }
  Tiny odd;
  odd.layout = "pairs";
  odd.sequence = true;
  Tensors half = odd.tensors();
  std::erase_if(half, [](const HandTensor& tensor) { return tensor.name.starts_with("linformer.net.3."); });
  CHECK(contains(conversion_error(safetensors(half), two_heads), "no feed-forward network after it"));
  odd.output = false;
  odd.width = odd.keys = 12;
  CHECK(contains(conversion_error(safetensors(odd.tensors()), two_heads), "to_out.weight"));
  std::printf("%d refusals\n", refused + 2);
}

namespace {

int check_goldens(const std::string& golden) {
  int files = 0;
  for (const std::string name : {"attention", "lm", "lm_ddp_prefix", "lm_dim_head", "lm_fp16", "lm_one_kv_head",
                                 "lm_reversible", "lm_share_kv", "v0_1_0_lm"}) {
    files += check_golden_case(golden + "/lucidrains/" + name, [](const GoldenFile& file) {
      const json& config = file.meta["config"];
      if (!config.value("one_kv_head", false)) CHECK(contains(conversion_error(file.bytes), "{\"heads\": "));
      Converted model = converted(file.bytes, config.dump());
      const EncoderDescription& encoder = model.description().encoder;
      CHECK(model.report.dialect == "lucidrains");
      CHECK(encoder.d_model == config["dim"]);
      CHECK(encoder.max_tokens == config["seq_len"]);
      CHECK(encoder.vocab_size == config.value("num_tokens", 0u));
      CHECK(encoder.layers.size() == config.value("depth", 1u));
      CHECK((encoder.residual == ResidualKind::reversible) == config.value("reversible", false));
      const AttentionDescription& attention = encoder.layers[0].attention;
      CHECK(attention.heads == config["heads"]);
      CHECK((attention.kv_heads == 1) == config.value("one_kv_head", false));
      CHECK(attention.value_is_key == config.value("share_kv", false));
      CHECK(attention.head_dim == config.value("dim_head", encoder.d_model / attention.heads));
      CHECK(encoder.projections[0].k == config["k"]);
      CHECK(model.report.mapped.size() == file.meta["state_dict"].size());
      CHECK(model.report.left_out.empty());
      return model;
    });
  }
  std::printf("%d lucidrains golden files converted\n", files);
  return files;
}

}  // namespace

TEST_CASE("lucidrains: the goldens in the tree are recognised and described rightly") {
  CHECK(check_goldens(golden_cases_folder()) == 4);
}

TEST_CASE("lucidrains: all goldens are recognised and described rightly" * doctest::test_suite("shared")) {
  if (const std::optional<std::string> golden = shared_path("golden")) CHECK(check_goldens(*golden) >= 12);
}

}  // namespace linformer_test::lucidrains_test
