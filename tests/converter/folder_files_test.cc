// Tests how the files of a folder are read: which of them take precedence, the errors for unreadable files, and that
// none of them is overwritten.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"

namespace linformer_test::folder_files_test {

using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a name that exists but can't be read as a file is an error that names it") {
  namespace fs = std::filesystem;
  Workplace place;
  const std::string out = " -o " + place.path("x.lnfr");
  const auto fill = [&] {
    fs::remove_all(place.path("model"));
    write_tokenizer(place, "model", 0);
    write_file(place.path("model/model.safetensors"), safetensors(TinyFairseq().tensors()));
    write_file(place.path("model/config.json"), R"({"encoder_attention_heads": 2})");
    write_file(place.path("model/labels.txt"), "a\nb\n");
  };
  fill();
  REQUIRE(place.run(place.path("model") + out).status == 0);
  for (const char* name : {"model.safetensors", "config.json", "labels.txt", "vocab.json", "merges.txt", "dict.txt",
                           "tokenizer.json", "modules.json", "config_sentence_transformers.json"}) {
    CAPTURE(std::string(name));
    const std::string path = place.path(std::string("model/") + name);
    const auto refused = [&](const char* why) {
      const Run run = place.run(place.path("model") + out);
      CHECK(run.status == 1);
      check_sentence(run.err, {path, why});
    };
    fill();
    fs::remove(path);
    fs::create_symlink("nowhere", path);
    refused("link to a file that does not exist");
    fs::remove(path);
    fs::create_symlink(name, path);  // a link to itself
    refused("can't be read");
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    refused("not a regular file");
    fs::remove(path);
    fs::create_directories(path);
    refused("not a regular file");
    if (::geteuid() != 0) {
      fs::remove(path);
      write_file(path, "{}");
      fs::permissions(path, fs::perms::none);
      refused("can't be read");
    }
  }
  // A link to a file is read as that file.
  fill();
  fs::rename(place.path("model/config.json"), place.path("elsewhere.json"));
  fs::create_symlink(place.path("elsewhere.json"), place.path("model/config.json"));
  CHECK(place.run(place.path("model") + out).status == 0);
}

TEST_CASE("config.json of the folder gives the settings that --config doesn't") {
  Workplace place;
  fs::create_directories(place.path("model"));
  const TinyHuggingFace tiny;
  json config = tiny.config();
  config.update({{"hidden_act", "relu"}, {"layer_norm_eps", 0.125}});
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  write_file(place.path("model/config.json"), config.dump());
  write_file(place.path("some.json"), json{{"num_attention_heads", 4}, {"layer_norm_eps", 0.25}}.dump());
  const auto convert = [&](const std::string& given) {
    const Run run = place.run(place.path("model") + " --verbose -o " + place.path("x.lnfr") + given);
    CHECK_MESSAGE(run.status == 0, run.err);
    return run.out;
  };
  const auto layer = [&] {
    return linformer::Model::load(place.path("x.lnfr").c_str()).value()->description().encoder;
  };
  const std::string out = convert(" --config " + place.path("some.json"));
  CHECK(layer().layers[0].attention.heads == 4);
  CHECK(layer().layers[0].attention_norm.epsilon == 0.25f);
  CHECK(layer().layers[0].activation == linformer::Activation::relu);
  CHECK(contains(out, "What --config doesn't say was read from config.json"));
  CHECK(contains(out, "hidden_act, " + place.path("model/config.json")));
  // A checkpoint with a name that hubs use is converted with the files of its folder. With another name it is converted
  // alone.
  fs::copy(place.path("model/model.safetensors"), place.path("model/mine.safetensors"));
  for (const auto& [name, activation] : {std::pair{"model/model.safetensors", linformer::Activation::relu},
                                         std::pair{"model/mine.safetensors", linformer::Activation::gelu}}) {
    const Run run =
        place.run(place.path(name) + " -o " + place.path("x.lnfr") + " --config " + place.path("some.json"));
    REQUIRE_MESSAGE(run.status == 0, run.err);
    CHECK(layer().layers[0].activation == activation);
  }
}

