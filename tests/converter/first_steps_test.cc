// Tests what a new user meets: models of other kinds, misspelt settings, names with prefixes, and programs instead of
// weights.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/description.h"
#include "converter/checks.h"
#include "converter/pickle_writer.h"
#include "converter/tiny_hugging_face.h"
#include "converter/tiny_tatp22.h"
#include "converter/workplace.h"

namespace linformer_test::first_steps_test {

using nlohmann::json;

namespace {

bool is_one_line(const std::string& text) { return std::count(text.begin(), text.end(), '\n') == 1; }

std::vector<HandTensor> prefixed(std::vector<HandTensor> tensors, const std::string& prefix) {
  for (HandTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}

}  // namespace

TEST_CASE("the error for an unsupported model_type quotes it in one line and lists the supported ones") {
  Workplace place;
  std::filesystem::create_directories(place.path("model"));
  struct Case {
    const char* type;
    std::vector<std::string> names;
  };
  const Case cases[] = {{"t5", {"shared.weight", "encoder.block.0.layer.0.SelfAttention.q.weight"}},
                        {"llama", {"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"}},
                        {"gpt2", {"wte.weight", "h.0.attn.c_attn.weight"}},
                        {"a \x1b[1mtype\nof mine", {"weight"}}};
  for (const Case& c : cases) {
    CAPTURE(std::string(c.type));
    std::vector<HandTensor> tensors;
    for (const std::string& name : c.names) tensors.push_back(random_tensor(name, {2, 2}, 1));
    write_file(place.path("model/model.safetensors"), safetensors(tensors));
    write_file(place.path("model/config.json"), json{{"model_type", c.type}}.dump());
    const Run run = place.run(place.path("model") + " -o " + place.path("x.lnfr"));
    CAPTURE(run.err);
    CHECK(run.status == 1);
    CHECK(is_one_line(run.err));
    check_sentence(run.err, {"model_type \"", "config.json", "not supported", "distilbert", "nystromformer"});
    CHECK(contains(run.err, std::string(c.type).substr(0, 2)));
    CHECK(!contains(run.err, "\x1b"));
    for (const std::string& name : c.names) CHECK(!contains(run.err, "\"" + name + "\""));
  }
  // These encoders have BERT's layout but belong to another family.
  TinyHuggingFace tiny;
  for (const char* type : {"xlnet", "longformer", "nystromformer"}) {
    std::vector<HandTensor> tensors = renamed(tiny.tensors(), "bert.", std::string(type) + ".");
    json config = tiny.config();
    config["model_type"] = type;
    write_file(place.path("model/model.safetensors"), safetensors(tensors));
    write_file(place.path("model/config.json"), config.dump());
    const Run run = place.run(place.path("model") + " -o " + place.path("x.lnfr"));
    CAPTURE(run.err);
    CHECK(run.status == 1);
    CHECK(is_one_line(run.err));
    check_sentence(run.err, {std::string("model_type \"") + type + "\"", "xlm-roberta", "not supported"});
  }
  // Without a model_type the error can only quote the names of tensors.
  CHECK(contains(conversion_error(safetensors({random_tensor("wte.weight", {2, 2}, 1)})), "wte.weight"));
}

TEST_CASE("the error names a misspelt setting before anything else that fails") {
  Workplace place;
  TinyFairseq tiny;
  write_file(place.path("c.pt"), torch_zip(tiny.tensors()));
  const auto error = [&](const json& config, const std::string& checkpoint, const std::string& more = "") {
    write_file(place.path("cfg.json"), config.dump());
    const Run run = place.run(place.path(checkpoint) + " --config " + place.path("cfg.json") + more + " -o " +
                              place.path("x.lnfr"));
    CHECK(run.status == 1);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    return run.err;
  };
  const auto begins = [](const std::string& text, const std::string& part) {
    return text.starts_with("linformer-convert: unknown setting " + part) ||
           text.starts_with("linformer-convert: unknown settings " + part);
  };
  // Here the conversion fails because of the misspelt setting.
  const std::string heads = error({{"encoder_atention_heads", 2}}, "c.pt");
  CHECK(begins(heads, "\"encoder_atention_heads\" in "));
  check_sentence(heads, {"cfg.json", "did you mean encoder_attention_heads?", "{\"encoder_attention_heads\": NUMBER}"});
  // Here the conversion fails before it asks for the setting: the checkpoint is absent, damaged or of another model, or
  // there is no vocabulary.
  write_file(place.path("damaged.pt"), "damaged");
  write_file(place.path("other.pt"), torch_zip({random_tensor("other", {2}, 1)}));
  for (const char* checkpoint : {"absent.pt", "damaged.pt", "other.pt"}) {
    CAPTURE(std::string(checkpoint));
    const std::string early = error({{"activation_fnn", "relu"}, {"encoder_attention_heads", 2}}, checkpoint);
    CHECK(begins(early, "\"activation_fnn\" in "));
    check_sentence(early, {"did you mean activation_fn?", checkpoint});
  }
  const std::string vocabulary = error({{"activation_fnn", "relu"}, {"encoder_attention_heads", 2}}, "c.pt",
                                       " --tokenizer " + place.path("absent"));
  CHECK(begins(vocabulary, "\"activation_fnn\" in "));
  // Several misspellings are named. A name that resembles no setting, or that belongs to another implementation, is not
  // a misspelling.
  const std::string several =
      error({{"Activation-Fn", "relu"}, {"encoder_atention_heads", 2}, {"learning_rate", 1}, {"n_heads", 2}}, "c.pt");
  check_sentence(several, {"\"Activation-Fn\"", "\"encoder_atention_heads\"", "activation_fn?"});
  CHECK(!contains(several, "learning_rate"));
  CHECK(!contains(several, "\"n_heads\""));
  CHECK(!contains(error({{"learning_rate", 1}, {"n_heads", 2}}, "c.pt"), "unknown setting"));

  // The settings may also be in a file beside the checkpoint.
  std::filesystem::create_directories(place.path("model"));
  write_file(place.path("model/model.safetensors"), safetensors(tiny.tensors()));
  write_file(place.path("model/config.json"), R"({"encoder_atention_heads": 2})");
  const Run found = place.run(place.path("model") + " -o " + place.path("x.lnfr"));
  CHECK(begins(found.err, "\"encoder_atention_heads\" in "));
}

TEST_CASE("tensor names with any common prefix are read, nested prefixes too") {
  TinyFairseq fairseq;
  const Converted plain = converted(torch_zip(fairseq.tensors(), fairseq.settings()));
  TinyHuggingFace bert, bare;
  bare.prefixed = false;
  const std::string config = bert.config().dump();
  const Converted plain_bert = converted(safetensors(bert.tensors()), config),
                  plain_bare = converted(safetensors(bare.tensors()), config);
  TinyTatp22 tatp22;
  const std::string tatp22_config = R"({"activation": "gelu"})";
  const Converted plain_tatp22 = converted(torch_zip(tatp22.tensors()), tatp22_config);
  const auto check = [](const Converted& made, const Converted& expected, const std::string& prefix) {
    const linformer::ModelDescription &a = made.description(), &b = expected.description();
    CHECK(a.dialect == b.dialect);
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (size_t i = 0; i < a.tensors.size(); ++i) {
      CHECK(a.tensors[i].checksum == b.tensors[i].checksum);
      CHECK(a.tensors[i].shape == b.tensors[i].shape);
    }
    CHECK(contains(made.report.mapped[0].tensor, prefix));  // whole names in the report
  };
  for (const std::string prefix :
       {"model.", "net.", "encoder.", "module.", "student.", "net.encoder.", "student.module.model.",
        "_orig_mod.module.", "a.b.c.d.", "lightning_module.backbone."}) {
    CAPTURE(prefix);
    check(converted(torch_zip(prefixed(fairseq.tensors(), prefix), fairseq.settings())), plain, prefix);
    check(converted(safetensors(prefixed(bert.tensors(), prefix)), config), plain_bert, prefix);
    check(converted(safetensors(prefixed(bare.tensors(), prefix)), config), plain_bare, prefix);
    check(converted(torch_zip(prefixed(tatp22.tensors(), prefix)), tatp22_config), plain_tatp22, prefix);
    // A checkpoint with a teacher beside the student is refused, because the converter can't know which one is meant.
    std::vector<HandTensor> two = prefixed(bert.tensors(), prefix);
    for (const HandTensor& tensor : prefixed(bert.tensors(), "teacher.")) two.push_back(tensor);
    CHECK(conversion_error(safetensors(two), config) != "");
  }
}

TEST_CASE("a model beside other tensors is converted alone, and the report lists the other tensors") {
  const TinyHuggingFace bert;
  const std::string config = bert.config().dump();
  const Converted plain = converted(safetensors(bert.tensors()), config);
  const std::vector<HandTensor> others = {random_tensor("loss.weight", {2}, 1), random_tensor("net.scale", {1}, 2),
                                          random_tensor("temperature", {1}, 3),
                                          random_tensor("metrics.0.confusion.matrix", {2, 2}, 4)};
  for (const std::string prefix : {"net.core.", "net.core.bert_model.", "student."}) {
    CAPTURE(prefix);
    // The other tensors stand before, behind and between the model's tensors.
    std::vector<HandTensor> tensors = prefixed(bert.tensors(), prefix);
    for (size_t i = 0; i < others.size(); ++i) {
      tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(i * tensors.size() / (others.size() - 1)),
                     others[i]);
    }
    const std::string file = safetensors(tensors);
    for (const std::string& settings : {config, [&] {
                                          json said = json::parse(config);
                                          said["tensor_prefix"] = prefix.substr(0, prefix.size() - 1);
                                          return said.dump();
                                        }()}) {
      const Converted made = converted(file, settings);
      CHECK(fact(made.report, "prefix") == prefix);
      REQUIRE(made.description().tensors.size() == plain.description().tensors.size());
      for (size_t i = 0; i < plain.description().tensors.size(); ++i) {
        CHECK(made.description().tensors[i].checksum == plain.description().tensors[i].checksum);
      }
      for (const HandTensor& other : others) CHECK(is_left_out(made.report.left_out, other.name));
      const std::vector<std::string>& notes = made.report.notes;
      CHECK(std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
        const std::string start = "Only the tensors below " + prefix + " are the model; 4 others were left out: ";
        return note.starts_with(start) && std::all_of(others.begin(), others.end(), [&](const HandTensor& other) {
                 return note.find(other.name, start.size()) != std::string::npos;
               });
      }));
    }
  }
}

