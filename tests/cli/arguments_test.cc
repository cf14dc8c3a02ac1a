// Tests which options and arguments go together. The program checks this before it reads any text.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "base/description.h"
#include "process.h"
#include "sentiment_model.h"

namespace linformer_test::arguments_test {

using nlohmann::json;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a dash among the texts means standard input, whose fields can be named if its format has fields") {
  const CliFixture f;
  const std::string record = "{\"text\":\"good film\",\"pair\":\"bad\",\"k\":\"a\"}\n";
  const Ran dash = run({"classify", f.model(), "-", "--format", "jsonl", "--id", "k", "--json"}, record);
  CHECK(dash.code == 0);
  const Ran input = run({"classify", f.model(), "-i", "-", "--format", "jsonl", "--id", "k", "--json"}, record);
  CHECK(dash.out == input.out);
  CHECK(has(dash.out, "\"id\":\"a\""));
  const Ran text = run({"classify", f.model(), "-", "--id", "k"}, record);
  CHECK(text.code == 2);
  CHECK(has(text.err, "standard input is read as text lines"));
  CHECK(run({"classify", f.model(), "-", "good", "--format", "jsonl", "--id", "k"}, record).code == 2);
  const Ran field = run({"classify", f.model(), "good", "--field", "body"});
  CHECK(field.code == 2);
  CHECK(has(field.err, "--field needs records with fields"));
}

TEST_CASE("a pipe is read without a dash if no other input is given") {
  const CliFixture f;
  const Ran dash = run({"classify", f.model(), "-"}, "good\nbad\n"), pipe = run({"classify", f.model()}, "good\nbad\n");
  CHECK(pipe.code == 0);
  CHECK(lines_of(pipe.out).size() == 2);
  CHECK(pipe.out == dash.out);
  CHECK(run({"embed", f.model(), "--pooling", "mean", "--json"}, "good\n").code == 0);
  CHECK(lines_of(run({"classify", f.model(), "good"}, "bad\nbad\n").out).size() == 1);
  const Ran file = run_program("/bin/sh", {"-c", "exec " LINFORMER_PROGRAM " classify " + f.model() + " < \"$0\"",
                                           f.file("texts.txt", "good\nbad\n")});
  CHECK(file.out == dash.out);
  for (const char* from : {"/dev/null", "/dev/zero"}) {
    const Ran none =
        run_program("/bin/sh", {"-c", "exec " LINFORMER_PROGRAM " classify " + f.model() + " < \"$0\"", from});
    CHECK(none.code == 2);
    CHECK(has(none.err, "nothing to classify"));
  }
  CHECK(run({"classify", f.model()}, "").code == 2);
}

TEST_CASE("a text in square brackets is one text, not a list") {
  const CliFixture f;
  const Ran ran = run({"tokenize", f.model(), "[MASK]", "[good, bad]", "good"});
  CHECK(ran.code == 0);
  const std::vector<json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["tokens"] == json({"[CLS]", "[MASK]", "[SEP]"}));
  CHECK(lines[1]["offsets"].size() == 7);
  CHECK(json_lines(run({"fill-mask", f.model(), "[MASK] film [MASK]", "--json"}).out).at(0)["masks"].size() == 2);
}

TEST_CASE("every command that reads texts takes them as arguments, and notes an argument that names a file") {
  const CliFixture f;
  const std::string file = f.file("texts.txt", "good\nbad\n"), out = f.path("out.npy");
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"classify"},
                                             {"embed", "--json", "--pooling", "mean"},
                                             {"encode", "-o", out},
                                             {"tokenize"},
                                             {"fill-mask", "--top-k", "1"},
                                             {"perplexity", "--json"},
                                             {"compare", "--json"}}) {
    CAPTURE(more[0]);
    const auto with = [&](const std::vector<std::string>& texts) {
      std::vector<std::string> arguments = {more[0], f.model()};
      if (more[0] == "compare") arguments.push_back(f.model());
      arguments.insert(arguments.end(), texts.begin(), texts.end());
      arguments.insert(arguments.end(), more.begin() + 1, more.end());
      return run(arguments, "a film\n");
    };
    CHECK(with({"good [MASK]", "-", "bad [MASK]"}).err.find(" as a text") == std::string::npos);
    CHECK(has(with({"good", file}).err, "as a text; to read the file of that name: --input " + file));
  }
}

