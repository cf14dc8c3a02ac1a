// Tests names of outputs whose ending contradicts the format, and names of the Hugging Face Hub given as paths.
#include "files/endings.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "files/hub_name.h"
#include "support/temporary_folder.h"

namespace linformer_test::endings_test {

using namespace linformer::files;

TEST_CASE("an ending of another format is refused with the right one, and every other ending is accepted") {
  struct Case {
    const char* path;
    FileFormat format;
    const char* sentence;  // the error, or "" if the ending is accepted
  };
  const Case cases[] = {
      {"emb.csv", FileFormat::npy, "emb.csv would hold an array (npy) and not CSV: end its name in .npy"},
      {"back.pt", FileFormat::safetensors,
       "back.pt would hold safetensors and not a PyTorch file: end its name in .safetensors"},
      {"sp.png", FileFormat::svg, "sp.png would hold a picture in SVG and not a PNG image: end its name in .svg"},
      {"model.safetensors", FileFormat::model,
       "model.safetensors would hold a model file and not safetensors: end its name in .lnfr"},
      {"a.lnfr.gz", FileFormat::model,
       "a.lnfr.gz would hold a model file and not data compressed by gzip: end its name in .lnfr"},
      {"v.jsonl", FileFormat::npy, "v.jsonl would hold an array (npy) and not JSON lines: end its name in .npy"},
      {"v.NPY", FileFormat::json_lines, "v.NPY would hold JSON lines and not an array (npy): end its name in .jsonl"},
      {"t.tsv", FileFormat::csv, "t.tsv would hold CSV and not TSV: end its name in .csv"},
      {"v.npy", FileFormat::npy, ""},
      {"v.NpY", FileFormat::npy, ""},
      {"v.ndjson", FileFormat::json_lines, ""},
      {"v.txt", FileFormat::json_lines, ""},
      {"t.txt", FileFormat::csv, ""},
      {"p.htm", FileFormat::html, ""},
      {"model.lnfr", FileFormat::model, ""},
      {"model", FileFormat::model, ""},
      {"model.bin", FileFormat::model, ""},
      {"model.v1.2", FileFormat::model, ""},
      {".csv", FileFormat::npy, ""},  // a hidden file's name, without an ending
      {"folder.csv/model", FileFormat::npy, ""},
      {"-", FileFormat::npy, ""},
      {"", FileFormat::npy, ""},
      {"/dev/null", FileFormat::npy, ""}};
  for (const Case& c : cases) CHECK(wrong_ending_message(c.path, c.format) == c.sentence);
}

TEST_CASE("an output that is a pipe or a device is accepted with every ending of its name") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo(folder.path("pipe.csv").c_str(), 0600) == 0);
  CHECK(wrong_ending_message(folder.path("pipe.csv"), FileFormat::npy) == "");
  std::filesystem::create_symlink("/dev/stdout", folder.path("out.csv"));
  CHECK(wrong_ending_message(folder.path("out.csv"), FileFormat::npy) == "");
}

TEST_CASE("names of the Hugging Face Hub are distinguished from paths") {
  for (const char* name : {"sentence-transformers/all-MiniLM-L6-v2", "bert-base-uncased", "google/bert_uncased_L-2"}) {
    CAPTURE(std::string(name));
    CHECK(hub_name_advice(name).find(std::string("hf download ") + name + " --local-dir ") != std::string::npos);
  }
  const TemporaryFolder folder;
  for (const std::string& path :
       {std::string(), std::string("model"), std::string("model-1.pt"), std::string("runs/model.pt"),
        std::string("./a/b"), std::string("/a/b"), std::string("a/b/c"), std::string("org/na me"),
        folder.path("absent"), std::string("a\x1b/b"), std::string(500, 'a')}) {
    CAPTURE(path);
    CHECK(hub_name_advice(path) == "");
  }
}

}  // namespace linformer_test::endings_test