TEST_CASE("a setting chooses between two models in one checkpoint") {
  Workplace place;
  TinyHuggingFace student, teacher;
  teacher.layers = 3;
  std::vector<HandTensor> tensors = prefixed(student.tensors(), "student.");
  for (const HandTensor& tensor : prefixed(teacher.tensors(), "teacher.")) tensors.push_back(tensor);
  write_file(place.path("c.safetensors"), safetensors(tensors));
  const auto run = [&](const std::string& prefix, const std::string& more = "") {
    json config = student.config();
    config.erase("num_hidden_layers");
    if (!prefix.empty()) config["tensor_prefix"] = prefix;
    write_file(place.path("c.json"), config.dump());
    return place.run(place.path("c.safetensors") + " --config " + place.path("c.json") + " -o " + place.path("x.lnfr") +
                     more);
  };
  for (const char* dialect : {"", " --dialect hugging-face"}) {
    const Run both = run("", dialect);
    CHECK(both.status == 1);
    CHECK(is_one_line(both.err));
    check_sentence(both.err, {"2 models", "\"student.\", \"teacher.\"", "--config '{\"tensor_prefix\": \"NAME\"}'"});
  }
  const auto layers = [&] {
    return linformer::Model::load(place.path("x.lnfr").c_str()).value()->description().encoder.layers.size();
  };
  REQUIRE(run("student.").status == 0);
  CHECK(layers() == 2);
  REQUIRE(run("teacher").status == 0);
  CHECK(layers() == 3);
  const Run none = run("pupil.");
  CHECK(none.status == 1);
  CHECK(contains(none.err, "no tensor's name begins with \"pupil.\""));
  // The model is exported and converts again.
  REQUIRE(run("student.").status == 0);
  REQUIRE(place.run("--from-lnfr " + place.path("x.lnfr") + " -o " + place.path("back.safetensors")).status == 0);
  CHECK(!contains(read_file(place.path("back.safetensors")), "teacher."));
  REQUIRE(place.run(place.path("back.safetensors") + " -o " + place.path("y.lnfr")).status == 0);
  CHECK(read_file(place.path("x.lnfr")) == read_file(place.path("y.lnfr")));
}

