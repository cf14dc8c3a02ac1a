// Files that the converter looks for beside a checkpoint or in a folder. Each is damaged in several ways, and each kind
// of conversion that reads it must follow one rule: a file that exists but can't be read is an error that names the
// file, and never counts as absent.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "converter/checks.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"
#include "support/shared_data.h"

namespace linformer_test::side_files_test {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A folder that can be converted, the files in it that a conversion reads, and the arguments that each name the input
// of a conversion.
struct Model {
  const char* name;
  std::function<void(const Workplace&)> write;
  std::vector<const char*> files;  // below "model"
  std::vector<const char*> entrances;
};

void write(const Workplace& place, const std::string& name, const std::string& bytes) {
  const fs::path path = place.path("model/" + name);
  fs::create_directories(path.parent_path());
  write_file(path.string(), bytes);
}

constexpr const char* small_vocabulary = "[PAD]\na\nb\n[CLS]\n[UNK]\n[MASK]\n[SEP]\n";

TinyHuggingFace bert() {
  TinyHuggingFace tiny;
  tiny.prefixed = false;
  return tiny;
}

// Writes the files that sentence-transformers writes.
void write_sentence_transformer(const Workplace& place) {
  write(place, "config.json", bert().config().dump());
  write(place, "model.safetensors", safetensors(bert().tensors()));
  json modules = json::array();
  for (const auto& [path, type] : {std::pair("", "Transformer"), {"1_Pooling", "Pooling"}, {"2_Dense", "Dense"}}) {
    modules.push_back({{"path", path}, {"type", std::string("sentence_transformers.models.") + type}});
  }
  write(place, "modules.json", modules.dump());
  write(place, "sentence_bert_config.json", R"({"max_seq_length": 5})");
  write(place, "config_sentence_transformers.json", R"({"prompts": {}})");
  write(place, "1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  write(place, "2_Dense/config.json", R"({"activation_function": "torch.nn.modules.activation.Tanh"})");
  std::vector<HandTensor> dense;
  add_weight_bias(dense, "linear", 4, 8);
  write(place, "2_Dense/model.safetensors", safetensors(dense));
  write(place, "vocab.txt", small_vocabulary);
  write(place, "tokenizer_config.json", R"({"do_lower_case": true})");
}

// Writes a checkpoint in two files, as save_pretrained does, with a tokenizer of GPT-2's kind.
void write_shards(const Workplace& place) {
  TinyHuggingFace tiny;
  tiny.family = TinyFamily::roberta;  // its pad token is that of fairseq
  std::vector<HandTensor> parts[2];
  json map = json::object();
  const char* const names[] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
  const std::vector<HandTensor> tensors = tiny.tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    parts[i % 2].push_back(tensors[i]);
    map[tensors[i].name] = names[i % 2];
  }
  for (size_t i = 0; i < 2; ++i) write(place, names[i], safetensors(parts[i]));
  write(place, "model.safetensors.index.json", json{{"weight_map", map}}.dump());
  write(place, "config.json", tiny.config().dump());
  write(place, "vocab.json", json{{"a", 0}, {"b", 1}, {"ab", 2}}.dump());
  write(place, "merges.txt", "#version: 0.2\na b\n");
  write(place, "dict.txt", "0 3\n1 2\n2 1\n");
  write(place, "tokenizer_config.json", R"({"add_prefix_space": true})");
  write(place, "labels.txt", "x\ny\n");
}

void write_json_tokenizer(const Workplace& place) {
  write(place, "config.json", bert().config().dump());
  write(place, "pytorch_model.bin", torch_zip(bert().tensors()));
  write(place, "tokenizer.json",
        json{{"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}, {"a", 1}}}}},
             {"pre_tokenizer", {{"type", "BertPreTokenizer"}}}}
            .dump());
}

void write_sentencepiece(const Workplace& place) {
  TinyHuggingFace tiny = bert();
  tiny.vocabulary = 2000;
  write(place, "config.json", tiny.config().dump());
  write(place, "model.safetensors", safetensors(tiny.tensors()));
  write(place, "spiece.model", read_file(test_data_path("tokenizers/sentencepiece/spiece.model")));
}

const std::vector<Model>& models() {
  static const std::vector<Model> all = {
      {"sentence-transformers",
       write_sentence_transformer,
       {"config.json", "model.safetensors", "modules.json", "sentence_bert_config.json",
        "config_sentence_transformers.json", "1_Pooling/config.json", "2_Dense/config.json",
        "2_Dense/model.safetensors", "vocab.txt", "tokenizer_config.json"},
       {"model", "model/model.safetensors"}},
      {"shards",
       write_shards,
       {"config.json", "model.safetensors.index.json", "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors", "vocab.json", "merges.txt", "dict.txt", "tokenizer_config.json",
        "labels.txt"},
       {"model", "model/model.safetensors.index.json"}},
      {"tokenizer.json",
       write_json_tokenizer,
       {"config.json", "pytorch_model.bin", "tokenizer.json"},
       {"model", "model/pytorch_model.bin"}},
      {"SentencePiece",
       write_sentencepiece,
       {"config.json", "model.safetensors", "spiece.model"},
       {"model", "model/model.safetensors"}},
  };
  return all;
}

// Files that an option names, while the checkpoint is in another folder.
struct Named {
  std::function<void(const Workplace&)> write;
  const char* option;
  const char* named;               // below "model"; empty for the folder itself
  std::vector<const char*> files;  // the files that are then read
  TinyFamily family = TinyFamily::bert;
};

const std::vector<Named>& named() {
  static const std::vector<Named> all = {
      {write_sentence_transformer, "--config", "config.json", {"config.json"}},
      {write_sentence_transformer, "--tokenizer", "", {"vocab.txt", "tokenizer_config.json"}},
      {write_sentence_transformer, "--tokenizer", "vocab.txt", {"vocab.txt", "tokenizer_config.json"}},
      {write_shards,
       "--tokenizer",
       "",
       {"vocab.json", "merges.txt", "dict.txt", "tokenizer_config.json", "labels.txt"},
       TinyFamily::roberta},
      {write_shards,
       "--tokenizer",
       "vocab.json",
       {"vocab.json", "merges.txt", "dict.txt", "labels.txt"},
       TinyFamily::roberta},
      {write_shards,
       "--tokenizer",
       "merges.txt",
       {"vocab.json", "merges.txt", "dict.txt", "labels.txt"},
       TinyFamily::roberta},
      {write_json_tokenizer, "--tokenizer", "", {"tokenizer.json"}},
      {write_json_tokenizer, "--tokenizer", "tokenizer.json", {"tokenizer.json"}},
      {write_sentencepiece, "--tokenizer", "", {"spiece.model"}},
      {write_sentencepiece, "--tokenizer", "spiece.model", {"spiece.model"}},
  };
  return all;
}

struct Damage {
  const char* name;
  std::function<void(const std::string& path)> apply;
  std::vector<std::string> reasons;  // the error gives one of them
  bool needs_other_user = false;
  bool fine_if_named = false;  // a pipe that the user names is read
};

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = {
      {"a link to nothing", [](const std::string& path) { fs::create_symlink("nowhere", path); }, {"does not exist"}},
      {"a link to itself",
       [](const std::string& path) { fs::create_symlink(fs::path(path).filename(), path); },
       {"can't be read"}},
      {"a FIFO",
       [](const std::string& path) { REQUIRE(::mkfifo(path.c_str(), 0666) == 0); },
       {"not a regular file"},
       false,
       true},
      {"a folder",
       [](const std::string& path) { fs::create_directories(path); },
       {"not a regular file", "is a folder", "holds no checkpoint", "has no tokenizer files"}},
      {"unreadable",
       [](const std::string& path) {
         write_file(path, "{}");
         fs::permissions(path, fs::perms::none);
       },
       {"can't be read"},
       true},
  };
  return all;
}

// Runs the converter for at most 20 seconds. Root can read every file, so with `other_user` root runs the converter as
// another user, if the system permits that.
class Runner {
 public:
  Runner() {
    fs::permissions(place.path(""), fs::perms::all);
    if (::geteuid() == 0) {
      other_user_ = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
      // The other user can't run a converter that was built below a folder which only root may enter, such as /root.
      // setpriv itself can still start it, so `timeout` must be part of this trial.
      can_become_other_ = place.run_with_prefix(other_user_ + limit_, "--version").status == 0;
    }
  }
  bool can_be_refused() const { return can_become_other_; }
  Run operator()(const std::string& arguments, bool other_user) const {
    return place.run_with_prefix((other_user ? other_user_ : "") + limit_, arguments + " -o " + place.path("x.lnfr"));
  }

