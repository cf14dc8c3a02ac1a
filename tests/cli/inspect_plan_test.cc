// Tests `linformer inspect --plan`: the list of operations, its totals, and how equal layers are shown.
#include <doctest/doctest.h>

#include "inspect/op_text.h"
#include "process.h"
#include "sentiment_model.h"
#include "support/random_model.h"

namespace linformer_test::inspect_plan_test {

using namespace linformer;
using linformer::cli::common_operands;
using linformer::cli::ranges_text;
using nlohmann::json;

namespace {

class Written : public Folder {
 public:
  explicit Written(const RandomModel& shape) { random_builder(shape).write(model()); }
  std::string model() const { return path("m.lnfr"); }
  std::string text(const std::vector<std::string>& options = {}) const { return inspect(options).out; }
  json data(const std::string& tokens) const { return json::parse(inspect({tokens, "--json"}).out)["plan"]; }
  Ran inspect(const std::vector<std::string>& options) const {
    std::vector<std::string> arguments = {"inspect", model(), "--plan"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run(arguments);
  }
};

RandomModel roberta_like() {
  RandomModel shape;
  shape.n = 96;
  shape.k = 16;
  shape.d_model = 32;
  shape.ffn = 64;
  shape.layers = 12;
  shape.shared_key_value = shape.shared_layers = true;
  return shape;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

double flop_of(const json& plan, const std::string& part) {
  double sum = 0;
  for (const json& op : plan["ops"]) sum += op["part"].get<std::string>() == part ? op["flop"].get<double>() : 0;
  return sum;
}

}  // namespace

TEST_CASE("inspect --plan: the FLOP of each part and of all parts equal the closed formula") {
  const RandomModel shape = roberta_like();
  const Written m(shape);
  for (const int64_t tokens : {96, 40}) {
    const json plan = m.data(std::to_string(tokens));
    CHECK(plan["tokens"] == tokens);
    const double n = static_cast<double>(tokens), d = shape.d_model, k = shape.k, ffn = shape.ffn;
    const double layer = 2 * n * d * d + 2 * n * d * ffn + n * k * d + 2 * k * d * d + 2 * n * k * d;
    CHECK(flop_of(plan, "layer 0") == 2 * layer);
    CHECK(flop_of(plan, "layer 11") == 2 * layer);
    const double head = d * d + 3 * d, language = d * d + d * shape.vocabulary;
    CHECK(flop_of(plan, "head 0") == 2 * head);
    CHECK(flop_of(plan, "masked-LM") == 2 * language);
    CHECK(plan["flop"] == 2 * (12 * layer + head + language));
    double bytes = 0, parts_flop = 0, parts_bytes = 0;
    for (const json& op : plan["ops"]) bytes += op["instead"].get<bool>() ? 0 : op["bytes"].get<double>();
    CHECK(plan["bytes"] == bytes);
    // If the outputs read only the first row, the last layer computes only that row.
    CHECK(plan["first_rows"]["flop"] == 2 * (2 * d * d + 2 * d * ffn + 2 * k * d));
    CHECK(plan["first_rows"]["flop"] == flop_of(plan, "first rows"));
    for (const json& part : plan["parts"]) {
      parts_flop += part["flop"].get<double>();
      parts_bytes += part["bytes"].get<double>();
    }
    CHECK(parts_flop == plan["flop"]);
    CHECK(parts_bytes == doctest::Approx(bytes));
  }
}

TEST_CASE("inspect --plan: equal layers are shown once, and the JSON has all layers") {
  const Written m(roberta_like());
  const std::string text = m.text({"96"});
  CAPTURE(text);
  CHECK(has(text, "A text of n = 96 tokens"));
  CHECK(has(text, "    layers 1 to 11: as layer 0\n"));
  CHECK(has(text, "4 heads of 8 over 16 compressed keys"));
  CHECK(has(text, "n >= "));
  CHECK(has(text, "\n  layers 0 to 11 "));
  CHECK(has(text, "\n  total "));
  int attends = 0;
  for (const std::string& line : lines_of(text)) {
    attends += has(line, "attend  ") ? 1 : 0;
    CHECK_FALSE(line.ends_with(' '));
  }
  CHECK(attends == 2);  // one for all layers, and one for the first rows
  CHECK(has(text, "If all outputs read only a text's first row, 'first rows' ("));
  int layers = 0, instead = 0;
  const json plan = m.data("96");
  for (const json& op : plan["ops"]) {
    if (op["op"] == "attend") ++(op["instead"].get<bool>() ? instead : layers);
  }
  CHECK(layers == 12);
  CHECK(instead == 1);
}

TEST_CASE("inspect --plan: stages that run at the same time are marked, and short texts have their own stages") {
  RandomModel shape = roberta_like();
  shape.shared_key_value = false;
  const Written m(shape);
  CHECK(has(m.text({"96"}), "+"));
  const json plan = m.data("96");
  bool joins = false;
  for (const json& op : plan["ops"]) joins = joins || op["joins"].get<bool>();
  CHECK(joins);
  const json shorter = m.data("2");
  // A short text has two products fewer in each of the 12 layers: its keys and values are not compressed.
  CHECK(shorter["ops"].size() + 2 * 12 == plan["ops"].size());
  for (const json& op : shorter["ops"]) CHECK_FALSE(op["condition"].get<std::string>().starts_with("n >="));
  CHECK(has(m.text({"2"}), "compressed scores"));
  CHECK(has(m.text({"2"}), "n < "));
}

TEST_CASE("inspect --plan: only layers that are equal are shown together") {
  RandomModel shape = roberta_like();
  shape.shared_layers = false;
  shape.layers = 4;
  shape.kinds = {ProjectionKind::linear, ProjectionKind::none};
  const std::string mixed = Written(shape).text();
  CAPTURE(mixed);
  CHECK(has(mixed, "    layer 2: as layer 0\n    layer 3: as layer 1\n"));
  CHECK(has(mixed, "\n  layers 0 and 2 "));
  CHECK(has(mixed, "\n  layers 1 and 3 "));
  shape.kinds = {ProjectionKind::linear};
  shape.pre_norm = true;  // the last layer is not followed by the norm of a next layer
  const std::string pre = Written(shape).text();
  CAPTURE(pre);
  CHECK(has(pre, "as layer 0\n"));
  CHECK(has(pre, "layer 3 "));
}

TEST_CASE("inspect --plan: a decoder has a plan of its own") {
  RandomModel shape = roberta_like();
  shape.decoder = true;
  shape.key_sources = {KeySource::encoder_states};
  const Written m(shape);
  const std::string text = m.text({"40"});
  CAPTURE(text);
  CHECK(has(text, "\nThe decoder:\nA text of n = 40 tokens"));
  CHECK(has(text, "encoder states[40, 32]"));
  const json all = json::parse(m.inspect({"40", "--json"}).out);
  CHECK(flop_of(all["plan"], "head 0") == 0);  // heads read the decoder
  CHECK(flop_of(all["decoder_plan"], "head 0") > 0);
}

TEST_CASE("inspect --plan: the number of tokens may be given before or after the model") {
  const CliFixture f;  // the model takes 12 tokens
  CHECK(has(run({"inspect", f.model(), "--plan"}).out, "A text of n = 12 tokens"));
  CHECK(has(run({"inspect", f.model(), "--plan", "5"}).out, "A text of n = 5 tokens"));
  CHECK(has(run({"inspect", "--plan", "5", f.model()}).out, "A text of n = 5 tokens"));
  CHECK(has(run({"inspect", "--plan", f.model()}).out, "A text of n = 12 tokens"));
  RandomModel shape;
  shape.n = 600;
  CHECK(has(Written(shape).text(), "A text of n = 512 tokens"));
  for (const char* wrong : {"13", "0", "many"}) {
    const Ran ran = run({"inspect", f.model(), "--plan", wrong});
    CHECK(ran.code == 2);
    CHECK(has(ran.err, "give a number of tokens, 1 to 12"));
  }
  const Ran none = run({"inspect", "--plan", "5"});
  CHECK(none.code == 2);
  CHECK(has(none.err, "MODEL is required"));
}

TEST_CASE("operands that differ only in the layer's number are joined, and ranges of layers are printed") {
  CHECK(common_operands("x[4, 8] * layers.1.fc1[8, 8]", "x[4, 8] * layers.2.fc1[8, 8]") ==
        "x[4, 8] * layers.*.fc1[8, 8]");
  CHECK(common_operands("layers.*.fc1", "layers.10.fc1") == "layers.*.fc1");
  CHECK(common_operands("a b", "a b") == "a b");
  CHECK_FALSE(common_operands("x[4, 8]", "x[4, 9]").has_value());
  CHECK_FALSE(common_operands("layers.1.fc1", "layers.2.out").has_value());
  CHECK_FALSE(common_operands("over 16 keys", "over 8 keys").has_value());
  CHECK_FALSE(common_operands("a", "a b").has_value());
  CHECK(ranges_text({0}) == "0");
  CHECK(ranges_text({0, 1}) == "0 and 1");
  CHECK(ranges_text({0, 2, 4}) == "0, 2, 4");
  CHECK(ranges_text({0, 1, 2, 5}) == "0 to 2 and 5");
}

}  // namespace linformer_test::inspect_plan_test