TEST_CASE("tokenize takes the second text of a pair as an argument") {
  const CliFixture f;
  const Ran arguments = run({"tokenize", f.model(), "good", "--pair-text", "bad film"});
  const Ran record = run({"tokenize", f.model(), "--format", "jsonl"}, "{\"text\":\"good\",\"pair\":\"bad film\"}\n");
  CHECK(arguments.code == 0);
  CHECK(arguments.out == record.out);
  CHECK(has(arguments.out, "[2,5,3,6,7,3]"));
}

TEST_CASE("tokenize: --max-tokens below the number of special tokens is an error") {
  const CliFixture f;
  const std::vector<std::string> cut = {"tokenize", f.model(), "good bad film", "--max-tokens", "1"};
  const Ran error = run(cut);
  CHECK(error.code == 1);
  CHECK(has(error.out, "max_length is 1, but the special tokens alone are 2"));
}

TEST_CASE("an error for a missing head names the command that the model is for") {
  const CliFixture embedding({.heads = false, .embedding = true}), plain({.heads = false}),
      vectors({.tokenizer = false, .heads = false, .vectors = true});
  const auto error = [](const CliFixture& f, std::vector<std::string> more) {
    more.insert(more.begin(), {"classify", f.model()});
    const Ran ran = run(more);
    CHECK(ran.code == 1);
    return ran.err;
  };
  CHECK(has(error(embedding, {"good"}), "it turns texts into vectors; use 'linformer embed'"));
  const std::string of_plain = error(plain, {"good"});
  CAPTURE(of_plain);
  CHECK(has(of_plain, "this model has no classification head; 'linformer "));
  CHECK(has(error(vectors, {"--vectors", vectors.path("v.npy")}),
            "'linformer encode --what hidden --vectors FILE.npy' saves its hidden states"));
}

TEST_CASE("an error for --pair-text that doesn't match the texts says how many there are and what to do") {
  const CliFixture f;
  const Ran two = run({"classify", f.model(), "good", "--pair-text", "a", "--pair-text", "b"});
  CHECK(two.code == 2);
  CHECK(has(two.err, "--pair-text was given 2 times for 1 text: "));
  CHECK(has(two.err, "repeat a text that has several"));
  const Ran input = run({"classify", f.model(), "-", "--pair-text", "a"}, "good\n");
  CHECK(input.code == 2);
  CHECK(has(input.err, "for files name the field with --pair"));
}

TEST_CASE("an error for a model's name on the Hugging Face Hub says how to download and convert the model") {
  const Ran ran = run({"embed", "sentence-transformers/all-MiniLM-L6-v2", "good", "--json"});
  CHECK(ran.code == 1);
  CHECK(lines_of(ran.err).size() == 1);
  for (const char* part : {"are not downloaded by this program",
                           "hf download sentence-transformers/all-MiniLM-L6-v2 --local-dir "
                           "all-MiniLM-L6-v2",
                           "linformer-convert"}) {
    CHECK(has(ran.err, part));
  }
  CHECK(!has(run({"embed", "absent.lnfr", "good", "--json"}).err, "Hub"));
}

TEST_CASE("a missing file is reported before the first file is read") {
  const CliFixture f;
  const std::string there = f.path("there.txt");
  std::ofstream(there) << "good\n";
  const Ran ran = run({"classify", f.model(), "-i", there, "-i", f.path("absent.txt")});
  CHECK(ran.code == 1);
  CHECK(ran.out.empty());
  CHECK(has(ran.err, "absent.txt"));
}