TEST_CASE("layers of an unknown model are not taken for models of their own") {
  const std::string prefix = "blocks.0.attention.";
  std::vector<HandTensor> tensors = {random_tensor("embed.weight", {4, 4}, 1)};
  for (const char* name : {"to_q.weight", "to_k.weight", "to_out.weight", "to_out.bias"}) {
    tensors.push_back(random_tensor(prefix + name, {4, 4}, 2));
  }
  tensors.push_back(random_tensor(prefix + "proj_k", {8, 2}, 3));
  CHECK(contains(conversion_error(safetensors(tensors)), "no supported implementation has tensors of these names"));
}

TEST_CASE("a model with prefixed names is exported under its own names and converts again") {
  Workplace place;
  TinyFairseq tiny;
  write_file(place.path("c.pt"), torch_zip(prefixed(tiny.tensors(), "student.encoder."), tiny.settings()));
  const Run run = place.run(place.path("c.pt") + " --verbose -o " + place.path("a.lnfr"));
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "student.encoder."));
  REQUIRE(place.run("--from-lnfr " + place.path("a.lnfr") + " -o " + place.path("b.safetensors")).status == 0);
  CHECK(contains(read_file(place.path("b.safetensors")),
                 "\"student.encoder.encoder.sentence_encoder.embed_tokens.weight\""));
  REQUIRE(place.run(place.path("b.safetensors") + " -o " + place.path("c.lnfr")).status == 0);
  CHECK(read_file(place.path("a.lnfr")) == read_file(place.path("c.lnfr")));
}