  Workplace place;

 private:
  const std::string limit_ = "timeout 20 ";
  std::string other_user_;
  bool can_become_other_ = true;
};

void check_refused(const Run& run, const std::string& path, const std::vector<std::string>& reasons) {
  CAPTURE(run.err);
  CHECK(run.status == 1);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(contains(run.err, path));
  bool told = reasons.empty();
  for (const std::string& reason : reasons) told = told || contains(run.err, reason);
  CHECK(told);
}

// Runs the converter with these arguments: first on undamaged files, where it must succeed, and then with each of
// `files` damaged in each way. If `settings` is true, the user names the file with --config, so the damage that is
// `fine_if_named` is left out.
void check_each(const Runner& runner, const std::string& arguments, const std::function<void(const Workplace&)>& write,
                const std::vector<const char*>& files, bool settings) {
  const auto write_whole = [&] {
    fs::remove_all(runner.place.path("model"));
    write(runner.place);
  };
  write_whole();
  const Run whole = runner(arguments, false);
  REQUIRE_MESSAGE(whole.status == 0, whole.err);
  for (const char* file : files) {
    CAPTURE(std::string(file));
    const std::string path = runner.place.path(std::string("model/") + file);
    for (const Damage& damage : damages()) {
      if ((damage.needs_other_user && !runner.can_be_refused()) || (damage.fine_if_named && settings)) continue;
      CAPTURE(std::string(damage.name));
      write_whole();
      fs::remove(path);
      damage.apply(path);
      check_refused(runner(arguments, damage.needs_other_user), path, damage.reasons);
    }
  }
}

}  // namespace