TEST_CASE("the error for an unknown command names it and lists the known commands") {
  const Ran ran = run({"clasify"});
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "there is no command 'clasify' (did you mean classify?): give one of classify, "));
  CHECK(has(run({"fill_mask"}).err, "(did you mean fill-mask?)"));
  CHECK(has(run({"hlep"}).err, "(did you mean help?)"));
  CHECK(has(run({"frobnicate"}).err, "there is no command 'frobnicate': give one of"));
  CHECK(has(run({"help", "clasify"}).err, "there is no command 'clasify' (did you mean classify?)"));
  const Ran help = run({"--help"});
  CHECK(help.code == 0);
  CHECK(has(help.out, "Examples:"));
  CHECK(has(help.out, "Exit status:"));
}

TEST_CASE("help and version are commands too") {
  const Ran help = run({"help"});
  CHECK(help.code == 0);
  CHECK(help.out == run({"--help"}).out);
  CHECK(has(help.out, "  convert "));
  CHECK(has(help.out, "linformer convert checkpoint_best.pt -o model.lnfr"));
  const Ran classify = run({"help", "classify"});
  CHECK(classify.code == 0);
  CHECK(classify.out == run({"classify", "--help"}).out);
  for (const char* argument : {"version", "-V"}) {
    CAPTURE(std::string(argument));
    const Ran version = run({argument});
    CHECK(version.code == 0);
    CHECK(version.out == run({"--version"}).out);
  }
}

TEST_CASE("convert runs the linformer-convert that is beside the program or on the PATH, or says where to put it") {
  const CliFixture f;
  const auto converter_on = [&](const std::string& path, const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"PATH=" + path, LINFORMER_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run_program("/usr/bin/env", all);
  };
  const Ran missing = converter_on(f.path(""), {"convert", "model.pt", "-o", "model.lnfr"});
  CHECK(missing.code == 1);
  CHECK(lines_of(missing.err).size() == 1);
  CHECK(has(missing.err, "linformer: linformer-convert can't be started (No such file or directory): install it"));
#if defined(LINFORMER_CONVERT)
  const std::string folder = std::filesystem::path(LINFORMER_CONVERT).parent_path();
  const Ran version = converter_on(folder, {"convert", "-V"});
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("linformer-convert "));
  const Ran absent = converter_on(folder, {"convert", f.path("absent.pt"), "-o", f.path("model.lnfr")});
  CHECK(absent.code == 1);
  CHECK(absent.err.starts_with("linformer-convert: "));
  CHECK(has(converter_on(folder, {"help", "convert"}).out, "--list-dialects"));
#endif
}

TEST_CASE("the error for an unknown option or an unexpected argument says what may have been meant") {
  const CliFixture f;
  const std::string note = f.file("note.jsonl", "{\"review\": \"good\"}\n");
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
    int code = 2;
  };
  const Case cases[] = {
      {{"classify", f.model(), "--inptu", "x"}, "there is no option --inptu (did you mean --input?); see"},
      {{"classify", f.model(), "--batch-size", "2"}, "there is no option --batch-size (did you mean --batch?)"},
      {{"classify", f.model(), "--frobnicate=1", "good"}, "there is no option --frobnicate;"},
      {{"inspect", f.model(), f.model()}, "was not expected;"},
      {{"compare", f.model(), f.model(), f.model()}, "is a model file: MODEL comes before the texts"},
      {{"classify", note, f.model()}, "is a model file: MODEL comes before the texts"},
      {{"classify", f.model(), "-i", note}, "no field 'text'; name the field with the text: --field NAME", 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.says);
    const Ran ran = run(c.arguments);
    CHECK(ran.code == c.code);
    CHECK_MESSAGE((ran.err + ran.out).find(c.says) != std::string::npos, ran.err);
    if (c.code == 2) CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  }
}

