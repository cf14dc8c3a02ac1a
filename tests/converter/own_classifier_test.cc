// A classifier that somebody wrote around lucidrains' Linformer, with names of their own.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_fairseq.h"

using namespace linformer_test;

namespace {

constexpr const char* two_heads = R"({"heads": 2})";

// An encoder of one layer below `prefix`, with what `others` names beside it.
std::string around(const std::string& prefix, const std::vector<std::string>& others) {
  std::vector<HandTensor> made;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    made.push_back(random_tensor(prefix + "net.layers.0." + name, shape, 1));
  };
  for (const std::string half : {"0", "1"}) {
    add(half + ".norm.weight", {8});
    add(half + ".norm.bias", {8});
  }
  for (const std::string letter : {"k", "v"}) {
    add("0.fn.proj_" + letter, {6, 2});
    add("0.fn.to_" + letter + ".weight", {8, 8});
  }
  add("0.fn.to_q.weight", {8, 8});
  add("0.fn.to_out.weight", {8, 8});
  add("0.fn.to_out.bias", {8});
  add("1.fn.w1.weight", {12, 8});
  add("1.fn.w1.bias", {12});
  add("1.fn.w2.weight", {8, 12});
  add("1.fn.w2.bias", {8});
  for (const std::string& other : others) made.push_back(random_tensor(other, {10, 8}, 1));
  return torch_zip(made);
}

}  // namespace

TEST_CASE("a classifier of one's own around Linformer is told how to name its tensors") {
  const std::vector<std::string> others = {"embedding.weight", "head.weight"};
  // As an attribute that is called linformer the encoder looks like a part of LinformerLM.
  check_sentence(conversion_error(around("linformer.", others), two_heads),
                 {"below linformer.", "the tensor token_emb.weight is missing", "pos_emb.weight", "to_logits",
                  "A classifier of one's own", "state_dict"});
  const Converted made = converted(around("encoder.", others), two_heads);
  CHECK(made.description().encoder.embedding.vectors.width == 8);
  REQUIRE(made.report.cautions.size() == 1);
  check_sentence(made.report.cautions[0], {"(embedding.weight and others) were left out", "takes vectors",
                                           "token_emb.weight", "A classifier of one's own"});
  // The encoder alone has nothing beside it, and no caution.
  CHECK(converted(around("", {}), two_heads).report.cautions.empty());
}
