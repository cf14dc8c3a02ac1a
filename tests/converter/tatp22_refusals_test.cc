// Tests what the tatp22 dialect refuses, and that its errors name the setting or the tensor.
#include <doctest/doctest.h>

#include <functional>

#include "converter/checks.h"
#include "converter/tiny_tatp22.h"

namespace linformer_test::tatp22_refusals_test {

TEST_CASE("tatp22: missing settings, and tensors and settings that don't fit together, are refused with the reason") {
  using Tensors = std::vector<HandTensor>;
  struct Case {
    const char* what;
    std::string settings;
    std::function<void(TinyTatp22&)> make;
    std::function<void(Tensors&)> change;
    std::vector<std::string> parts;  // texts that the error must contain
  };
  const auto same = [](TinyTatp22&) {};
  const auto as_it_is = [](Tensors&) {};
  const std::string gelu = R"({"activation": "gelu"})";
  const std::string stack = "linformer.seq.";
  const Case cases[] = {
      {"no settings", "", same, as_it_is, {"config", "{\"activation\": \"gelu\", \"full_attention\": false"}},
      {"activation", R"({"activation": "tanh"})", same, as_it_is, {"activation", "tanh", "gelu and relu"}},
      {"activation's kind", R"({"activation": 1})", same, as_it_is, {"activation", "not a text"}},
      {"causal's kind", R"({"causal": "yes"})", same, as_it_is, {"causal", "neither true nor false"}},
      {"no_params", gelu, [](TinyTatp22& t) { t.projections = false; }, as_it_is, {"no_params", "does not save"}},
      {"no_params, unsaid",
       "",
       [](TinyTatp22& t) { t.projections = false; },
       as_it_is,
       {"no_params", "full_attention"}},
      {"full attention of unknown length",
       R"({"full_attention": true})",
       [](TinyTatp22& t) { t.projections = false; },
       as_it_is,
       {"input_size", "full attention"}},
      {"input_size", R"({"input_size": 9})", same, as_it_is, {"input_size is 9", "7 columns"}},
      {"heads", R"({"nhead": 4})", same, as_it_is, {"nhead is 4", "2 heads"}},
      {"k", R"({"dim_k": 4})", same, as_it_is, {"dim_k is 4", "3 compressed"}},
      {"channels", R"({"channels": 16})", same, as_it_is, {"channels is 16"}},
      {"tokens", R"({"num_tokens": 11})", same, as_it_is, {"num_tokens is 11", "10 tokens"}},
      {"ffn", R"({"dim_ff": 11})", same, as_it_is, {"dim_ff is 11"}},
      {"an odd decoder",
       R"({"decoder_mode": true})",
       [](TinyTatp22& t) { t.depth = 3; },
       as_it_is,
       {"decoder_mode", "3"}},
      {"causal with a falling k",
       R"({"causal": true})",
       [](TinyTatp22& t) { t.sharing = "none"; },
       [&](Tensors& t) {
         for (HandTensor& tensor : t) {
           if (!contains(tensor.name, stack + "2.fn.heads")) continue;
           tensor = random_tensor(
               tensor.name, contains(tensor.name, "bias") ? std::vector<int64_t>{2} : std::vector<int64_t>{2, 7}, 1);
         }
       },
       {"causal with 3", "projection has 2", "nothing to reproduce"}},
      {"before 2020-06-27",
       gelu,
       same,
       [&](Tensors& t) {
         t.push_back(random_tensor(stack + "0.fn.heads.0.w_q.weight", {4, 4}, 1));
       },
       {"heads.0.w_q.weight", "not part of a model of linformer-pytorch"}},
      {"unknown top",
       gelu,
       same,
       [](Tensors& t) {
         t.push_back(random_tensor("classifier.weight", {2, 8}, 1));
       },
       {"classifier.weight", "not part of"}},
      {"no frequencies",
       gelu,
       same,
       [](Tensors& t) { remove(t, "pos_emb.inv_freq"); },
       {"pos_emb.inv_freq", "missing"}},
      {"a head missing",
       gelu,
       same,
       [&](Tensors& t) { remove(t, stack + "2.fn.to_k.1.weight"); },
       {"to_k.1.weight", "missing"}},
      {"a projection missing",
       gelu,
       [](TinyTatp22& t) { t.sharing = "none"; },
       [&](Tensors& t) { remove(t, stack + "2.fn.heads.1.F.weight"); },
       {"heads.1.F.weight", "missing"}},
      {"heads of two widths",
       gelu,
       same,
       [&](Tensors& t) {
         for (const char* part : {"0.fn.to_k.0.weight", "0.fn.to_k.1.weight"}) {
           HandTensor& tensor = named(t, stack + part);
           tensor = random_tensor(tensor.name, {part[10] == '0' ? 3 : 5, 8}, 1);
         }
       },
       {"to_k.0.weight", "[3, 8]", "width 4"}},
      {"a layer skipped",
       gelu,
       same,
       [&](Tensors& t) { t = renamed(renamed(t, stack + "2.", stack + "4."), stack + "3.", stack + "5."); },
       {"2 of 6"}},
      {"a feed-forward layer first",
       gelu,
       same,
       [&](Tensors& t) {
         t = renamed(renamed(renamed(t, stack + "0.", stack + "9."), stack + "1.", stack + "0."), stack + "9.",
                     stack + "1.");
       },
       {"seq.0.fn.", "does not follow an attention"}},
      {"a module of no kind",
       gelu,
       same,
       [&](Tensors& t) { t = renamed(t, "1.fn.w_", "1.fn.u_"); },
       {"seq.1.fn.", "neither an attention (to_q) nor"}},
      {"a resample missing",
       gelu,
       [](TinyTatp22& t) {
         t.sharing = "kv";
         t.ff_intermediate = 10;
       },
       [&](Tensors& t) { remove(t, stack + "1.resample.weight"); },
       {"seq.1.resample.weight", "missing"}},
      {"encoder with a part of its decoder",
       gelu,
       same,
       [](Tensors& t) {
         for (HandTensor& tensor : t) tensor.name = "encoder." + tensor.name;
         t.push_back(t.back());
         t.back().name.replace(0, 2, "de");
       },
       {"decoder.seq.", "incomplete"}},
  };
  int refused = 0;
  for (const Case& c : cases) {
    CAPTURE(c.what);
    TinyTatp22 tiny;
    c.make(tiny);
    Tensors tensors = tiny.tensors();
    c.change(tensors);
    const std::string error = conversion_error(torch_zip(tensors), c.settings);
    check_sentence(error, c.parts);
    ++refused;
  }
  std::printf("%d refusals of tatp22\n", refused);
}

TEST_CASE("tatp22: a safetensors file that lacks projections in no known way of sharing is refused") {
  TinyTatp22 tiny;
  tiny.sharing = "headwise";
  std::vector<HandTensor> tensors = tiny.tensors();
  std::erase_if(tensors, [](const HandTensor& tensor) {
    return contains(tensor.name, "heads.1.") || contains(tensor.name, "2.fn.heads.0.F");
  });
  CHECK(contains(conversion_error(safetensors(tensors), R"({"activation": "gelu"})"), "missing"));
}

}  // namespace linformer_test::tatp22_refusals_test
