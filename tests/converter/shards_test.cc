// Tests checkpoints in several files with an index, as save_pretrained writes them, and indexes that are wrong.
#include <doctest/doctest.h>

#include "converter/checks.h"
#include "converter/pickle_writer.h"
#include "converter/readers/error.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"

namespace linformer_test::shards_test {

using nlohmann::json;

namespace {

// A BERT checkpoint in three files.
class Sharded {
 public:
  explicit Sharded(bool pickled) : pickled_(pickled) {
    std::filesystem::create_directories(place_.path("model"));
    tensors_ = tiny_.tensors();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      parts_[i % 3].push_back(tensors_[i]);
      map_[tensors_[i].name] = file(i % 3);
    }
    for (size_t i = 0; i < 3; ++i) write_shard(i);
    write("config.json", tiny_.config().dump());
    write_index();
  }

  std::string file(size_t i) const {
    const std::string name = pickled_ ? "pytorch_model-0000" : "model-0000";
    return name + std::to_string(i + 1) + "-of-00003" + (pickled_ ? ".bin" : ".safetensors");
  }
  std::string index() const { return pickled_ ? "pytorch_model.bin.index.json" : "model.safetensors.index.json"; }
  void write(const std::string& name, const std::string& bytes) const { write_file(path(name), bytes); }
  void write_shard(size_t i) const { write(file(i), bytes_of(parts_[i])); }
  void write_index() const { write(index(), json({{"metadata", {{"total_size", 1}}}, {"weight_map", map_}}).dump()); }
  std::string bytes_of(const std::vector<HandTensor>& tensors) const {
    return pickled_ ? torch_zip(tensors) : safetensors(tensors, {{"format", "pt"}});
  }
  std::string path(const std::string& name) const { return place_.path("model/" + name); }
  Run convert(const std::string& what, const std::string& more = "") const {
    return place_.run(what + more + " -o " + place_.path("x.lnfr"));
  }
  Run convert() const { return convert(place_.path("model")); }
  // Returns the model file to which the same checkpoint converts if it is a single file.
  std::string convert_unsharded() const {
    write_file(place_.path("whole"), bytes_of(tensors_));
    REQUIRE(
        place_.run(place_.path("whole") + " --config " + path("config.json") + " -o " + place_.path("w.lnfr")).status ==
        0);
    return read_file(place_.path("w.lnfr"));
  }
  std::string model() const { return read_file(place_.path("x.lnfr")); }

  std::vector<HandTensor> tensors_, parts_[3];
  json map_ = json::object();
  Workplace place_;

 private:
  bool pickled_;
  TinyHuggingFace tiny_;
};

void check_error(const Run& run, const std::vector<std::string>& parts) {
  CAPTURE(run.err);
  CHECK(run.status == 1);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  check_sentence(run.err, parts);
}

}  // namespace

TEST_CASE("a checkpoint in several files converts to the same model file as in one file, by its folder or its index") {
  for (const bool pickled : {false, true}) {
    CAPTURE(pickled);
    const Sharded sharded(pickled);
    const std::string whole = sharded.convert_unsharded();
    const Run folder = sharded.convert();
    CHECK(folder.err == "");
    REQUIRE(folder.status == 0);
    CHECK(sharded.model() == whole);
    CHECK(contains(folder.out, pickled ? "PyTorch zip in 3 files" : "safetensors in 3 files"));
    const Run index = sharded.convert(sharded.path(sharded.index()), " --config " + sharded.path("config.json"));
    CHECK(index.err == "");
    CHECK(sharded.model() == whole);
    // If a single file and shards are both present, the single file is read.
    sharded.write(pickled ? "pytorch_model.bin" : "model.safetensors", sharded.bytes_of(sharded.tensors_));
    CHECK(contains(sharded.convert(sharded.place_.path("model"), " --verbose").out, "is there too and was not used"));
  }
}

TEST_CASE("a shard may be a link to elsewhere, as in the caches of hubs") {
  const Sharded sharded(false);
  std::filesystem::create_directories(sharded.place_.path("blobs"));
  std::filesystem::rename(sharded.path(sharded.file(1)), sharded.place_.path("blobs/1234"));
  std::filesystem::create_symlink("../blobs/1234", sharded.path(sharded.file(1)));
  const Run run = sharded.convert();
  CHECK(run.err == "");
  CHECK(sharded.model() == sharded.convert_unsharded());
}

