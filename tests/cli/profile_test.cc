// Tests --profile of classify, embed and encode.
#include "inspect/profile.h"

#include <doctest/doctest.h>

#include "process.h"
#include "sentiment_model.h"
#include "support/random_model.h"

namespace linformer_test::profile_test {

using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_profile(const std::string& err) {
  CAPTURE(err);
  for (const char* part : {"seconds", "GFLOP/s", "attend", "total"}) CHECK(has(err, part));
}

}  // namespace

TEST_CASE("profile: a table is printed to standard error, and the answers don't change") {
  const CliFixture f({.embedding = true});
  const std::vector<std::string> classify = {"classify", f.model(), "good film", "bad film"};
  std::vector<std::string> profiled = classify;
  profiled.push_back("--profile");
  const Ran plain = run(classify), measured = run(profiled);
  CHECK(measured.code == 0);
  CHECK(measured.out == plain.out);
  CHECK_FALSE(has(plain.err, "seconds"));
  check_profile(measured.err);
  const Ran embed = run({"embed", f.model(), "good film", "-o", f.path("v.npy"), "--profile"});
  CHECK(embed.code == 0);
  check_profile(embed.err);
  const Ran encode = run({"encode", f.model(), "good film", "-o", f.path("h.npy"), "--profile"});
  CHECK(encode.code == 0);
  check_profile(encode.err);
  CHECK(run({"inspect", f.model(), "--profile"}).code == 2);
}

TEST_CASE("profile: with --json, one JSON object is printed to standard error") {
  const CliFixture f({.embedding = true});
  for (const char* command : {"classify", "embed"}) {
    const Ran ran = run({command, f.model(), "good film", "--json", "--profile"});
    CHECK(ran.code == 0);
    CHECK(json_lines(ran.out).size() == 1);
    const std::vector<json> lines = json_lines(ran.err);
    REQUIRE(lines.size() == 1);
    const json& profile = lines[0]["profile"];
    double seconds = 0, share = 0, before = 1e9;
    for (const json& op : profile["ops"]) {
      seconds += op["seconds"].get<double>();
      share += op["share"].get<double>();
      CHECK(op["seconds"].get<double>() <= before);
      before = op["seconds"].get<double>();
    }
    CHECK(seconds == doctest::Approx(profile["seconds"].get<double>()));
    CHECK(share == doctest::Approx(1));
  }
}

TEST_CASE("profile: equal layers are summed") {
  RandomModel shape;
  shape.layers = 4;
  shape.shared_layers = true;
  const auto model = random_model(shape);
  linformer::SessionOptions options;
  options.profile = true;
  auto session = linformer::Session::create(model, options);
  REQUIRE(session.ok());
  std::vector<int32_t> ids(shape.n, 7);
  std::vector<float> hidden(ids.size() * shape.d_model);
  const linformer::Tokens text = ids;
  for (int i = 0; i < 3; ++i) REQUIRE(session->run({&text, 1}, linformer::Output::hidden(hidden)).ok());

  struct Sums {
    double flop = 0, seconds = 0;
    size_t lines = 0;
  } all, summed;
  const auto visit = [](void* context, const linformer::ProgramLine& line) {
    Sums* sums = static_cast<Sums*>(context);
    sums->flop += line.flop;
    sums->seconds += line.seconds;
    ++sums->lines;
  };
  REQUIRE(session->profile(visit, &all).ok());
  int attends = 0;
  for (const linformer::cli::ProfiledOp& op : linformer::cli::profile_of({&*session, 1})) {
    visit(&summed, op.line);
    if (std::string_view(op.line.op) != "attend") continue;
    ++attends;
    CHECK(op.layers == std::vector{0, 1, 2, 3});
  }
  CHECK(attends == 1);
  CHECK(summed.flop == doctest::Approx(all.flop));
  CHECK(summed.seconds == doctest::Approx(all.seconds));
  CHECK(summed.lines < all.lines / 2);
  const std::string report = linformer::cli::profile_text(session->plan(), linformer::cli::profile_of({&*session, 1}));
  CHECK(has(report, "layers 0 to 3"));
  CHECK(has(report, std::string(session->plan().precision) + "\n"));
}

}  // namespace linformer_test::profile_test
