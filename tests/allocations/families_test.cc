// Tests sessions of common encoders, converted from their golden checkpoints. A session has the planned size, uses no
// more memory than that, and allocates nothing.
#include <doctest/doctest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "allocations/model_calls.h"
#include "converter/build_model.h"
#include "converter/checkpoint_writer.h"
#include "support/files.h"
#include "support/shared_data.h"

namespace linformer_test::families_test {
namespace {

using namespace linformer;

struct Family {
  const char* name;
  std::vector<const char*> cases;  // Folders of tests/data/golden.
};

const Family families[] = {
    {"ModernBERT", {"modernbert/labels", "modernbert/masked_lm", "modernbert/tokens"}},
    {"MPNet", {"hugging-face/mpnet_labels", "hugging-face/mpnet_masked_lm"}},
    {"ELECTRA",
     {"hugging-face/electra_discriminator", "hugging-face/electra_generator", "hugging-face/electra_labels"}},
    {"ALBERT", {"hugging-face/albert_answers", "hugging-face/albert_masked_lm"}},
    {"RoFormer", {"hugging-face/roformer_labels", "hugging-face/roformer_masked_lm"}},
    {"NomicBERT", {"rotary-bert/nomic_bert_labels", "rotary-bert/nomic_bert_masked_lm"}},
    {"GTE", {"rotary-bert/gte_masked_lm", "rotary-bert/gte_tokens"}},
    {"jina-v2", {"hugging-face/jina_encoder", "hugging-face/jina_code_encoder"}},
};

// Converts the golden checkpoint in this folder to a model with weights of this type. Returns the bytes of the model
// file.
writer::AlignedBytes file_of(const std::string& folder, ElementType type) {
  const std::string config = nlohmann::json::parse(read_file(folder + "/meta.json")).at("config").dump();
  const std::string bytes = read_file(folder + "/checkpoint.safetensors");
  convert::ValueStore store;
  convert::Settings settings;
  settings.add_user_settings(convert::parse_json(store, config, "config"), "config");
  convert::Checkpoint checkpoint = convert::Checkpoint::open(as_bytes(bytes), "memory");
  convert::Report report;
  writer::ModelBuilder builder(type);
  convert::build_model(checkpoint, settings, &builder, &report, {});
  return builder.serialize();
}

TEST_CASE("each family's sessions use no more bytes than were planned and allocate nothing") {
  std::printf("%-12s %-5s %12s %12s %12s\n", "family", "type", "planned", "used", "allocations");
  for (const Family& family : families) {
    for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
      SessionCost all;
      for (const std::string name : family.cases) {
        CAPTURE(name);
        const writer::AlignedBytes file = file_of(golden_cases_folder() + "/" + name, type);
        const Result<std::shared_ptr<const Model>> model = Model::load(file);
        REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
        for (const bool masks : {false, true}) {
          ModelCalls calls(*model, masks);
          for (const Engine& engine : engines()) {
            if (engine.backend != BackendKind::native) continue;
            for (const int threads : {1, 2}) {
              const SessionCost cost = calls.run(engine, threads);
              // A touched page counts as used memory as a whole. The texts of the golden models are too short to touch
              // all pages.
              CHECK(cost.used <= (cost.planned + 4095) / 4096 * 4096);
              CHECK(cost.used > 0);
              CHECK(cost.allocations == 0);
              all.planned += cost.planned;
              all.used += cost.used;
              all.allocations += cost.allocations;
            }
          }
        }
      }
      std::printf("%-12s %-5s %12llu %12llu %12lld\n", family.name, name_of(type),
                  static_cast<unsigned long long>(all.planned), static_cast<unsigned long long>(all.used),
                  static_cast<long long>(all.allocations));
    }
  }
}

}  // namespace
}  // namespace linformer_test::families_test
