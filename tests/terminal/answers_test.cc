// Puts control characters into every path, text, name and option value that `linformer` is given. None may reach a
// terminal.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "cli/sentiment_model.h"
#include "support/random_model.h"
#include "terminal/printed.h"

namespace linformer_test::answers_test {

using Arguments = std::vector<std::string>;

namespace {

const std::vector<std::string> commands = {"classify", "embed",   "fill-mask", "tag",        "answer",
                                           "rerank",   "search",  "encode",    "perplexity", "tokenize",
                                           "inspect",  "compare", "spectrum",  "bench"};

// Files with hostile names, in a folder with a hostile name.
struct Files {
  Files() {
    std::filesystem::create_directory(folder.path(hostile_bytes));
    write_sentiment_model({.more_heads = true, .token_heads = true, .embedding = true}, model);
    RandomModel full;
    full.n = full.d_model = 16;
    full.heads = 2;
    full.kinds = {linformer::ProjectionKind::none};
    full.pad = full.fairseq_positions = false;
    random_builder(full).write(full_attention);
  }
  std::string file(const std::string& ending, const std::string& content) const {
    return folder.file(hostile_bytes + "/" + hostile_bytes + ending, content);
  }

  Folder folder;
  const WorkingDirectory working_directory{folder.path("")};
  const std::string place = folder.path(hostile_bytes) + "/" + hostile_bytes;
  const std::string model = place + ".lnfr", full_attention = place + "full.lnfr";
  const std::string texts = file(".txt", "good film\n" + hostile_text + "\n\xff\xfe bad [MASK] film\n\n");
  const std::string words = file("words.txt", "good film\nbad film a the\n");
  const std::string wrong = file("wrong.lnfr", "no model");
  const std::string ids = file(".ids", "[2,5,7,3]\n[2,6,3]\n[2,900,3]\n[2,\"\x7f\",3]\n");
  const std::string records = file(
      ".jsonl", nlohmann::json{{"id", hostile_text}, {"text", hostile_text}, {"label", hostile_text}}.dump() + "\n" +
                    nlohmann::json{{"id", hostile_text}, {"text", "good [MASK]"}, {"label", "pos"}}.dump() +
                    "\n{\"id\": \"x\", \"" + "\xff\"}\n" + nlohmann::json{{hostile_text, hostile_text}}.dump() + "\n");
  const std::string table = file(".csv", "id,text,\"" + hostile_text + "\"\n\"" + hostile_text +
                                             "\",good [MASK] film,pos\nb,bad,\"" + hostile_text + "\"\n");
};

Ran check(const Arguments& arguments, const std::string& input = "") {
  return run_and_check_output(LINFORMER_PROGRAM, arguments, input);
}

}  // namespace

TEST_CASE("answers, reports and errors of records contain no control character of the input") {
  const Files files;
  const std::string output = files.place + ".out";
  const std::vector<Arguments> runs = {
      {"classify", files.model, hostile_text, "good [MASK]"},
      {"classify", files.model, "--all-heads", hostile_text},
      {"classify", files.model, "-i", files.texts},
      {"classify", files.model, "-i", files.texts, "--table"},
      {"classify", files.model, "-i", files.records, "--id", "id"},
      {"classify", files.model, "-i", files.records, "--id", "id", "--table"},
      {"classify", files.model, "-i", files.records, "--id", "id", "--eval", "label"},
      {"classify", files.model, "-i", files.table, "--id", "id", "--eval", hostile_text},
      {"classify", files.model, "-i", files.records, "--field", hostile_text},
      {"classify", files.model, "-i", files.table, "--field", hostile_text, "--pair", hostile_text},
      {"classify", files.model, "-i", files.records, "--id", "id", "--output-format", "csv"},
      {"classify", files.model, "-i", files.words, "--logits", output},
      {"classify", files.model, "-i", files.wrong},
      {"embed", files.model, hostile_text, "--json"},
      {"embed", files.model, "-i", files.records, "--id", "id", "--json"},
      {"embed", files.model, "-i", files.words, "-o", output},
      {"fill-mask", files.model, "good [MASK]", hostile_text},
      {"fill-mask", files.model, "-i", files.records, "--id", "id"},
      {"fill-mask", files.model, "-i", files.records, "--id", "id", "--table"},
      {"fill-mask", files.model, "-i", files.texts},
      {"tag", files.model, "good film", hostile_text},
      {"tag", files.model, "--head", "entities", "good film", hostile_text},
      {"tag", files.model, "--head", "entities", "-i", files.texts, "--table"},
      {"tag", files.model, "--head", "entities", "-i", files.records, "--id", "id"},
      {"tag", files.model, "-i", files.records, "--id", "id", "--keep", "id", "--output-format", "csv"},
      {"answer", files.model, "--question", hostile_text, "good film", hostile_text},
      {"answer", files.model, "--question", "plot", "-i", files.texts, "--table"},
      {"answer", files.model, "--question-field", "label", "--field", "text", "-i", files.records, "--id", "id"},
      {"rerank", files.model, "--query", hostile_text, hostile_text, "good"},
      {"rerank", files.model, "--query", "good", "-i", files.records, "--id", "id"},
      {"rerank", files.model, "--queries", files.texts, "-i", files.records, "--id", "id", "--output-format", "tsv"},
      {"search", files.model, "--query", hostile_text, hostile_text, "good"},
      {"search", files.model, "--query", "good", "-i", files.records, "--id", "id", "--output-format", "csv"},
      {"search", files.model, "--query", "good", "--vectors", files.wrong},
      {"classify", files.model, hostile_text, "--zero-shot", hostile_text},
      {"perplexity", files.model, "-i", files.texts},
      {"perplexity", files.model, "-i", files.words, "--dump-masks", output},
      {"perplexity", files.model, "-i", files.records, "--id", "id"},
      {"tokenize", files.model, hostile_text},
      {"tokenize", files.model, "-i", files.records, "--id", "id"},
      {"tokenize", files.model, "-i", files.texts},
      {"encode", files.model, "--ids", files.ids, "-o", output},
      {"encode", files.model, hostile_text, "-o", output},
      {"encode", files.model, "-i", files.records, "-o", output},
      {"inspect", files.model},
      {"inspect", files.model, "--tensors", "--verify"},
      {"inspect", files.model, "--plan"},
      {"inspect", files.model, "--memory", "4"},
      {"inspect", files.wrong},
      {"compare", files.model, files.model, "-i", files.texts},
      {"compare", files.model, files.model, "-i", files.records, "--id", "id", "--eval", "label"},
      {"compare", files.model, files.full_attention, "-i", files.texts},
      {"compare", files.model, "--reference", files.records, "-i", files.records},
      {"spectrum", files.full_attention, "--ids", files.ids, "--max-tokens", "3"},
      {"spectrum", files.full_attention, "--ids", files.ids, "--max-tokens", "3", "--csv", "-"},
      {"spectrum", files.full_attention, "--ids", files.ids, "--max-tokens", "3", "--svg", "-"},
      {"spectrum", files.full_attention, "--ids", files.ids, "--max-tokens", "3", "--html", "-"},
      {"spectrum", files.full_attention, "--ids", files.ids, "--max-tokens", "2,3", "--error", "0.5"},
      {"spectrum", files.full_attention, "--ids", files.ids, "--max-tokens", "2,3", "--error", "0.5", "--svg", "-"},
      {"bench", files.model, "--seconds", "0.01", "--n", "4"},
      {"bench", files.model, "--seconds", "0.01", "--n", "4", "--profile"}};
  for (const Arguments& arguments : runs) {
    CAPTURE(arguments[0]);
    check(arguments);
    Arguments json = arguments;
    json.push_back("--json");
    const Ran as_json = check(json);
    for (const std::string& line : lines_of(as_json.out)) {
      if (line.starts_with("{\"")) CHECK(nlohmann::json::accept(line));
    }
  }
}

TEST_CASE("terminal_fault() finds control characters, bytes that aren't UTF-8 and injected lines") {
  CHECK(terminal_fault("a\tb\nc\xc3\xa9\n") == "");
  for (const char* printed : {"a\x1b[m", "a\r", "\x7f", "\xc2\x9b", "\xff", "a\nINJECTED"}) {
    CHECK(terminal_fault(printed) != "");
  }
}

TEST_CASE("errors name hostile paths, commands and options in one line") {
  const Files files;
  const std::string absent = files.place + "absent";
  std::set<std::string> tried;
  for (const std::string& command : commands) {
    Arguments known = {command, files.model};
    if (command == "answer") known.insert(known.end(), {"--question", "plot", "good film"});
    if (command == "encode") known.insert(known.end(), {"-o", files.place + ".npy"});
    for (const Arguments& arguments :
         {Arguments{command, absent}, Arguments{command, files.folder.path(hostile_bytes)},
          Arguments{command, files.wrong}, Arguments{command, files.model, absent},
          Arguments{command, "--" + hostile_bytes}, Arguments{command, files.model, "-i", absent},
          Arguments{command, files.model, "-i", files.folder.path("")}, Arguments{command, files.model, files.wrong},
          Arguments{command, files.model, "-i", files.wrong}}) {
      const Ran ran = check(arguments);
      if (ran.code == 2) CHECK(lines_of(ran.err).size() == 1);
    }
    for (const std::string& option : listed_options(LINFORMER_PROGRAM, {command})) {
      // These options measure for long or write into the folder.
      if (option == "--save" || option == "--paper") continue;
      if (!tried.insert(option).second && !exhaustive()) continue;
      CAPTURE(option);
      Arguments arguments = known;
      arguments.insert(arguments.end(), {option, hostile_bytes});
      if (command == "bench") arguments.insert(arguments.end(), {"--seconds", "0.001", "--n", "4"});
      const Ran ran = check(arguments);
      if (ran.code == 2) CHECK(lines_of(ran.err).size() == 1);
    }
  }
  CHECK(check({hostile_bytes}).code == 2);
  CHECK(check({"--" + hostile_bytes}).code == 2);
}

}  // namespace linformer_test::answers_test
