// Tests --labels and labels.txt: which head gets which names, and the errors if no head fits.
#include <doctest/doctest.h>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/tiny_hugging_face.h"
#include "converter/workplace.h"

namespace linformer_test::labels_test {
namespace {

// Returns a checkpoint with three heads: sentence_classification_head with 2 classes, tone and topic with 3 each.
std::string with_heads() {
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  add_head(tensors, "sentence_classification_head", 8, 8, 2);
  add_head(tensors, "tone", 8, 8, 3);
  add_head(tensors, "topic", 8, 8, 3);
  return torch_zip(tensors, tiny.settings());
}

// Returns the labels of every head, in the order of the heads.
std::vector<Labels> all_labels(const std::string& path) {
  auto model = linformer::Model::load(path.c_str());
  REQUIRE(model.ok());
  std::vector<Labels> labels;
  for (const linformer::ClassificationHead& head : model.value()->description().heads) labels.push_back(head.labels);
  return labels;
}

}  // namespace

TEST_CASE("--labels goes to the head that it names, or to the only one that it fits") {
  Workplace place;
  write_file(place.path("c.pt"), with_heads());
  const std::string out = " -o " + place.path("x.lnfr");
  REQUIRE(place.run(place.path("c.pt") + " --labels neg,pos --labels topic=x,y,z" + out).status == 0);
  CHECK(all_labels(place.path("x.lnfr")) == std::vector<Labels>{{"neg", "pos"}, {}, {"x", "y", "z"}});
  // After the head's name and its '=', another '=' is part of a label.
  REQUIRE(place.run(place.path("c.pt") + " --labels 'tone=<=0,=1,a=b=c'" + out).status == 0);
  CHECK(all_labels(place.path("x.lnfr")) == std::vector<Labels>{{}, {"<=0", "=1", "a=b=c"}, {}});
}

TEST_CASE("--labels that fit no head or name an unknown head are refused with a list of the heads") {
  Workplace place;
  write_file(place.path("c.pt"), with_heads());
  struct Case {
    std::string labels;
    std::vector<std::string> parts;
  };
  const std::vector<std::string> heads = {"\"sentence_classification_head\" with 2 classes", "\"tone\" with 3 classes",
                                          "\"topic\" with 3 classes"};
  const Case cases[] = {{"a,b,c", {"several heads", "HEAD=", heads[1], heads[2]}},
                        {"a", {"1 label", "fits no head", heads[0], heads[1]}},
                        {"a,b,c,d", {"4 labels", "fits no head"}},
                        {"ton=a,b,c", {"no head \"ton\"", heads[0], heads[1], heads[2]}},
                        {"foo=a,b", {"no head \"foo\"", heads[0], "head's name before it"}},
                        {"a=b,c=d", {"no head \"a\"", heads[0]}},
                        {"=a,b", {"no head \"\"", heads[0]}},
                        {"tone=a,b", {"head \"tone\" has 3 classes, 2 labels were given"}},
                        {"tone=a", {"head \"tone\" has 3 classes, 1 label was given"}},
                        {"sentence_classification_head=a,b,c", {"has 2 classes, 3 labels were given"}},
                        {"a,a", {"twice"}},
                        {"a,", {"empty"}}};
  for (const Case& refused : cases) {
    CAPTURE(refused.labels);
    const Run run = place.run(place.path("c.pt") + " --labels " + refused.labels + " -o " + place.path("x.lnfr"));
    CHECK(run.status == 1);
    check_sentence(run.err, refused.parts);
    CHECK(place.entry_count() == 1);
  }
  TinyFairseq headless;
  write_file(place.path("plain.pt"), torch_zip(headless.tensors(), headless.settings()));
  for (const char* labels : {"a,b", "tone=a,b"}) {
    CAPTURE(std::string(labels));
    const Run run = place.run(place.path("plain.pt") + " --labels " + labels + " -o " + place.path("x.lnfr"));
    CHECK(run.status == 1);
    CHECK(contains(run.err, "no classification heads: leave --labels out"));
  }
}

TEST_CASE("--labels takes a file with a name on each line") {
  Workplace place;
  write_file(place.path("c.pt"), with_heads());
  write_file(place.path("two.txt"), "very, very bad\r\ngood\n\n");
  write_file(place.path("three=3.txt"), "x\ny\nz\n");
  write_file(place.path("four.txt"), "1\n2\n3\n4\n");
  const std::string out = " -o " + place.path("x.lnfr");
  const Run run = place.run(place.path("c.pt") + " --verbose --labels " + place.path("two.txt") +
                            " --labels topic=" + place.path("three=3.txt") + out);
  REQUIRE_MESSAGE(run.status == 0, run.err);
  CHECK(all_labels(place.path("x.lnfr")) == std::vector<Labels>{{"very, very bad", "good"}, {}, {"x", "y", "z"}});
  CHECK(contains(run.out, "two.txt"));
  const auto refused = [&](const std::string& labels, const std::vector<std::string>& parts) {
    CAPTURE(labels);
    const Run error = place.run(place.path("c.pt") + " --labels " + labels + out);
    CHECK(error.status == 1);
    check_sentence(error.err, parts);
  };
  refused(place.path("four.txt"), {"four.txt", "4 labels", "fits no head", "\"tone\" with 3 classes"});
  refused(place.path("three=3.txt"), {"three=3.txt", "fits several heads"});
  refused("tone=" + place.path("two.txt"), {"has 3 classes, 2 labels were given"});
  // This value looks like a file's name, but there is no such file.
  refused("lables.txt", {"\"lables.txt\" has 1 label, which fits no head", "no file of that name",
                         "the names themselves, as in --labels negative,positive, or a file with one on each line"});
  // The output must not replace a file that the conversion reads.
  const Run replaced =
      place.run(place.path("c.pt") + " --force --labels " + place.path("two.txt") + " -o " + place.path("two.txt"));
  CHECK(replaced.status == 1);
  check_sentence(replaced.err, {"two.txt", "is the input"});
}

TEST_CASE("labels that no model file can have are refused, or noted if they come from the checkpoint") {
  Workplace place;
  const std::string out = " -o " + place.path("x.lnfr");
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/checkpoint.pt"), checkpoint_with_head(2));
  for (const std::string label : {"a\tb", "\x1b[1m", "\x7f", "\xc2\x85"}) {
    CAPTURE(label);
    write_file(place.path("model/labels.txt"), label + "\nb\n");
    for (const Run& run : {place.run(place.path("model") + out),
                           place.run(place.path("model/checkpoint.pt") + " --labels '" + label + ",b'" + out)}) {
      CHECK(run.status == 1);
      check_sentence(run.err, {"control characters", "give one without"});
      CHECK(!contains(run.err, label));
      CHECK(!contains(run.err, "convert the checkpoint again"));
    }
    TinyHuggingFace tiny;
    std::vector<HandTensor> tensors = tiny.tensors();
    add_weight_bias(tensors, "classifier", 2, 8);
    nlohmann::json config = tiny.config();
    config["architectures"] = {"BertForTokenClassification"};
    config["id2label"] = {{"0", label}, {"1", "b"}};
    const Converted made = converted(safetensors(tensors), config.dump());
    CHECK(made.description().heads[0].labels.empty());
    CHECK(contains(made.report.notes.back(), "unprintable labels and was not used"));
  }
  write_file(place.path("model/labels.txt"), std::string(1025, 'a') + "\nb\n");
  CHECK(contains(place.run(place.path("model") + out).err, "more than 1024 bytes"));
}

TEST_CASE("labels.txt of the checkpoint's folder is used if it fits one head") {
  Workplace place;
  const std::string out = " -o " + place.path("x.lnfr");
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/checkpoint.pt"), checkpoint_with_head(2));
  write_file(place.path("model/labels.txt"), "bad\r\na=b\n\n");
  CHECK(place.run(place.path("model") + out).status == 0);
  CHECK(labels_of(place.path("x.lnfr")) == Labels{"bad", "a=b"});
  CHECK(place.run(place.path("model/checkpoint.pt") + out).status == 0);  // the checkpoint alone is converted
  CHECK(labels_of(place.path("x.lnfr")).empty());
  write_file(place.path("model/labels.txt"), "one\ntwo\nthree\n");
  const Run unfit = place.run(place.path("model") + " --verbose" + out);
  CHECK(unfit.status == 0);
  CHECK(contains(unfit.out, "was not used"));
  CHECK(labels_of(place.path("x.lnfr")).empty());
}

}  // namespace linformer_test::labels_test
