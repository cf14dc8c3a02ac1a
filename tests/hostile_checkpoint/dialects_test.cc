// Tests checkpoints whose file format is right and whose content isn't: every tensor and every setting of a model of
// each dialect is altered. Each conversion must end with one of the converter's errors or with a model that loads. Any
// other exception fails the test.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converter/conversion.h"
#include "converter/linearised_encoder.h"
#include "converter/tiny_hugging_face.h"
#include "converter/tiny_tatp22.h"
#include "golden/family_case.h"
#include "support/case_step.h"
#include "support/shared_data.h"

namespace linformer_test::dialects_test {

using namespace linformer;
using nlohmann::json;

namespace {

using Tensors = std::vector<HandTensor>;

struct Counts {
  size_t tried = 0;
  int errors = 0, models = 0;
};

class Attack {
 public:
  Attack(const Tensors& tensors, const json& config, Counts* counts)
      : tensors_(tensors), config_(config), counts_(*counts) {}

  void run() {
    if (next()) attempt("as it is", tensors_, config_.dump());
    for (size_t i = 0; i < tensors_.size(); ++i) alter_tensor(i);
    for (const auto& [name, value] : config_.items()) alter_setting(name);
  }

 private:
  // Returns whether the next alteration is tried. It is called before the alteration is made, because making it takes
  // long too.
  bool next() { return counts_.tried++ % step_ == 0; }

  void attempt(const std::string& what, const Tensors& tensors, const std::string& config) {
    CAPTURE(what);
    try {
      const std::string error = conversion_error(safetensors(tensors), config);
      CHECK(error.find('\n') == error.npos);
      ++(error.empty() ? counts_.models : counts_.errors);
    } catch (const std::exception& other) {
      // conversion_error() catches the converter's own errors, so any exception that arrives here is a fault.
      FAIL_CHECK(what << ": " << std::string(other.what()));
    }
  }

  template <class Change>
  void with_tensor(size_t index, const char* what, Change change) {
    if (!next()) return;
    Tensors altered = tensors_;
    change(altered[index]);
    attempt(altered[index].name + " " + what, altered, config_.dump());
  }

  void alter_tensor(size_t index) {
    if (next()) {
      Tensors fewer = tensors_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
      attempt(tensors_[index].name + " dropped", fewer, config_.dump());
    }
    if (next()) {
      Tensors more = tensors_;
      more.push_back(more[index]);
      more.back().name += ".more";
      attempt(tensors_[index].name + " twice", more, config_.dump());
    }
    with_tensor(index, "renamed", [](HandTensor& t) { t.name.insert(t.name.size() / 2, "x"); });
    with_tensor(index, "with a NaN", [](HandTensor& t) {
      if (!t.values.empty()) t.values.back() = std::numeric_limits<double>::quiet_NaN();
    });
    with_tensor(index, "of whole numbers", [](HandTensor& t) { t.type = DataType::i64; });
    with_tensor(index, "transposed", [](HandTensor& t) { std::reverse(t.shape.begin(), t.shape.end()); });
    with_tensor(index, "with one dimension more", [](HandTensor& t) { t.shape.insert(t.shape.begin(), 1); });
    with_tensor(index, "flat", [](HandTensor& t) { t.shape = {static_cast<int64_t>(t.values.size())}; });
    with_tensor(index, "empty", [](HandTensor& t) {
      t.values.clear();
      t.shape.assign(std::max<size_t>(t.shape.size(), 1), 0);
    });
    with_tensor(index, "one row longer", [](HandTensor& t) {
      if (t.shape.empty() || t.shape[0] == 0) return;
      const size_t row = t.values.size() / static_cast<size_t>(t.shape[0]);
      t.values.resize(t.values.size() + row, 0.25);
      ++t.shape[0];
    });
  }

  void alter_setting(const std::string& name) {
    if (next()) {
      json without = config_;
      without.erase(name);
      attempt(name + " not given", tensors_, without.dump());
    }
    for (const json& value : {json(0), json(-1), json(1), json(7), json(1000000007), json(9.5), json("x"), json(true),
                              json(nullptr), json::array({1}), json::object(), json(INT64_MIN), json(1e300)}) {
      if (!next()) continue;
      json altered = config_;
      altered[name] = value;
      attempt(name + " = " + value.dump(), tensors_, altered.dump());
    }
  }

