// Tests folders as save_pretrained and sentence-transformers write them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/readers/error.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_hugging_face.h"
#include "support/temporary_folder.h"

namespace linformer_test::hugging_face_folders_test {

using namespace linformer;
using Json = nlohmann::json;

namespace {

// A sentence-transformers folder whose parts can be changed before it is converted.
class SentenceFolder {
 public:
  SentenceFolder() {
    tiny_.prefixed = false;
    write("config.json", tiny_.config().dump());
    std::vector<HandTensor> tensors = tiny_.tensors();
    add_weight_bias(tensors, "pooler.dense", 8, 8);
    write("model.safetensors", safetensors(tensors));
    add("", "Transformer");
    add("1_Pooling", "Pooling");
    pool({{"word_embedding_dimension", 8}, {"pooling_mode_mean_tokens", true}, {"pooling_mode_cls_token", false}});
  }
  void add(const std::string& path, const std::string& type) {
    modules.push_back({{"idx", modules.size()}, {"path", path}, {"type", "sentence_transformers.models." + type}});
  }
  void pool(const Json& config) { write("1_Pooling/config.json", config.dump()); }
  void write(const std::string& name, const std::string& bytes) {
    const std::filesystem::path path = folder_.path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  void remove(const std::string& name) { std::filesystem::remove(folder_.path(name)); }
  const TinyHuggingFace& tiny() const { return tiny_; }

  // Converts the file `name` of the folder, or the folder itself if `name` is empty.
  Converted convert(const std::string& name = "") {
    if (!modules.empty()) write("modules.json", modules.dump());
    linformer::convert::ConvertOptions options;
    options.checkpoint = folder_.path(name);
    options.output = out_.path("model.lnfr");
    Converted made;
    made.report = linformer::convert::convert_checkpoint(options);
    auto loaded = Model::load(options.output.c_str());
    REQUIRE(loaded.ok());
    made.model = loaded.value();
    return made;
  }
  std::string error(const std::string& name = "") {
    try {
      convert(name);
      return "";
    } catch (const linformer::convert::Error& error) {
      return error.what();
    }
  }

  Json modules = Json::array();

 private:
  TemporaryFolder folder_, out_;
  TinyHuggingFace tiny_;
};

bool has_note(const Converted& made, const std::string& part) {
  for (const std::string& note : made.report.notes) {
    if (contains(note, part)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("modules.json says how rows become a vector") {
  struct Case {
    Json config;
    Pooling pooling;
  };
  const Case cases[] = {{{{"pooling_mode_cls_token", true}}, Pooling::first_token},
                        {{{"pooling_mode_mean_tokens", true}, {"pooling_mode_max_tokens", false}}, Pooling::mean},
                        {{{"pooling_mode_max_tokens", true}}, Pooling::max},
                        {{{"pooling_mode", "cls"}}, Pooling::first_token},
                        {{{"pooling_mode", {"mean"}}}, Pooling::mean}};
  for (const Case& c : cases) {
    for (const bool normalize : {false, true}) {
      SentenceFolder folder;
      folder.pool(c.config);
      if (normalize) folder.add("2_Normalize", "Normalize");
      const Converted made = folder.convert();
      const SentenceEmbedding& embedding = made.description().embedding;
      CHECK(embedding.present);
      CHECK(embedding.pooling == c.pooling);
      CHECK(embedding.normalize == normalize);
      CHECK_FALSE(embedding.dense.present());
      CHECK(is_left_out(made.report.left_out, "pooler.dense.weight"));
    }
  }
}

TEST_CASE("a checkpoint with a usual name beside config.json is converted with the files of its folder") {
  SentenceFolder folder;
  folder.add("2_Normalize", "Normalize");
  CHECK(folder.convert("model.safetensors").description().embedding.normalize);
  std::filesystem::copy(folder.path("model.safetensors"), folder.path("mine.safetensors"));
  CHECK(contains(folder.error("mine.safetensors"), "give the model's config.json with config"));
  folder.remove("config.json");
  CHECK(contains(folder.error("model.safetensors"), "give the model's config.json with config"));
}

TEST_CASE("without modules.json the same folder is a plain BERT") {
  SentenceFolder folder;
  folder.modules.clear();
  const Converted made = folder.convert();
  CHECK(made.description().embedding.activation == Activation::tanh);
  CHECK(made.description().embedding.dense.present());
}

TEST_CASE("the weights of a Dense module are read from its own file") {
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    SentenceFolder folder;
    folder.add("2_Dense", "Dense");
    folder.add("3_Normalize", "Normalize");
    folder.write(
        "2_Dense/config.json",
        Json{{"in_features", 8}, {"out_features", 4}, {"activation_function", "torch.nn.modules.activation.Tanh"}}
            .dump());
    std::vector<HandTensor> dense;
    add_weight_bias(dense, "linear", 4, 8);
    const bool pickled = name == std::string("pytorch_model.bin");
    folder.write(std::string("2_Dense/") + name, pickled ? torch_zip(dense) : safetensors(dense));
    const Converted made = folder.convert();
    const SentenceEmbedding& embedding = made.description().embedding;
    REQUIRE(embedding.dense.present());
    CHECK(embedding.activation == Activation::tanh);
    CHECK(embedding.normalize);
    const std::vector<float> weight = made.values(embedding.dense.weight);
    CHECK(std::vector<double>(weight.begin(), weight.end()) == dense[0].values);
  }
}

TEST_CASE("the weights of a LayerNorm module are read from its own file, with last-token and weighted-mean pooling") {
  for (const auto& [mode, pooling] : {std::pair{"pooling_mode_lasttoken", Pooling::last_token},
                                      {"pooling_mode_weightedmean_tokens", Pooling::weighted_mean}}) {
    SentenceFolder folder;
    folder.pool({{mode, true}});
    folder.add("2_LayerNorm", "LayerNorm");
    folder.add("3_Normalize", "Normalize");
    std::vector<HandTensor> norm;
    add_weight_bias(norm, "norm", 8, 0);
    folder.write("2_LayerNorm/model.safetensors", safetensors(norm));
    const Converted made = folder.convert();
    const SentenceEmbedding& embedding = made.description().embedding;
    CHECK(embedding.pooling == pooling);
    CHECK(embedding.normalize);
    REQUIRE(embedding.norm.present());
    CHECK(embedding.norm.epsilon == 1e-5f);
    const std::vector<float> scale = made.values(embedding.norm.scale);
    CHECK(std::vector<double>(scale.begin(), scale.end()) == norm[0].values);
  }
}

TEST_CASE("a transformer in a folder of its own is converted, with notes on what sentence-transformers does besides") {
  SentenceFolder folder;
  folder.modules[0]["path"] = "0_Transformer";
  folder.write("0_Transformer/config.json", folder.tiny().config().dump());
  folder.write("0_Transformer/pytorch_model.bin", torch_zip(folder.tiny().tensors()));
  folder.write("0_Transformer/sentence_bert_config.json", R"({"max_seq_length": 5, "do_lower_case": true})");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  folder.remove("config.json");
  folder.remove("model.safetensors");
  const Converted made = folder.convert();
  CHECK(made.description().embedding.present);
  CHECK(has_note(made, "5 tokens"));
  CHECK(made.description().encoder.max_tokens == 5);
  CHECK(has_note(made, "lowers the case"));
  REQUIRE(made.description().embedding.prompts.size() == 1);
  CHECK(made.description().embedding.prompts[0].text == "query: ");
  CHECK(made.description().embedding.default_prompt == 0);
  CHECK_FALSE(made.description().embedding.excludes_prompt);
  folder.pool({{"pooling_mode_mean_tokens", true}, {"include_prompt", false}});
  CHECK(folder.convert().description().embedding.excludes_prompt);
  folder.write("config_sentence_transformers.json", R"({"default_prompt_name": "query"})");
  check_sentence(folder.error(), {"the default prompt", "query", "is none of the prompts"});
}

TEST_CASE("modules that are not supported are refused by name") {
  struct Case {
    const char* what;
    std::function<void(SentenceFolder&)> change;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"other module", [](SentenceFolder& f) { f.add("2_CNN", "CNN"); }, {"CNN", "2_CNN"}},
      {"no transformer", [](SentenceFolder& f) { f.modules[0]["type"] = "sentence_transformers.models.BoW"; }, {"BoW"}},
      {"two transformers", [](SentenceFolder& f) { f.add("2_Transformer", "Transformer"); }, {"2_Transformer"}},
      {"no pooling", [](SentenceFolder& f) { f.modules.erase(1); }, {"no Pooling"}},
      {"normalised twice over",
       [](SentenceFolder& f) { f.add("2_Normalize", "Normalize"), f.add("3_Dense", "Dense"); },
       {"Dense", "in this order"}},
      {"two pools",
       [](SentenceFolder& f) {
         f.pool({{"pooling_mode_cls_token", true}, {"pooling_mode_max_tokens", true}});
       },
       {"cls, max"}},
      {"other pool",
       [](SentenceFolder& f) {
         f.pool({{"pooling_mode_mean_sqrt_len_tokens", true}});
       },
       {"mean_sqrt_len_tokens"}},
      {"a norm of another width",
       [](SentenceFolder& f) {
         f.add("2_LayerNorm", "LayerNorm");
         std::vector<HandTensor> norm;
         add_weight_bias(norm, "norm", 4, 0);
         f.write("2_LayerNorm/model.safetensors", safetensors(norm));
       },
       {"sentence_norm.norm.weight", "8 (sentence embedding)"}},
      {"a norm without weights",
       [](SentenceFolder& f) { f.add("2_LayerNorm", "LayerNorm"); },
       {"2_LayerNorm", "pytorch_model.bin"}},
      {"a norm before the dense",
       [](SentenceFolder& f) {
         f.add("2_LayerNorm", "LayerNorm"), f.add("3_Dense", "Dense");
         std::vector<HandTensor> norm;
         add_weight_bias(norm, "norm", 8, 0);
         f.write("2_LayerNorm/model.safetensors", safetensors(norm));
       },
       {"Dense", "in this order"}},
      {"no pool said", [](SentenceFolder& f) { f.pool(Json::object()); }, {"nothing"}},
      {"no pool file", [](SentenceFolder& f) { f.remove("1_Pooling/config.json"); }, {"1_Pooling", "does not exist"}},
      {"outside", [](SentenceFolder& f) { f.modules[1]["path"] = "../1_Pooling"; }, {"outside"}},
      {"long", [](SentenceFolder& f) { f.modules[1]["path"] = std::string(4000, 'a'); }, {"more than 255 bytes"}},
      {"absolute", [](SentenceFolder& f) { f.modules[1]["path"] = "/1_Pooling"; }, {"outside"}},
      {"no list",
       [](SentenceFolder& f) {
         f.modules = Json::object({{"a", 1}});
       },
       {"modules.json", "list"}},
      {"dense without weights",
       [](SentenceFolder& f) {
         f.add("2_Dense", "Dense");
         f.write("2_Dense/config.json", "{}");
       },
       {"2_Dense", "pytorch_model.bin"}},
      {"dense with another activation",
       [](SentenceFolder& f) {
         f.add("2_Dense", "Dense");
         f.write("2_Dense/config.json", R"({"activation_function": "torch.nn.modules.activation.Softplus"})");
         std::vector<HandTensor> dense;
         add_weight_bias(dense, "linear", 4, 8);
         f.write("2_Dense/model.safetensors", safetensors(dense));
       },
       {"Softplus", "Tanh"}},
      {"dense with more",
       [](SentenceFolder& f) {
         f.add("2_Dense", "Dense");
         f.write("2_Dense/config.json", R"({"activation_function": "Tanh"})");
         std::vector<HandTensor> dense;
         add_weight_bias(dense, "linear", 4, 8);
         add_weight_bias(dense, "other", 4, 8);
         f.write("2_Dense/model.safetensors", safetensors(dense));
       },
       {"other.weight", "not part of"}},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    SentenceFolder folder;
    c.change(folder);
    const std::string error = folder.error();
    CAPTURE(error);
    check_sentence(error, c.parts);
  }
}

TEST_CASE("a tokenizer that gives the second text a type fits a model with one type for all") {
  SentenceFolder folder;
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\nf\n");
  CHECK(folder.convert().description().tokenizer.pair_types == std::vector<uint8_t>{0, 0, 0, 1, 1});
  std::vector<HandTensor> tensors = folder.tiny().tensors();
  add_weight_bias(tensors, "pooler.dense", 8, 8);
  for (HandTensor& tensor : tensors) {
    if (tensor.name != "embeddings.token_type_embeddings.weight") continue;
    tensor.shape[0] = 1;
    tensor.values.resize(8);
  }
  folder.write("model.safetensors", safetensors(tensors));
  Json config = folder.tiny().config();
  config["type_vocab_size"] = 1;
  folder.write("config.json", config.dump());
  const Converted made = folder.convert();
  CHECK(made.description().tokenizer.pair_types.empty());
  CHECK(made.description().tokenizer.pair_template.size() == 5);
  CHECK(std::ranges::any_of(made.report.notes,
                            [](const std::string& note) { return note.find("but the model has only one") != note.npos; }));
}

}  // namespace linformer_test::hugging_face_folders_test
