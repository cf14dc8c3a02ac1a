#include <doctest/doctest.h>

#include <fstream>

#include "linformer/build_info.h"
#include "linformer/session.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::inspect_test {

using nlohmann::json;

TEST_CASE("inspect: the parts of a model are described") {
  const CliFixture f;
  const Ran ran = run({"inspect", f.model()});
  CHECK(ran.code == 0);
  for (const char* part :
       {"d_model 16", "linear, k = 4, before the key and value linears",
        "1 projection, shared by heads, keys and values, layers", "3 classes (neg, neu, pos)", "4 classes (not named)",
        "WordPiece, 13 tokens", "max tokens    12", "head, tied to the embedding", "post-norm", "made up"}) {
    CAPTURE(part);
    CHECK(ran.out.find(part) != std::string::npos);
  }
  const json description = json::parse(run({"inspect", f.model(), "--json", "--tensors", "--verify"}).out);
  CHECK(description["max_tokens"] == 12);
  CHECK(description["vocab_size"] == 13);
  CHECK(description["layers"].size() == 1);
  CHECK(description["heads"][0]["labels"] == json::parse("[\"neg\",\"neu\",\"pos\"]"));
  CHECK(description["tensors"].size() == description["tensor_count"]);
  CHECK(description["verified"] == true);
  CHECK(description["sharing"]["keys_and_values"] == true);
  CHECK(run({"inspect", f.model(), "--tensors"}).out.find("13 x 16") != std::string::npos);
  const CliFixture bare({.tokenizer = false, .heads = false});
  const Ran without = run({"inspect", bare.model()});
  CHECK(without.out.find("no classification head") != std::string::npos);
  CHECK(without.out.find("none (linformer-convert --tokenizer DIR adds one)") != std::string::npos);
  CHECK(json::parse(run({"inspect", bare.model(), "--json"}).out)["tokenizer"].is_null());
}

TEST_CASE("inspect: --memory prints the memory that a session allocates") {
  const CliFixture f;
  const json memory = json::parse(
      run({"inspect", f.model(), "--json", "--memory", "8", "--batch", "3", "--threads", "2"}).out)["memory"];
  CHECK(memory["max_tokens"] == 8);
  CHECK(memory["max_batch"] == 3);
  CHECK(memory["max_rows"] == 24);
  CHECK(memory["threads"] == 2);
  const auto model = linformer::Model::load(f.model().c_str());
  REQUIRE(model.ok());
  linformer::SessionOptions options;
  options.memory.max_tokens = 8;
  options.memory.max_batch = 3;
  options.cpu.threads = 2;
  const auto session = linformer::Session::create(model.value(), options);
  REQUIRE(session.ok());
  CHECK(memory["total_bytes"] == session.value().plan().total_bytes);
  uint64_t sum = 0;
  for (const json& buffer : memory["buffers"]) sum += buffer["bytes"].get<uint64_t>();
  CHECK(sum == memory["total_bytes"]);
  const Ran text = run({"inspect", f.model(), "--memory", "8"});
  CHECK(text.out.find("total") != std::string::npos);
  CHECK(text.out.find("4 x rows x d_row") != std::string::npos);
  CHECK(text.out.find("A session for texts of n = 8 tokens, native backend, computing in f32:\n") != std::string::npos);
  CHECK(run({"inspect", f.model(), "--memory", "13"}).code == 2);
}

TEST_CASE("inspect: JSON names the version of the library that multiplies") {
  const CliFixture f;
  for (const std::string backend : {"native", "onednn", "openblas"}) {
    CAPTURE(backend);
    const Ran ran = run({"inspect", f.model(), "--memory", "8", "--backend", backend, "--json"});
    const linformer::Result<linformer::Version> version =
        linformer::backend_version(backend == "native"   ? linformer::BackendKind::native
                                   : backend == "onednn" ? linformer::BackendKind::onednn
                                                         : linformer::BackendKind::openblas);
    if (!version.ok()) continue;
    REQUIRE(ran.code == 0);
    const json memory = json::parse(ran.out)["memory"];
    REQUIRE(memory.contains("backend_version") == (backend != "native"));
    if (backend == "native") continue;
    CHECK(memory["backend_version"] ==
          std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch));
  }
}

TEST_CASE("inspect: bf16 that no kernel supports is the same error as in the commands that compute") {
  const CliFixture f;
  const std::string sentence = "the options ask for bf16, and the avx2 kernels have no instruction for it";
  for (const char* option : {"--compute", "--attention-compute"}) {
    CAPTURE(option);
    const Ran computed = run({"classify", f.model(), "a good film", "--isa", "avx2", option, "bf16"});
    if (computed.err.find(sentence) == std::string::npos) continue;  // a machine without AVX2
    const Ran described = run({"inspect", f.model(), "--isa", "avx2", option, "bf16"});
    CHECK(described.code == computed.code);
    CHECK(described.out == "");
    CHECK(described.err.find(sentence) != std::string::npos);
  }
}