TEST_CASE("a file beside the checkpoint that can't be read is an error, whether a file or a folder is converted") {
  const Runner runner;
  for (const Model& model : models()) {
    CAPTURE(std::string(model.name));
    for (const char* entrance : model.entrances) {
      CAPTURE(std::string(entrance));
      check_each(runner, runner.place.path(entrance), model.write, model.files, false);
    }
  }
}

TEST_CASE("a file that an option names, or one beside it, that can't be read is an error") {
  const Runner runner;
  write_file(runner.place.path("small"), safetensors(bert().tensors()));
  for (const Named& option : named()) {
    CAPTURE(std::string(option.option));
    CAPTURE(std::string(option.named));
    const bool config = std::string(option.option) == "--config";
    TinyHuggingFace tiny;
    tiny.vocabulary = 2000;
    tiny.family = option.family;
    write_file(runner.place.path("alone"), safetensors(tiny.tensors()));
    write_file(runner.place.path("alone.json"), tiny.config().dump());
    const std::string checkpoint = config ? runner.place.path("small")
                                          : runner.place.path("alone") + " --config " + runner.place.path("alone.json");
    const std::string arguments =
        checkpoint + " " + option.option + " " + runner.place.path(std::string("model/") + option.named);
    check_each(runner, arguments, option.write, option.files, config);
  }
}

TEST_CASE("a file that lacks its end is an error, and so is a file of another model") {
  const Runner runner;
  TinyHuggingFace other = bert();
  other.d = 16;
  other.ffn = 24;
  const std::string other_words = std::string(small_vocabulary) + "c\nd\ne\nf\ng\nh\ni\n";
  json many = json::object();
  for (int i = 0; i < 3000; ++i) many["t" + std::to_string(i)] = i;
  std::vector<HandTensor> wide;
  add_weight_bias(wide, "linear", 4, 16);
  const std::map<std::string, std::string> of_another = {
      {"vocab.txt", other_words},
      {"vocab.json", many.dump()},
      {"2_Dense/model.safetensors", safetensors(wide)},
      {"model-00001-of-00002.safetensors", safetensors(other.tensors())},
      {"model.safetensors.index.json", json{{"weight_map", {{"x", "model-00001-of-00002.safetensors"}}}}.dump()},
      {"tokenizer.json", json{{"model", {{"type", "WordPiece"}, {"vocab", many}, {"unk_token", "t0"}}},
                              {"pre_tokenizer", {{"type", "BertPreTokenizer"}}}}
                             .dump()}};
  for (const Model& model : models()) {
    for (const char* entrance : model.entrances) {
      for (const std::string file : model.files) {
        CAPTURE(std::string(entrance));
        CAPTURE(file);
        const std::string path = runner.place.path("model/" + file);
        fs::remove_all(runner.place.path("model"));
        model.write(runner.place);
        const std::string whole = read_file(path);
        REQUIRE(whole.size() > 3);
        write_file(path, whole.substr(0, whole.size() - 3));
        const Run cut = runner(runner.place.path(entrance) + " --verbose", false);
        if (file == "labels.txt") {
          // Folders often hold lists of labels that don't fit the model, so this is a note and no error.
          CHECK(cut.status == 0);
          CHECK(contains(cut.out, path + " has 1 labels, which fits no head or several, and was not used"));
        } else {
          check_refused(cut, path, {});
        }
        const auto found = of_another.find(file);
        if (found == of_another.end()) continue;
        write_file(path, found->second);
        const Run mixed = runner(runner.place.path(entrance), false);
        CAPTURE(mixed.err);
        CHECK(mixed.status == 1);
        CHECK(std::count(mixed.err.begin(), mixed.err.end(), '\n') == 1);
      }
    }
  }
}

}  // namespace linformer_test::side_files_test