TEST_CASE("a likely misspelling is reported on stderr in one line, even with --quiet") {
  Workplace place;
  fs::create_directories(place.path("model"));
  const TinyHuggingFace tiny;
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  write_file(place.path("model/config.json"), tiny.config().dump());
  // The folder's config.json has the setting under its right name.
  write_file(place.path("c.json"), json{{"hiden_act", "relu"}, {"unrelated", 1}}.dump());
  for (const char* how : {"", " --quiet", " --json", " --verbose"}) {
    const Run run =
        place.run(place.path("model") + " -o " + place.path("x.lnfr") + " --config " + place.path("c.json") + how);
    CHECK(run.status == 0);
    CHECK(run.err == "linformer-convert: note: nothing used the setting \"hiden_act\" in " + place.path("c.json") +
                         " (did you mean hidden_act?)\n");
  }
  write_file(place.path("c.json"), json{{"unrelated", 1}}.dump());
  CHECK(place.run(place.path("model") + " --quiet -o " + place.path("x.lnfr") + " --config " + place.path("c.json"))
            .err == "");
}

TEST_CASE("an assumed pooling is reported on stderr in one line, with --quiet too") {
  Workplace place;
  fs::create_directories(place.path("model"));
  const TinyHuggingFace tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_weight_bias(tensors, "bert.pooler.dense", 8, 8);
  write_file(place.path("model/model.safetensors"), safetensors(tensors));
  write_file(place.path("model/config.json"), tiny.config().dump());
  const auto errors = [&](const std::string& more) {
    const Run run = place.run(place.path("model") + " -o " + place.path("x.lnfr") + more);
    CHECK(run.status == 0);
    return run.err;
  };
  for (const char* how : {"", " --quiet", " --json", " --verbose"}) {
    const std::string said = errors(how);
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
    check_sentence(said,
                   {"linformer-convert: note: ", "the pooler's output", "--config '{\"sentence_pooling\": \"mean\"}'"});
  }
  CHECK(errors(R"( --config '{"sentence_pooling": "mean"}')") == "");
}

TEST_CASE("no file that the converter reads is overwritten, whatever name leads to it") {
  Workplace place;
  const TinyHuggingFace tiny;
  fs::create_directories(place.path("model/1_Pooling"));
  fs::create_directories(place.path("words"));
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  write_file(place.path("model/config.json"), tiny.config().dump());
  write_file(place.path("model/modules.json"),
             json{{{"path", ""}, {"type", "Transformer"}}, {{"path", "1_Pooling"}, {"type", "Pooling"}}}.dump());
  write_file(place.path("model/1_Pooling/config.json"), R"({"pooling_mode": "mean"})");
  write_file(place.path("model/sentence_bert_config.json"), R"({"max_seq_length": 5})");
  write_file(place.path("model/config_sentence_transformers.json"), R"({"prompts": {}})");
  write_file(place.path("model/labels.txt"), "a\nb\n");
  write_file(place.path("model/vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  write_file(place.path("model/tokenizer_config.json"), R"({"do_lower_case": true})");
  write_file(place.path("given.json"), R"({"num_attention_heads": 2})");
  fs::copy(place.path("model/vocab.txt"), place.path("words/vocab.txt"));
  fs::copy(place.path("model/tokenizer_config.json"), place.path("words/tokenizer_config.json"));
  write_tokenizer(place, "bpe", 0);
  const auto refused = [&](const std::string& arguments, const std::string& file) {
    CAPTURE(file);
    const std::string path = place.path(file), before = read_file(path);
    const std::string command = place.path("model") + " --force " + arguments + " -o ";
    fs::create_hard_link(path, place.path("hard"));
    fs::create_symlink(path, place.path("soft"));
    for (const std::string& name : {path, place.path("hard"), place.path("soft")}) {
      const Run run = place.run(command + name);
      CHECK(run.status == 1);
      check_sentence(run.err, {name, "is the input", "give another name with -o"});
    }
    CHECK(read_file(path) == before);
    fs::remove(place.path("hard"));
    fs::remove(place.path("soft"));
  };
  REQUIRE(place.run(place.path("model") + " -o " + place.path("x.lnfr")).status == 0);
  for (const char* file :
       {"model.safetensors", "config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json",
        "config_sentence_transformers.json", "labels.txt", "vocab.txt", "tokenizer_config.json"}) {
    refused("", std::string("model/") + file);
  }
  refused("--config " + place.path("given.json"), "given.json");
  refused("--config " + place.path("given.json"), "model/config.json");
  for (const char* file : {"words/vocab.txt", "words/tokenizer_config.json"}) {
    refused("--tokenizer " + place.path("words"), file);
    refused("--tokenizer " + place.path("words/vocab.txt"), file);
  }
}

}  // namespace linformer_test::folder_files_test
