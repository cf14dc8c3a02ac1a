// Runs the program on goldens of models that read vectors, that compare two texts or that put a token before a text,
// and on the golden of an encoder-decoder.
#include <doctest/doctest.h>

#include <cmath>

#include "arrays.h"
#include "golden/family_case.h"
#include "process.h"
#include "sentiment_model.h"
#include "support/shared_data.h"

namespace linformer_test::golden_families_test {
namespace {

std::string converted(const Folder& folder, const FamilyCase& c) {
  const std::string config = folder.file("config.json", c.config), model = folder.path("model.lnfr");
  REQUIRE(run_program(LINFORMER_CONVERT,
                      {(c.folder / "checkpoint.pt").string(), "-o", model, "--quiet", "--force", "--config", config})
              .code == 0);
  return model;
}

void check_close(const FloatArray& ours, const NpyArray& theirs, double tolerance) {
  REQUIRE(ours.shape == theirs.shape);
  const std::vector<double> expected = theirs.values<double>();
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(ours.values[i]) - expected[i]));
  }
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE("classify and encode --vectors reproduce vit_pytorch with a Linformer") {
  const std::string golden = golden_cases_folder() + "/vit_pytorch_linformer";
  for (const char* name : {"cls", "mean"}) {
    CAPTURE(name);
    const Folder folder;
    const FamilyCase c = read_case(golden + "/" + name);
    const std::string model = converted(folder, c);
    for (const std::string& run_name : c.runs) {
      const std::vector<float> patches = read_inputs(c, run_name, "tokens", 0).vectors.at(0);
      const int64_t count = static_cast<int64_t>(patches.size()) / 48;
      const std::string file = folder.file("patches.npy", npy_of_floats<float>({1, count, 48}, patches));
      const NpyArray& expected = c.arrays.at(run_name + ".logits.f64");
      CHECK(run({"encode", model, "--vectors", file, "--what", "logits", "-o", folder.path("l.npy")}).code == 0);
      check_close(parse_float_npy(read_file(folder.path("l.npy"))), expected, 1e-5);
      CHECK(run({"classify", model, "--vectors", file, "--logits", folder.path("c.npy")}).code == 0);
      check_close(parse_float_npy(read_file(folder.path("c.npy"))), expected, 1e-5);
    }
  }
}

TEST_CASE("encode reproduces the Long Range Arena's classifiers of one text and of two") {
  const std::string golden = golden_cases_folder() + "/nystromformer";
  for (const char* name : {"lra_cls", "lra_dual"}) {
    CAPTURE(name);
    const Folder folder;
    const FamilyCase c = read_case(golden + "/" + name);
    const std::string model = converted(folder, c);
    const bool two = c.arrays.contains("padded.tokens0");
    // lra_cls uses one of its 48 rows for the token that it puts before the text.
    const FamilyInputs inputs = read_inputs(c, "padded", two ? "tokens0" : "tokens", two ? 48 : 47);
    std::string lines;
    for (const auto& ids : inputs.tokens) lines += nlohmann::json(ids).dump() + "\n";
    const auto encode = [&](const char* what) {
      const Ran ran = run({"encode", model, "--ids", "-", "--padding", "keep", "--what", what, "-o", "-"}, lines);
      CHECK(ran.code == 0);
      return parse_float_npy(ran.out);
    };
    check_close(encode("logits"), c.arrays.at("padded.logits.f64"), 1e-5);
    if (!two) check_close(encode("hidden"), c.arrays.at("padded.features.f64"), 5e-5);
  }
}

TEST_CASE("an encoder-decoder is described and its encoder's rows are saved, but its heads are refused in one line") {
  const std::string golden = golden_cases_folder() + "/tatp22/encdec";
  const Folder folder;
  const std::string model = converted(folder, read_case(golden));
  const Ran described = run({"inspect", model});
  CHECK(described.code == 0);
  CHECK(described.out.find("decoder attention") != std::string::npos);
  CHECK(run({"inspect", model, "--json"}).code == 0);
  const std::string ids = folder.file("i.jsonl", "[1, 2, 3]\n");
  CHECK(run({"encode", model, "--ids", ids, "-o", folder.path("h.npy")}).code == 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"fill-mask", model, "a"},
        {"perplexity", model, "--ids", ids},
        {"encode", model, "--ids", ids, "--what", "mlm", "-o", folder.path("m.npy")}}) {
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(ran.err.find("decoder, which only the library runs") != std::string::npos);
  }
}

}  // namespace linformer_test::golden_families_test
