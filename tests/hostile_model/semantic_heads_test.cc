#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/description.h"
#include "hostile_model/attack.h"

namespace linformer_test::semantic_heads_test {

using namespace linformer;

namespace {

// Gives head 0 a single output, whose weight takes the same number of bytes.
void make_score(ModelDescription& m) {
  ClassificationHead& head = m.heads[0];
  tensor(m, head.output.weight).shape = {1, 16};
  head.output.bias = absent;
  head.labels = {"relevance"};
  head.kind = HeadKind::score;
  head.score_activation = Activation::sigmoid;
}

}  // namespace

TEST_CASE("heads that contradict their tensors or themselves are refused") {
  const Attack attacks[] = {
      {"no heads", "", [](ModelDescription& m) { m.heads.clear(); }},
      {"nameless", "heads[1].name is empty", [](ModelDescription& m) { m.heads[1].name.clear(); }},
      {"same name", "heads[1].name is the name of head 0 too",
       [](ModelDescription& m) { m.heads[1].name = m.heads[0].name; }},
      {"name with a line end", "not printable", [](ModelDescription& m) { m.heads[1].name = std::string("a\nb"); }},
      {"pooling", "head pooling is 7", [](ModelDescription& m) { m.heads[0].pooling = Pooling{7}; }},
      {"activation", "head activation is 200", [](ModelDescription& m) { m.heads[0].activation = Activation{200}; }},
      {"no output", "output.weight is missing", [](ModelDescription& m) { m.heads[0].output = {}; }},
      {"output's width", "output.weight needs shape [any, 16]",
       [](ModelDescription& m) { m.heads[0].output = m.encoder.layers[0].ffn_out; }},
      {"dense's width", "dense.weight needs shape [any, 16]",
       [](ModelDescription& m) { m.heads[0].dense = m.encoder.layers[0].ffn_out; }},
      {"bias of no dense", "dense has weight -1", [](ModelDescription& m) { m.heads[1].dense.bias = 0; }},
      {"a label too few", "labels has 1 entries for 2 classes",
       [](ModelDescription& m) { m.heads[0].labels.pop_back(); }},
      {"a label too many", "labels has 3 entries for 2 classes",
       [](ModelDescription& m) { m.heads[0].labels.push_back("x"); }},
      {"kind", "head kind is 4", [](ModelDescription& m) { m.heads[0].kind = HeadKind{4}; }},
      {"softmax over one class", "kind is single_label, but there is one output",
       [](ModelDescription& m) {
         make_score(m);
         m.heads[0].kind = HeadKind::single_label;
         m.heads[0].score_activation = Activation::none;
       }},
      {"a score of two outputs", "kind is score, which has one output, but there are 2",
       [](ModelDescription& m) { m.heads[0].kind = HeadKind::score; }},
      {"a score", "", make_score},
      {"an activation of no score", "score_activation is set, but",
       [](ModelDescription& m) { m.heads[0].score_activation = Activation::sigmoid; }},
      {"a score's activation", "head score_activation is 99",
       [](ModelDescription& m) { m.heads[0].score_activation = Activation{99}; }},
      {"values", "", [](ModelDescription& m) { m.heads[0].kind = HeadKind::regression; }},
      {"no labels", "", [](ModelDescription& m) { m.heads[0].labels.clear(); }},
      {"empty label", "labels has an entry (1)", [](ModelDescription& m) { m.heads[0].labels[1].clear(); }},
      {"label not UTF-8", "labels has an entry (0)",
       [](ModelDescription& m) { m.heads[0].labels[0] = std::string("\x80"); }},
      {"norm behind a dense that is absent", "norm_after_dense is true, but there is no dense",
       [](ModelDescription& m) { m.heads[1].norm_after_dense = true; }},
      {"norm behind dense of another width", "norm.scale needs shape [24]",
       [](ModelDescription& m) {
         m.heads[0].dense = m.encoder.layers[0].ffn_in;
         m.heads[0].norm = m.encoder.layers[0].ffn_norm;
         m.heads[0].norm_after_dense = true;
       }},
      {"a sentence's norm of another width", "embedding.norm.scale needs shape",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.norm.scale = m.encoder.layers[0].ffn_in.bias;
       }},
      {"prompts", "",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.prompts = {{"query", "query: "}, {"document", ""}};
         m.embedding.default_prompt = 1;
       }},
      {"a prompt that is not there", "embedding.default_prompt is 1, there are 1 prompts",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.prompts = {{"query", "query: "}};
         m.embedding.default_prompt = 1;
       }},
      {"two prompts of one name", "embedding.prompts[1].name is the name of prompt 0 too",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.prompts = {{"query", "a"}, {"query", "b"}};
       }},
      {"a prompt's name that can't be printed", "embedding.prompts[0].name is empty, too long or not printable",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.prompts = {{"\033[31m", "a"}};
       }},
      {"a prompt that is no text", "embedding.prompts[0].text has 1 bytes",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.prompts = {{"query", "\x80"}};
       }},
      {"a prompt of a book", "embedding.prompts[0].text has 8193 bytes, at most 8192 are possible",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.prompts = {{"query", std::string(8193, 'a')}};
       }},
      {"too many prompts", "prompts has 257 entries, at most 256 are possible",
       [](ModelDescription& m) {
         m.embedding.present = true;
         for (int i = 0; i < 257; ++i) m.embedding.prompts.push_back({std::to_string(i), "a"});
       }},
      {"characters of a token", "embedding.characters_per_token is 4294967295",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.characters_per_token = UINT32_MAX;
       }},
      {"a sentence's pooling", "pooling is 7",
       [](ModelDescription& m) {
         m.embedding.present = true;
         m.embedding.pooling = Pooling{7};
       }},
      {"1,025 heads", "heads has 1025 entries", [](ModelDescription& m) { m.heads = std::vector(1025, m.heads[0]); }},
      {"mlm gone, dense there", "belongs to a model without mlm.output",
       [](ModelDescription& m) { m.mlm.output = {}; }},
      {"no mlm", "", [](ModelDescription& m) { m.mlm = {}; }},
      {"mlm bias too short", "mlm.output.bias needs shape [64]",
       [](ModelDescription& m) { m.mlm.output.bias = m.encoder.layers[0].ffn_in.bias; }},
      {"mlm dense of another width", "mlm.norm.scale needs shape [24]",
       [](ModelDescription& m) { m.mlm.dense = m.encoder.layers[0].ffn_in; }},
      {"mlm norm without dense", "belongs to a head without mlm.dense", [](ModelDescription& m) { m.mlm.dense = {}; }},
      {"mlm output is another table", "mlm.output.weight needs shape",
       [](ModelDescription& m) { m.mlm.output.weight = m.encoder.embedding.positions; }},
      {"mlm output of few rows", "mlm.output.weight needs shape [64, 16]",
       [](ModelDescription& m) { m.mlm.output.weight = m.encoder.layers[0].attention.query.weight; }},
      {"mlm activation", "mlm activation is 8", [](ModelDescription& m) { m.mlm.activation = Activation{8}; }},
  };
  run_attacks("heads", attacks);
}

}  // namespace linformer_test::semantic_heads_test
