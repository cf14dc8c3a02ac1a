// Tests --config with JSON instead of a file, and the examples of it in errors.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/workplace.h"

namespace linformer_test::inline_settings_test {
namespace {

// Returns the settings in the first "--config '...'" of an error.
std::string shown_settings(const std::string& error) {
  const std::string before = "--config '";
  const size_t begin = error.find(before);
  REQUIRE_MESSAGE(begin != error.npos, error);
  const size_t end = error.find('\'', begin + before.size());
  REQUIRE(end != error.npos);
  return error.substr(begin + before.size(), end - begin - before.size());
}

}  // namespace

TEST_CASE("--config reads a value that begins with a brace as the settings themselves") {
  Workplace place;
  const TinyFairseq tiny;
  write_file(place.path("c.pt"), torch_zip(tiny.tensors()));
  const auto run = [&](const std::string& more) {
    return place.run(place.path("c.pt") + " -o " + place.path("x.lnfr") + more);
  };
  for (const char* settings : {R"('{"encoder_attention_heads": 4}')", R"('  {"encoder_attention_heads": 4}')",
                               R"('{"model": {"encoder_attention_heads": 4}}')"}) {
    CAPTURE(std::string(settings));
    const Run made = run(std::string(" --verbose --config ") + settings);
    REQUIRE_MESSAGE(made.status == 0, made.err);
    CHECK(contains(made.out, "encoder_attention_heads, --config"));
    const auto model = linformer::Model::load(place.path("x.lnfr").c_str());
    REQUIRE(model.ok());
    CHECK(model.value()->description().encoder.layers[0].attention.heads == 4);
  }
  const Run misspelt = run(R"( --quiet --config '{"encoder_attention_heads": 4, "activation_fnn": "relu"}')");
  CHECK(misspelt.status == 0);
  check_sentence(misspelt.err, {"\"activation_fnn\" in --config", "did you mean activation_fn?"});
  // The first value is what a shell leaves of JSON whose quotes are missing; the second is neither a file nor JSON.
  const Run damaged = run(" --config '{encoder_attention_heads:4}'");
  CHECK(damaged.status == 1);
  check_sentence(damaged.err, {"--config", "JSON"});
  const Run words = run(" --config encoder_attention_heads=4");
  CHECK(words.status == 1);
  check_sentence(words.err, {"encoder_attention_heads=4 does not exist", "--config '{\"NAME\": VALUE}'"});
}

TEST_CASE("the error for a missing number shows a placeholder, which is refused if it is copied unchanged") {
  Workplace place;
  const TinyFairseq tiny;
  write_file(place.path("c.pt"), torch_zip(tiny.tensors()));
  const auto run = [&](const std::string& more) {
    return place.run(place.path("c.pt") + " -o " + place.path("x.lnfr") + more);
  };
  const Run missing = run("");
  CHECK(missing.status == 1);
  CHECK(shown_settings(missing.err) == R"({"encoder_attention_heads": NUMBER})");
  CHECK(run(" --config '" + shown_settings(missing.err) + "'").status == 1);
}

}  // namespace linformer_test::inline_settings_test
