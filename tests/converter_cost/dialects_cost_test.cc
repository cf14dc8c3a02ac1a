// Tests the cost of dialects for many tensors. The work is in proportion to their number, and each tensor is read a few
// times at most.
#include <nlohmann/json.hpp>

#include "converter/conversion.h"
#include "converter/dialects/tensor_table.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_tatp22.h"
#include "converter_cost/cost.h"

namespace linformer_test::dialects_cost_test {

using namespace linformer::convert;

namespace {

struct Cost {
  uint64_t tensors, tensor_bytes, file_bytes, steps, read;
};

Cost cost_of(const char* what, const std::vector<HandTensor>& tensors, const std::string& config) {
  const std::string file = safetensors(tensors);
  Cost cost{tensors.size(), 0, file.size(), 0, 0};
  for (const HandTensor& tensor : tensors) cost.tensor_bytes += 4 * tensor.values.size();
  ValueStore store;
  Settings settings;
  settings.add_user_settings(parse_json(store, config, "config"), "config");
  const std::string error = error_within_budget(what, file.size(), [&] {
    Checkpoint checkpoint = Checkpoint::open(as_bytes(file), "memory");
    Report report;
    linformer::writer::ModelBuilder builder;
    build_model(checkpoint, settings, &builder, &report, {});
    cost.steps = checkpoint.budget().charged_steps();
    cost.read = checkpoint.budget().charged_reads();
  });
  CHECK(error == "");
  std::printf("%44s %10llu tensors: %6.1f steps for each, bytes read %.1f times\n", "",
              static_cast<unsigned long long>(cost.tensors), double(cost.steps) / double(cost.tensors),
              double(cost.read) / double(cost.tensor_bytes));
  return cost;
}

std::vector<HandTensor> many_heads(int64_t heads, int64_t depth) {
  TinyTatp22 tiny;
  tiny.d = tiny.head_dim = tiny.n = tiny.k = tiny.ffn = 1;
  tiny.heads = heads;
  tiny.depth = depth;
  tiny.sharing = "none";
  tiny.tokens = tiny.logits = false;
  return tiny.tensors();
}

}  // namespace

TEST_CASE("heads and layers of linformer-pytorch cost a fixed number of steps for each tensor") {
  const std::string config = R"({"activation": "gelu", "causal": false})";
  const Cost few = cost_of("8 layers of 20 heads", many_heads(20, 8), config);
  for (const auto& [heads, depth] : {std::pair<int64_t, int64_t>{20, 80}, {200, 8}, {200, 20}}) {
    const Cost more = cost_of("more of them", many_heads(heads, depth), config);
    CHECK(more.steps * few.tensors < 2 * few.steps * more.tensors);
    CHECK(more.steps < 64 * more.tensors);
  }
}

TEST_CASE("layers of fairseq cost a fixed number of steps for each tensor") {
  TinyFairseq tiny;
  tiny.d = 2;
  tiny.ffn = 1;
  tiny.layers = 10;
  const std::string config = R"({"encoder_attention_heads": 1})";
  const Cost few = cost_of("10 layers", tiny.tensors(), config);
  tiny.layers = 300;
  const Cost many = cost_of("300 layers", tiny.tensors(), config);
  CHECK(many.steps * few.tensors < 2 * few.steps * many.tensors);
}

TEST_CASE("a projection that all layers share is read once and not for each layer") {
  TinyFairseq tiny;
  tiny.d = 2;
  tiny.ffn = 1;
  tiny.layers = 40;
  tiny.k = 64;
  tiny.n = 512;
  tiny.value_projection = false;
  std::vector<HandTensor> tensors = tiny.tensors();
  std::erase_if(tensors, [](const HandTensor& tensor) { return contains(tensor.name, "compress_k"); });
  tensors.push_back(random_tensor(tiny_encoder + "compress_layer.weight", {tiny.k, tiny.n}, 3));
  const Cost cost = cost_of("a projection of 40 layers", tensors, R"({"encoder_attention_heads": 1})");
  CHECK(cost.read < 4 * cost.tensor_bytes);
}

TEST_CASE("a projection with more heads than a model may have is refused before any of them is read") {
  const std::vector<HandTensor> tensors = {
      random_tensor("transformer_0.mha.attn.E", {2000, 1, 1}, 1),
      random_tensor("transformer_0.mha.W_q.weight", {2000, 1}, 1),
      random_tensor("transformer_0.mlpblock.0.weight", {1, 1}, 1),
      random_tensor("embeddings.word_embeddings.weight", {4, 1}, 1),
  };
  CHECK(contains(conversion_error(safetensors(tensors)), "at most 1024 heads"));
}

TEST_CASE("patterns: a star matches anything without dots, and two stars at the end match anything") {
  const std::pair<const char*, const char*> fitting[] = {{"a", "a"},
                                                         {"a.b.c", "a.*.c"},
                                                         {"a..c", "a.*.c"},
                                                         {"a.b.c", "a.**"},
                                                         {"a.", "a.**"},
                                                         {"a.bxbx.c", "*.*x.c"},
                                                         {"ab.c", "a*b.c"},
                                                         {"aab", "a*ab"},
                                                         {"abcabc.d", "*abc.*"},
                                                         {"a.b", "*.*"},
                                                         {"", "*"},
                                                         {"", "**"},
                                                         {"xcompressy.z", "*compress*.**"},
                                                         {"compresscompress.w", "*compress*.*"}};
  for (const auto& pair : fitting) {
    const char *name = pair.first, *pattern = pair.second;
    CAPTURE(name);
    CAPTURE(pattern);
    CHECK(matches(name, pattern));
  }
  const std::pair<const char*, const char*> others[] = {{"a", "b"},
                                                        {"a", ""},
                                                        {"", "a"},
                                                        {"a.b.c", "a.*"},
                                                        {"a.b.c", "*c"},
                                                        {"ab", "a*bb"},
                                                        {"a", "a.**"},
                                                        {"a.x.c", "a.*.d"},
                                                        {"a.b.c", "*.*x.c"},
                                                        {"a.b", "*"},
                                                        {"x.compress.y", "*compress*.**"}};
  for (const auto& pair : others) {
    const char *name = pair.first, *pattern = pair.second;
    CAPTURE(name);
    CAPTURE(pattern);
    CHECK(!matches(name, pattern));
  }
}

}  // namespace linformer_test::dialects_cost_test