TEST_CASE("inspect: the type that a file is computed in follows the options that a session takes") {
  const CliFixture f;
  for (const auto type : {linformer::ElementType::bf16, linformer::ElementType::int8}) {
    SentimentModel shape;
    shape.type = type;
    const std::string model = f.path("narrow.lnfr"), name = type == linformer::ElementType::bf16 ? "bf16" : "int8";
    write_sentiment_model(shape, model);
    const auto computed = [&](std::vector<std::string> options) {
      options.insert(options.begin(), {"inspect", model});
      const std::string text = run(options).out;
      options.push_back("--json");
      const json described = json::parse(run(options).out);
      const std::string line = text.substr(text.find("computed in") + 14);
      return line.substr(0, line.find('\n')) + " | " + described["compute"].get<std::string>() + " " +
             described["attention_compute"].get<std::string>();
    };
    CHECK(computed({"--compute", "f32"}) == "f32 | f32 f32");
    CHECK(computed({"--isa", "scalar"}) == (name == "bf16" ? "f32 | f32 f32" : "int8 (attention in f32) | int8 f32"));
    CHECK(computed({"--isa", "scalar", "--compute", "bf16"}) ==
          (name == "bf16" ? "bf16 | bf16 bf16" : "int8 (attention in bf16) | int8 bf16"));
    CHECK(computed({"--isa", "scalar", "--compute", "bf16", "--attention-compute", "f32"}) ==
          name + " (attention in f32) | " + name + " f32");
    CHECK(computed({"--isa", "scalar", "--compute", "f32", "--attention-compute", "bf16"}) ==
          "f32 (attention in bf16) | f32 bf16");
    const auto precision = [&](std::vector<std::string> options) {
      options.insert(options.begin(), {"inspect", model, "--isa", "scalar"});
      const std::string text = run(options).out;
      options.push_back("--json");
      const std::string said = json::parse(run(options).out)["precision"];
      CHECK(text.find("precision ") != std::string::npos);
      CHECK(text.find(said + "\n") != std::string::npos);  // the whole line
      options.insert(options.end(), {"--memory", "8"});
      CHECK(json::parse(run(options).out)["memory"]["precision"] == said);
      return said;
    };
    CHECK(precision({}).ends_with("attention is computed in f32" + std::string(name == "bf16" ? ": these" : " (these") +
                                  " kernels have no instruction for bf16 on this machine" +
                                  (name == "bf16" ? "." : ").")));
    CHECK(precision({"--attention-compute", "bf16"}).ends_with("in bf16 (the options ask for it)."));
    CHECK(computed({"--isa", "scalar", "--pad-to", "8"}) == computed({"--isa", "scalar"}));
    const Ran other = run({"inspect", model, "--backend", "openblas", "--compute", "bf16"});
    CHECK(other.code == 2);
    CHECK(other.err.find("--compute bf16: only the native backend multiplies bf16") != std::string::npos);
    CHECK(run({"inspect", model, "--device", "cuda", "--attention-compute", "f32"}).code == 2);
  }
}

#ifdef LINFORMER_CONVERT
TEST_CASE("inspect: a file is computed in the type of most of its weights, not of its first ones") {
  const Folder folder;
  const std::string checkpoint = LINFORMER_TEST_DATA_DIR "/golden/fairseq/classifier/checkpoint.pt";
  const std::string model = folder.path("spared.lnfr");
  std::vector<std::string> arguments = {checkpoint, "-o", model, "--quiet", "--dtype", "int8"};
  REQUIRE(run_program(LINFORMER_CONVERT, arguments).code == 0);
  CHECK(run({"inspect", model}).out.find("another type") == std::string::npos);
  CHECK(json::parse(run({"inspect", model, "--json"}).out)["other_compute"] == false);
  arguments.insert(arguments.end(), {"--dtype-for", "f32:*layers.0.self_attn.*"});
  REQUIRE(run_program(LINFORMER_CONVERT, arguments).code == 0);
  CHECK(run({"inspect", model}).out.find("int8, some weights in another type") != std::string::npos);
  const json described = json::parse(run({"inspect", model, "--json"}).out);
  CHECK(described["compute"] == "int8");
  CHECK(described["other_compute"] == true);
}
#endif

TEST_CASE("inspect: --verify finds a changed weight") {
  const CliFixture f;
  const json description = json::parse(run({"inspect", f.model(), "--json", "--tensors"}).out);
  std::ifstream in(f.model(), std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  bytes[bytes.size() - 3000] = static_cast<char>(bytes[bytes.size() - 3000] ^ 1);
  f.file("changed.lnfr", bytes);
  const Ran ran = run({"inspect", f.path("changed.lnfr"), "--verify"});
  CHECK(ran.code == 1);
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(run({"inspect", f.model(), "--verify"}).code == 0);
  CHECK(run({"inspect"}).code == 2);
}

}  // namespace linformer_test::inspect_test