TEST_CASE("ids are printed as they were written, and a record without an id gets one that no other record has") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "-", "--format", "jsonl", "--id", "k", "--json"},
                      "{\"text\":\"good\",\"k\":18446744073709551616}\n{\"text\":\"good\",\"k\":1.50}\n"
                      "{\"text\":\"good\",\"k\":2.5}\n{\"text\":\"good\"}\n{\"text\":\"good\",\"k\":4}\n");
  CHECK(ran.code == 1);
  const std::vector<json> lines = json_lines(ran.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0]["id"] == "18446744073709551616");
  CHECK(lines[1]["id"] == "1.50");
  CHECK(lines[2]["id"] == 2.5);
  CHECK(lines[3]["id"] == "record 4");
  CHECK(lines[4]["id"] == 4);
}

TEST_CASE("--fail-fast says on standard error why it stopped") {
  const CliFixture f;
  const Ran ran = run({"classify", f.model(), "-", "--format", "jsonl", "--fail-fast"}, "{\"text\":\"good\"}\n[\n");
  CHECK(ran.code == 1);
  CHECK(has(ran.err, "record 2"));
}

TEST_CASE("options that have no effect and values out of range are usage errors") {
  const CliFixture f;
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--overlap", "3"}, {"--threshold", "nan"}, {"--threshold", "2"}}) {
    std::vector<std::string> arguments = {"classify", f.model(), "good"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(has(ran.err, flags[0]));
  }
}

