// Puts control characters into every path, name, setting and option value that `linformer-convert` is given. None may
// reach a terminal.
#include <doctest/doctest.h>

#include <filesystem>

#include "cli/sentiment_model.h"
#include "converter/tiny_fairseq.h"
#include "terminal/printed.h"

namespace linformer_test::conversions_test {

using Arguments = std::vector<std::string>;

namespace {

// Checks the conversion with each option that changes what is printed about it.
void check(const Arguments& arguments) {
  const std::vector<const char*> ways = exhaustive() ? std::vector<const char*>{"", "--verbose", "--json", "--quiet"}
                                                     : std::vector<const char*>{"--verbose", "--json"};
  for (const char* how : ways) {
    CAPTURE(how);
    Arguments all = arguments;
    if (*how != '\0') all.push_back(how);
    run_and_check_output(LINFORMER_CONVERT, all);
  }
}

struct Files {
  Files() { std::filesystem::create_directory(folder.path(hostile_bytes)); }
  std::string file(const std::string& ending, const std::string& content) const {
    return folder.file(hostile_bytes + "/" + hostile_bytes + ending, content);
  }

  Folder folder;
  const WorkingDirectory working_directory{folder.path("")};
  const std::string place = folder.path(hostile_bytes) + "/" + hostile_bytes;
  const std::string output = place + ".out";
};

std::vector<HandTensor> tensors_with_head(const std::string& name) {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, name, 8, 8, 2);
  return tensors;
}

}  // namespace

TEST_CASE("a conversion prints no control character of paths, tensor names, settings and labels") {
  const Files files;
  HandSettings settings = TinyFairseq().settings();
  const std::string plain = files.file(".pt", torch_zip(tensors_with_head("head"), settings));
  settings[hostile_text] = hostile_text;
  std::vector<HandTensor> tensors = tensors_with_head(hostile_text);
  tensors.push_back(random_tensor(hostile_text, {2, 2}, 7));
  const std::string hostile = files.file("hostile.pt", torch_zip(tensors, settings));
  const std::string safe = files.file("hostile.safetensors", safetensors(tensors, {{hostile_text, hostile_text}}));
  const std::string config = files.file(
      ".json",
      nlohmann::json{{"encoder_attention_heads", 2}, {hostile_text, hostile_text}, {"attention_headz", 2}}.dump());
  const std::string wrong = files.file("wrong.json", "{\"a\": " + hostile_bytes);
  const std::string empty = files.file("empty.pt", "");
  std::filesystem::create_directory(files.place);
  const auto convert = [&](Arguments more) {
    more.insert(more.end(), {"--force", "-o", files.output});
    check(more);
  };
  convert({plain});
  convert({hostile});
  convert({safe, "--config", config});
  convert({plain, "--config", config});
  convert({plain, "--config", wrong});
  convert({plain, "--config", files.place});
  convert({empty});
  convert({files.place});
  convert({files.place + "absent"});
  convert({plain, "--tokenizer", files.place});
  convert({plain, "--tokenizer", wrong});
  convert({plain, "--labels", "good," + hostile_text});
  convert({plain, "--labels", hostile_text + "=good,bad"});
  convert({plain, "--dtype", "bf16", "--dtype-for", "f32:*fc1*"});
  check({plain, "-o", files.place});
  check({plain, "-o", wrong});
  check({plain, "-o", plain});
  check({plain, "-o", files.place + "/absent/x"});
  check({hostile_bytes});
  check({"--" + hostile_bytes});
  // The model is exported to a checkpoint.
  const std::string model = files.place + ".lnfr";
  run_and_check_output(LINFORMER_CONVERT, {plain, "-o", model});
  REQUIRE(std::filesystem::exists(model));
  check({"--from-lnfr", model, "--force", "-o", files.output});
  check({"--from-lnfr", model, "-o", wrong});
  check({"--from-lnfr", wrong, "-o", files.output});
  for (const std::string& option : listed_options(LINFORMER_CONVERT, {})) {
    CAPTURE(option);
    run_and_check_output(LINFORMER_CONVERT, {plain, "--force", "-o", files.output, option, hostile_bytes});
    run_and_check_output(LINFORMER_CONVERT, {hostile, "--force", "-o", files.output, option, hostile_text});
    run_and_check_output(LINFORMER_CONVERT,
                         {"--from-lnfr", model, "--force", "-o", files.output, option, hostile_bytes});
  }
}

TEST_CASE("a conversion prints no control character of the files beside the checkpoint") {
  const Files files;
  const std::string folder = files.place + "model", output = files.output;
  std::filesystem::create_directory(folder);
  const auto write = [&](const std::string& name, const std::string& content) {
    files.folder.file(hostile_bytes + "/" + hostile_bytes + "model/" + name, content);
  };
  const auto convert = [&] { check({folder, "--force", "-o", output}); };
  write("model.pt", torch_zip(tensors_with_head("head"), TinyFairseq().settings()));
  convert();
  write("checkpoint_last.pt", "another");
  for (const char* name : {"config.json", "tokenizer.json", "vocab.txt", "labels.txt", "modules.json", "vocab.json",
                           "merges.txt", "dict.txt", "tokenizer_config.json", "config_sentence_transformers.json"}) {
    CAPTURE(name);
    for (const std::string& content :
         {hostile_bytes, "{\"" + hostile_text + "\": 1}", nlohmann::json{{hostile_text, hostile_text}}.dump(),
          nlohmann::json{{"type", hostile_text},
                         {"id2label", {{"0", hostile_text}, {"1", "b"}}},
                         {"model", {{"type", hostile_text}}},
                         {"model_type", hostile_text},
                         {"architectures", {hostile_text}}}
              .dump()}) {
      write(name, content);
      convert();
    }
    std::filesystem::remove(folder + "/" + name);
    std::filesystem::create_symlink(hostile_bytes, folder + "/" + name);
    convert();
    std::filesystem::remove(folder + "/" + name);
  }
}

}  // namespace linformer_test::conversions_test