TEST_CASE("TorchScript is recognised, and the error has the line of Python that saves its weights") {
  Workplace place;
  const std::string code = "def forward(self): pass";
  std::string archive = zip_archive({{"m/data.pkl", PickleWriter().empty_dict().stop()},
                                     {"m/code/__torch__/model.py", code},
                                     {"m/constants.pkl", PickleWriter().empty_dict().stop()},
                                     {"m/version", "3\n"}});
  // torch.jit.save compresses the code, so both zip headers of its entry have the method 8.
  std::string compressed = archive;
  const std::string name = "m/code/__torch__/model.py";
  const size_t local = compressed.find(name), central = compressed.rfind(name);
  compressed[local - 30 + 8] = compressed[central - 46 + 10] = 8;
  for (const std::string& file : {archive, compressed}) {
    write_file(place.path("model.pt"), file);
    const Run run = place.run(place.path("model.pt") + " -o " + place.path("x.lnfr"));
    CHECK(run.status == 1);
    CHECK(is_one_line(run.err));
    check_sentence(run.err, {"TorchScript", "save the state_dict",
                             "python3 -c 'import torch; torch.save(torch.jit.load(\"" + place.path("model.pt") + "\"",
                             ".state_dict()"});
  }
}

TEST_CASE("the report has at most fifteen lines of eighty columns, and --verbose has the tables") {
  Workplace place;
  const auto check_fits = [](const std::string& text) {
    CAPTURE(text);
    size_t lines = 0, begin = 0;
    for (size_t end = text.find('\n'); end != text.npos; begin = end + 1, end = text.find('\n', begin), ++lines) {
      size_t columns = 0;
      for (size_t i = begin; i < end; ++i) columns += (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
      CHECK(columns <= 80);
    }
    CHECK(lines >= 3);
    CHECK(lines <= 15);
  };
  write_tokenizer(place, "vocabulary", 0);
  const std::string folder = std::string(60, 'f') + "/" + std::string(60, 'g');
  std::filesystem::create_directories(place.path(folder));
  const std::string checkpoint = place.path(folder + "/c.pt"), output = place.path(folder + "/model.lnfr");
  write_file(checkpoint, checkpoint_with_head(2));
  json config = {{"encoder_attention_heads", 2}, {"activation_fnn", "relu"}, {"esc\x1b[1m", 1}};
  for (int i = 0; i < 40; ++i) config["unknown_setting_" + std::to_string(i) + std::string(20, 'x')] = i;
  write_file(place.path("cfg.json"), config.dump());
  const std::string flags = " --tokenizer " + place.path("vocabulary") + " --labels 'negativ,\u00fcberw\u00e4ltigend'";
  const Run run = place.run(checkpoint + flags + " --config " + place.path("cfg.json") + " -o " + output);
  REQUIRE(run.status == 0);
  check_fits(run.out);
  CHECK(!contains(run.out, "\x1b"));
  for (const char* part : {"PyTorch zip, dialect fairseq", "/c.pt", "tensors mapped", "d_model 8",
                           "activation_fnn (did you mean", "--verbose", "model.lnfr: "}) {
    CAPTURE(std::string(part));
    CHECK(contains(run.out, part));
  }
  const Run back = place.run("--from-lnfr " + output + " -o " + place.path(folder + "/back.safetensors"));
  check_fits(back.out);
  CHECK(contains(back.out, "back.safetensors: "));

  const Run verbose = place.run(checkpoint + " --verbose -o " + output);
  for (const char* part : {"Inferred", "Mapped", "layers[1].ffn_out.weight", "Notes"})
    CHECK(contains(verbose.out, part));
  CHECK(place.run(checkpoint + " --verbose --json -o " + output).status == 2);
  CHECK(place.run(checkpoint + " --verbose --quiet -o " + output).status == 2);
  CHECK(contains(place.run("--from-lnfr " + output + " --verbose --force -o " + place.path("back")).out, "Tensors"));

  // This model has very many labels of wide characters.
  std::vector<HandTensor> tensors = TinyHuggingFace().tensors();
  add_weight_bias(tensors, "classifier", 40, 8);
  json bert = TinyHuggingFace().config();
  bert["architectures"] = {"BertForSequenceClassification"};
  add_weight_bias(tensors, "bert.pooler.dense", 8, 8);
  for (int i = 0; i < 40; ++i) bert["id2label"][std::to_string(i)] = "\u6587\u5b57" + std::to_string(i);
  write_file(place.path("bert.safetensors"), safetensors(tensors));
  write_file(place.path("bert.json"), bert.dump());
  const Run wide = place.run(place.path("bert.safetensors") + " --config " + place.path("bert.json") + " -o " + output);
  CAPTURE(wide.err);
  REQUIRE(wide.status == 0);
  check_fits(wide.out);
}

TEST_CASE("-o - writes to standard output, and the report then goes to standard error") {
  Workplace place;
  write_file(place.path("c.pt"), checkpoint_with_head(2));
  REQUIRE(place.run(place.path("c.pt") + " -o " + place.path("a.lnfr")).status == 0);
  const Run run = place.run(place.path("c.pt") + " -o -");
  CHECK(run.status == 0);
  CHECK(run.out == read_file(place.path("a.lnfr")));
  CHECK(contains(run.err, "standard output: "));
  const Run report = place.run(place.path("c.pt") + " --json -o -");
  CHECK(report.out == run.out);
  CHECK(json::parse(report.err)["output"] == "-");
  REQUIRE(place.run("--from-lnfr " + place.path("a.lnfr") + " -o " + place.path("b.safetensors")).status == 0);
  const Run back = place.run("--from-lnfr " + place.path("a.lnfr") + " --quiet -o /dev/stdout");
  CHECK(back.out == read_file(place.path("b.safetensors")));
  CHECK(back.err == "");
  CHECK(!std::filesystem::exists("-"));
  const Run bad = place.run(place.path("absent.pt") + " --json -o -");
  CHECK(bad.status == 1);
  CHECK(bad.out == "");
}

}  // namespace linformer_test::first_steps_test