  const Tensors& tensors_;
  const json& config_;
  Counts& counts_;
  const size_t step_ = case_step(10, 3);
};

void report(const char* what, const Counts& counts) {
  std::printf("%-28s %6zu altered: %6d errors, %5d models\n", what, counts.tried, counts.errors, counts.models);
}

}  // namespace

namespace {

int alter_goldens(const std::string& golden) {
  int cases = 0;
  for (const char* name : {"fairseq/classifier",
                           "fairseq/prenorm",
                           "lucidrains/attention",
                           "lucidrains/lm_share_kv",
                           "lucidrains/lm_one_kv_head",
                           "lucidrains/lm_reversible",
                           "lucidrains/v0_1_0_lm",
                           "nystromformer/bert_seqcls",
                           "nystromformer/lra_cls",
                           "nystromformer/lra_dual",
                           "nystromformer/reorg_mean",
                           "tatp22/encdec",
                           "tatp22/kv_convolution",
                           "tatp22/wo_intermediate",
                           "tatp22/old_2020_09_12_prenorm",
                           "tatp22/full_attention",
                           "vit_pytorch_linformer/mean",
                           "xformers/mha_linformer",
                           "hugging-face/albert_masked_lm",
                           "hugging-face/electra_discriminator",
                           "hugging-face/jina_encoder",
                           "hugging-face/jina_code_encoder",
                           "hugging-face/mpnet_labels",
                           "hugging-face/roformer_labels",
                           "modernbert/labels",
                           "rotary-bert/gte_masked_lm",
                           "cald/labels",
                           "jargon/masked_lm",
                           "lucidrains/masked_shared",
                           "own_classifier/lucidrains",
                           "own_classifier/tatp22",
                           "transformers-linformer/labels"}) {
    const std::filesystem::path folder = golden + "/" + name;
    const bool pickled = std::filesystem::exists(folder / "checkpoint.pt");
    const std::filesystem::path checkpoint = folder / (pickled ? "checkpoint.pt" : "checkpoint.safetensors");
    if (!std::filesystem::exists(checkpoint)) continue;
    ++cases;
    const FamilyCase c = read_case(folder);
    const json config =
        c.family == "fairseq" ? json{{"encoder_attention_heads", 4}, {"activation_fn", "gelu"}} : json::parse(c.config);
    Counts counts;
    Attack(tensors_of(checkpoint.string()), config, &counts).run();
    report(name, counts);
    CHECK(counts.errors > counts.models / 4);
  }
  return cases;
}

}  // namespace

TEST_CASE("golden checkpoints with an altered tensor or setting give an error or a model that loads") {
  CHECK(alter_goldens(golden_cases_folder()) == 27);
}

TEST_CASE("more golden checkpoints with an altered tensor or setting give an error or a model that loads" *
          doctest::test_suite("shared")) {
  if (const auto golden = shared_path("golden")) CHECK(alter_goldens(*golden) == 18);
}

TEST_CASE("small checkpoints with an altered tensor or setting give an error or a model that loads") {
  for (const TinyFamily family : {TinyFamily::bert, TinyFamily::roberta, TinyFamily::distilbert}) {
    TinyHuggingFace tiny;
    tiny.family = family;
    tiny.layers = 1;
    Counts counts;
    Attack(tiny.tensors(), tiny.config(), &counts).run();
    report(tiny.prefix().c_str(), counts);
    CHECK(counts.errors > 0);
  }
  const LinearisedEncoder linearised = LinearisedEncoder::with_every_kind();
  Counts linearised_counts;
  Attack(linearised.tensors, linearised.config, &linearised_counts).run();
  report("linearised bert.", linearised_counts);
  CHECK(linearised_counts.errors > 0);
  const Tensors model2vec = {
      {"embeddings", {3, 2}, {1, 2, 3, 4, 5, 6}}, {"mapping", {4}, {2, 0, 1, 1}}, {"weights", {4}, {1, 2, 3, 4}}};
  Counts static_counts;
  Attack(model2vec, {{"normalize", true}, {"max_length", 9}, {"sentence_prompts", {{"query", "a"}}}}, &static_counts)
      .run();
  report("model2vec", static_counts);
  CHECK(static_counts.errors > 0);
  TinyTatp22 tiny;
  tiny.depth = 1;
  Counts counts;
  Attack(tiny.tensors(), {{"activation", "gelu"}, {"causal", false}, {"input_size", 7}}, &counts).run();
  report("tatp22", counts);
  CHECK(counts.errors > 0);
}

}  // namespace linformer_test::dialects_test