TEST_CASE("an unknown value of LINFORMER_ISA is a usage error of every program and command") {
  const CliFixture f;
  const std::string out = f.path("out");
  std::vector<std::vector<std::string>> commands = {
      {LINFORMER_PROGRAM, "classify", f.model(), "good"},
      {LINFORMER_PROGRAM, "classify", f.model(), "good", "--isa", "scalar"},
      {LINFORMER_PROGRAM, "embed", f.model(), "good", "--pooling", "mean", "-o", out},
      {LINFORMER_PROGRAM, "encode", f.model(), "good", "-o", out},
      {LINFORMER_PROGRAM, "tokenize", f.model(), "good"},
      {LINFORMER_PROGRAM, "fill-mask", f.model(), "good [MASK]"},
      {LINFORMER_PROGRAM, "perplexity", f.model(), "-i", f.file("t", "good\n")},
      {LINFORMER_PROGRAM, "inspect", f.model()},
      {LINFORMER_PROGRAM, "spectrum", f.model(), "-i", f.path("t")},
#ifdef LINFORMER_CONVERT
      {LINFORMER_CONVERT, "--from-lnfr", f.model(), "-o", out},
#endif
      {LINFORMER_PROGRAM, "bench", "--random", "tiny", "--n", "8", "--seconds", "0"},
  };
  for (std::vector<std::string>& command : commands) {
    CAPTURE(json(command).dump());
    command.insert(command.begin(), "LINFORMER_ISA=AVX9000");
    const Ran ran = run_program("/usr/bin/env", command);
    CAPTURE(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(lines_of(ran.err).size() == 1);
    CHECK(has(ran.err, "LINFORMER_ISA in the environment is 'AVX9000': set it to scalar, avx2, avx512 or neon"));
    CHECK_FALSE(std::ifstream(out).good());
  }
  for (const char* value : {"LINFORMER_ISA=", "LINFORMER_ISA=scalar"}) {
    CHECK(run_program("/usr/bin/env", {value, LINFORMER_PROGRAM, "classify", f.model(), "good"}).code == 0);
  }
  CHECK(run_program("/usr/bin/env", {"LINFORMER_ISA=AVX9000", LINFORMER_PROGRAM, "--help"}).code == 0);
}

// This test needs neither a CUDA device nor a build with CUDA.
TEST_CASE("a device that can't be used gives one error line in every command, and nothing is written") {
  const CliFixture f;
  const std::string out = f.path("out");
  const std::vector<std::vector<std::string>> commands = {
      {"classify", f.model(), "good"},
      {"embed", f.model(), "good", "--pooling", "mean", "-o", out},
      {"encode", f.model(), "good", "-o", out},
      {"fill-mask", f.model(), "good [MASK]"},
      {"perplexity", f.model(), "-i", f.file("t", "good\n")},
      {"compare", f.model(), f.model(), "--input", f.path("t")},
      {"bench", f.model(), "--n", "8", "--seconds", "0"},
      {"bench", "--random", "tiny", "--n", "8", "--seconds", "0"},
      {"bench", "--paper", "--csv", out},
  };
  for (std::vector<std::string> command : commands) {
    CAPTURE(json(command).dump());
    command.insert(command.end(), {"--device", "cuda:4000"});
    const Ran ran = run(command);
    CAPTURE(ran.err);
    CHECK(ran.code == 1);
    CHECK(ran.out == "");
    CHECK(lines_of(ran.err).size() == 1);
    CHECK((has(ran.err, "this build has no CUDA: configure it with -DLINFORMER_CUDA=ON, or use the CPU") ||
           has(ran.err, "no CUDA device can be used") || has(ran.err, "there is no device cuda:4000")));
    CHECK_FALSE(std::ifstream(out).good());
  }
  CHECK(run({"classify", f.model(), "good", "--device", "cpu"}).code == 0);
  // A command that only plans needs no device, but it needs a build with CUDA.
  const Ran plan = run({"inspect", f.model(), "--memory", "8", "--device", "cuda"});
  if (plan.code == 0) {
    CHECK(has(plan.out, "on the device, beside the weights"));
  } else {
    CHECK(plan.code == 1);
    CHECK(has(plan.err, "this build has no CUDA: configure it with -DLINFORMER_CUDA=ON, or use the CPU"));
  }
}

TEST_CASE("--delimiter sets the character between fields, and input of unknown format is then read as a table") {
  const CliFixture f;
  const std::string table = "k;text\n1;\"good; film\"\n2;bad\n";
  const std::vector<std::string> labels = {"1\tpos", "2\tneg"};
  const std::string text_file = f.file("t.txt", table), csv_file = f.file("t.csv", table);
  for (const std::string& path : {text_file, csv_file, std::string("-")}) {
    const Ran ran = run({"classify", f.model(), "-i", path, "--delimiter", ";", "--id", "k"}, table);
    CAPTURE(ran.err);
    CHECK(ran.code == 0);
    CHECK(ran.err == "");
    const auto lines = lines_of(ran.out);
    REQUIRE(lines.size() == 2);
    for (const size_t i : {0u, 1u}) CHECK(lines[i].starts_with(labels[i]));
  }
  const Ran tabs = run({"tokenize", f.model(), "--delimiter", "\\t"}, "text\tx\ngood\t1\n");
  CHECK(json_lines(tabs.out).at(0)["ids"] == json::parse("[2,5,3]"));
  const Ran wrong = run({"classify", f.model(), "-i", csv_file});
  CHECK(wrong.code == 1);
  CHECK(has(wrong.err, "if ';' stands between the fields, add --delimiter"));
  for (const char* bad : {"", ";;", "\"", "\n", "\xC2\xA6", "tab"}) {
    const Ran ran = run({"classify", f.model(), "-i", csv_file, "--delimiter", bad});
    CHECK(ran.code == 2);
    CHECK(has(ran.err, "--delimiter"));
  }
  for (const char* format : {"text", "jsonl"}) {
    CHECK(run({"classify", f.model(), "-i", csv_file, "--delimiter", ";", "--format", format}).code == 2);
  }
  CHECK(run({"classify", f.model(), "good", "--delimiter", ";"}).code == 2);
  CHECK(run({"classify", f.model(), "-i", f.file("a.jsonl", ""), "--delimiter", ";"}).code == 2);
}

}  // namespace linformer_test::arguments_test
