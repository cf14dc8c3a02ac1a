// Tests that numbers which no model of a family can have are refused, for each setting that shapes the model. The error
// names the setting.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converter/conversion.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::family_settings_test {

using nlohmann::json;

namespace {

struct FamilySettings {
  const char* golden;                 // a folder in tests/data/golden
  std::vector<const char*> settings;  // "a.b" is b in the object a
  const char* without = nullptr;      // a setting that would take precedence
};

const FamilySettings families[] = {
    {"modernbert/labels",
     {"local_attention", "num_attention_heads", "intermediate_size", "hidden_size", "num_hidden_layers", "vocab_size",
      "max_position_embeddings", "rope_parameters.full_attention.rope_theta",
      "rope_parameters.sliding_attention.rope_theta"}},
    {"modernbert/labels", {"global_attn_every_n_layers"}, "layer_types"},
    {"modernbert/labels", {"global_rope_theta", "local_rope_theta"}, "rope_parameters"},
    {"hugging-face/mpnet_labels",
     {"relative_attention_num_buckets", "num_attention_heads", "intermediate_size", "hidden_size", "num_hidden_layers",
      "max_position_embeddings"}},
    {"hugging-face/electra_labels",
     {"embedding_size", "num_attention_heads", "intermediate_size", "hidden_size", "max_position_embeddings"}},
    {"hugging-face/albert_masked_lm",
     {"embedding_size", "num_hidden_groups", "inner_group_num", "num_hidden_layers", "num_attention_heads",
      "intermediate_size", "hidden_size", "max_position_embeddings"}},
    {"hugging-face/roformer_labels",
     {"embedding_size", "num_attention_heads", "intermediate_size", "hidden_size", "max_position_embeddings"}},
    {"rotary-bert/nomic_bert_labels",
     {"num_attention_heads", "head_dim", "intermediate_size", "hidden_size", "num_hidden_layers",
      "max_position_embeddings", "rope_parameters.rope_theta"}},
    {"rotary-bert/gte_masked_lm",
     {"num_attention_heads", "intermediate_size", "hidden_size", "num_hidden_layers", "max_position_embeddings",
      "rope_parameters.rope_theta"}},
    {"rotary-bert/gte_masked_lm", {"rope_scaling.factor"}, "rope_parameters"},
    {"hugging-face/jina_encoder",
     {"num_attention_heads", "intermediate_size", "hidden_size", "num_hidden_layers", "max_position_embeddings"}},
};

// Returns the setting `name` of `config`. Adds it if it doesn't exist.
json& setting_of(json& config, const std::string& name) {
  json* at = &config;
  size_t begin = 0;
  for (size_t dot; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
    at = &(*at)[name.substr(begin, dot - begin)];
  }
  return (*at)[name.substr(begin)];
}

}  // namespace

TEST_CASE("settings of 0, below 0, huge, and of another kind are refused by name in every family") {
  const json wrong[] = {0, -1, std::numeric_limits<int64_t>::min(), int64_t{1} << 62, -0.5, "x", json::array({1})};
  for (const FamilySettings& family : families) {
    const std::string folder = golden_cases_folder() + "/" + family.golden;
    CAPTURE(folder);
    const std::string checkpoint = read_file(folder + "/checkpoint.safetensors");
    json config = json::parse(read_file(folder + "/meta.json")).at("config");
    if (family.without != nullptr) config.erase(family.without);
    for (const std::string name : family.settings) {
      CAPTURE(name);
      for (const json& value : wrong) {
        const std::string shown = value.dump();
        CAPTURE(shown);
        json changed = config;
        if (name == "rope_scaling.factor") changed["rope_scaling"] = {{"type", "ntk"}};
        setting_of(changed, name) = value;
        const std::string error = conversion_error(checkpoint, changed.dump());
        CHECK_MESSAGE(contains(error, name), error);
        CHECK(error.size() > 20);
      }
    }
  }
}

}  // namespace linformer_test::family_settings_test