TEST_CASE("indexes that name wrong files or tensors are refused, with the name of what is wrong") {
  for (const bool pickled : {false, true}) {
    CAPTURE(pickled);
    const std::string first = TinyHuggingFace().tensors()[0].name;
    const auto with = [&](const std::function<void(Sharded&)>& change, const std::vector<std::string>& parts) {
      Sharded sharded(pickled);
      change(sharded);
      std::vector<std::string> all = parts;
      all.push_back(sharded.index());
      check_error(sharded.convert(), all);
      CHECK(!std::filesystem::exists(sharded.place_.path("x.lnfr")));
    };
    for (const std::string name : {"../outside", "/etc/passwd", "sub/file", "..", ".", "", "a\\u0000b"}) {
      with(
          [&](Sharded& s) {
            s.map_[first] = "NAME";
            s.write(s.index(), json({{"weight_map", s.map_}}).dump());
            std::string text = read_file(s.path(s.index()));
            text.replace(text.find("NAME"), 4, name);
            s.write(s.index(), text);
          },
          {"the index names the file"});
    }
    with([](Sharded& s) { std::filesystem::remove(s.path(s.file(2))); }, {"00003-of-00003", "not beside it", "copy"});
    with([](Sharded& s) { s.write(s.file(1), ""); }, {"00002-of-00003", "empty"});
    with([](Sharded& s) { s.write(s.file(1), s.bytes_of(s.parts_[1]).substr(0, 100)); }, {"00002-of-00003"});
    // The index names itself, and another index.
    with(
        [&](Sharded& s) {
          s.map_ = {{first, s.index()}};
          s.write_index();
        },
        {"neither a PyTorch checkpoint"});
    // In these cases a tensor is in two files, is in no file, is unknown to the index, or is in another file.
    with(
        [](Sharded& s) {
          s.parts_[1].push_back(s.parts_[0][0]);
          s.write_shard(1);
        },
        {first, "00002-of-00003", "00001-of-00003"});
    with(
        [](Sharded& s) {
          s.parts_[0].erase(s.parts_[0].begin());
          s.write_shard(0);
        },
        {first, "00001-of-00003", "where it is not"});
    with(
        [](Sharded& s) {
          s.parts_[2].push_back(random_tensor("stranger", {2}, 1));
          s.write_shard(2);
        },
        {"stranger", "00003-of-00003", "not in the index"});
    with(
        [&](Sharded& s) {
          s.map_[first] = s.file(1);
          s.write_index();
        },
        {first, "puts it into", "00002-of-00003"});
    // These files are not indexes.
    with([](Sharded& s) { s.write(s.index(), "{}"); }, {"no weight_map"});
    with([](Sharded& s) { s.write(s.index(), R"({"weight_map": ["a"]})"); }, {"no weight_map"});
    with([](Sharded& s) { s.write(s.index(), R"({"weight_map": {}})"); }, {"names no tensors"});
    with([](Sharded& s) { s.write(s.index(), R"({"weight_map": {"a": 1}})"); }, {"\"a\"", "whole number"});
    with([](Sharded& s) { s.write(s.index(), R"({"weight_map": {"a": "x", "a": "y"}})"); }, {"\"a\" twice"});
    with([](Sharded& s) { s.write(s.index(), R"({"weight_map": )"); }, {"not valid JSON"});
    with(
        [](Sharded& s) {
          json many = json::object();
          for (int i = 0; i < 1100; ++i) many["t" + std::to_string(i)] = "f" + std::to_string(i);
          s.write(s.index(), json({{"weight_map", many}}).dump());
        },
        {"more than 1024 files"});
    with([](Sharded& s) { s.write(s.index(), "{" + std::string(17u << 20, ' ')); }, {"more than 16777216 bytes"});
  }
}

TEST_CASE("tensors that overlap within a shard are refused, with the shard's name") {
  const Sharded sharded(false);
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)";
  header += R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  sharded.write(sharded.file(0), safetensors_file(header, std::string(12, '\0')));
  check_error(sharded.convert(), {"model-00001-of-00003", "overlap"});
}

TEST_CASE("one file of a checkpoint in several files is refused, and the error names the index") {
  for (const bool pickled : {false, true}) {
    CAPTURE(pickled);
    const Sharded sharded(pickled);
    const std::string shard = sharded.path(sharded.file(1));
    check_error(sharded.convert(shard), {shard, "is one of 3 files: give the folder, or its index " + sharded.index()});
    std::filesystem::remove(sharded.path(sharded.index()));
    check_error(sharded.convert(shard), {"is one of 3 files", sharded.index() + " is not beside it"});
    // A file that is the only one of its checkpoint is converted.
    sharded.write("model-00001-of-00001.safetensors", safetensors(TinyHuggingFace().tensors()));
    CHECK(sharded.convert(sharded.path("model-00001-of-00001.safetensors"), " --config " + sharded.path("config.json"))
              .status == 0);
  }
}

TEST_CASE("no shard is overwritten") {
  const Sharded sharded(false);
  const std::string before = read_file(sharded.path(sharded.file(1)));
  const Run run = sharded.place_.run(sharded.place_.path("model") + " --force -o " + sharded.path(sharded.file(1)));
  check_error(run, {"is the input"});
  CHECK(read_file(sharded.path(sharded.file(1))) == before);
}

}  // namespace linformer_test::shards_test
