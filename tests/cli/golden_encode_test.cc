// Compares `linformer encode --padding keep` on converted checkpoints with what fairseq computed for padded batches.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "process.h"
#include "sentiment_model.h"
#include "support/npz.h"
#include "support/shared_data.h"

namespace linformer_test::golden_encode_test {
namespace {

// Compares the padded outputs of the goldens in the folder `golden`, and returns how many outputs were compared.
int compare_padded(const std::string& golden) {
  int compared = 0;
  for (const char* name : {"classifier", "prenorm", "shared_layer_kv", "unshared", "v2020_unshared"}) {
    CAPTURE(name);
    const Folder folder;
    const std::string model = folder.path("model.lnfr"), directory = golden + "/fairseq/" + name;
    if (!std::filesystem::exists(directory)) continue;
    REQUIRE(run_program(LINFORMER_CONVERT, {directory + "/checkpoint.pt", "-o", model, "--quiet"}).code == 0);
    for (const auto& array : read_npz(directory + "/io.npz")) {
      const std::string& key = array.first;
      const NpyArray& expected = array.second;
      const size_t dot = key.find('.');
      const std::string run_name = key.substr(0, dot);
      if ((run_name != "pad" && run_name != "leftpad") || !key.ends_with(".f64")) continue;
      const std::string output = key.substr(dot + 1, key.size() - dot - 5);
      const bool logits = output.starts_with("cls."), mlm = output == "mlm_logits";
      const std::string what = logits                          ? "logits:" + output.substr(4)
                               : mlm                           ? "mlm"
                               : output == "features"          ? "hidden"
                               : output.starts_with("hidden.") ? "hidden:" + output.substr(7)
                                                               : "";
      REQUIRE(what != "");
      std::string lines;
      const NpyArray tokens = read_npz(directory + "/io.npz").at(run_name + ".tokens");
      const std::vector<int64_t> ids = tokens.values<int64_t>();
      for (size_t i = 0; i < ids.size(); ++i) {
        const size_t column = i % static_cast<size_t>(tokens.shape[1]);
        lines += column == 0 ? '[' : ',';
        lines += std::to_string(ids[i]);
        if (column + 1 == static_cast<size_t>(tokens.shape[1])) lines += "]\n";
      }
      CAPTURE(key);
      const Ran ran = run({"encode", model, "--ids", "-", "--what", what, "--padding", "keep", "-o", "-"}, lines);
      REQUIRE(ran.code == 0);
      const NpyArray actual = parse_npy(ran.out);
      REQUIRE(actual.shape == expected.shape);
      const std::vector<float> values = actual.values<float>();
      const std::vector<double> reference = expected.values<double>();
      double worst = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        worst = std::max(worst, std::abs(static_cast<double>(values[i]) - reference[i]));
      }
      CHECK(worst <= (logits ? 1e-5 : mlm ? 1e-4 : 5e-5));
      ++compared;
    }
  }
  MESSAGE(compared << " padded outputs compared");
  return compared;
}

}  // namespace

TEST_CASE("encode --padding keep reproduces fairseq's padded batches") {
  CHECK(compare_padded(golden_cases_folder()) >= 4);
}

TEST_CASE("encode --padding keep reproduces all of fairseq's padded batches" * doctest::test_suite("shared")) {
  if (const auto golden = shared_path("golden")) CHECK(compare_padded(*golden) >= 15);
}

}  // namespace linformer_test::golden_encode_test
