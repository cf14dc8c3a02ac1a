// Writes the targets' first inputs. `fuzz_seeds FOLDER` writes the files FOLDER/TARGET/NAME, which come from the
// checkpoints and tokenizers of tests/data and from the made-up models of the tests, including hostile ones.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/sentiment_model.h"
#include "converter/pickle_writer.h"
#include "converter/readers/torch/zip_directory.h"
#include "converter/tiny_fairseq.h"
#include "converter/tiny_hugging_face.h"
#include "converter/tiny_tatp22.h"
#include "fuzz/folder.h"
#include "fuzz/hostile_models.h"
#include "linformer/convert.h"
#include "session/variants.h"

namespace {

namespace fs = std::filesystem;
using namespace linformer;
using namespace linformer_fuzz;
using namespace linformer_test;

constexpr uint64_t most_bytes = 90000;  // Larger checkpoints are left out, because they make the fuzzer slow.

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Writer {
 public:
  Writer(const fs::path& folder, const std::string& target) : folder_(folder / target) {
    fs::create_directories(folder_);
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  void write(const std::string& name, const Parts& parts) const { write(name, join(parts)); }

 private:
  fs::path folder_;
};

void write_models(const Writer& writer) {
  const auto add = [&](const std::string& name, writer::ModelBuilder& builder) {
    const writer::AlignedBytes bytes = builder.serialize();
    writer.write(name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  for (const auto& entry : fs::directory_iterator(LINFORMER_SOURCE_DIR "/schema/golden")) {
    if (entry.path().extension() == ".lnfr") writer.write(entry.path().filename().string(), content_of(entry.path()));
  }
  int number = 0;
  for (Variant& variant : variants(12)) {
    RandomModel& shape = variant.shape;
    shape.k = std::min(shape.k, 5u);
    shape.k_step = std::min(shape.k_step, 1u);
    shape.d_model = 12;
    shape.ffn = 16;
    shape.vocabulary = 20;
    for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::int8}) {
      shape.type = type;
      writer::ModelBuilder builder = random_builder(shape);
      add("variant" + std::to_string(number) + "_" + name_of(type), builder);
    }
    ++number;
  }
  RandomModel decoder;
  decoder.d_model = 8;
  decoder.heads = 2;
  decoder.ffn = 8;
  decoder.decoder = true;
  decoder.key_sources = {KeySource::encoder_states_or_own};
  writer::ModelBuilder builder = random_builder(decoder);
  add("decoder", builder);
  for (const HostileModel kind : hostile_models) {
    HostileModelFile hostile(kind);
    add(std::string("hostile_") + name_of(kind), hostile.builder);
  }
}

// Writes golden checkpoints of common encoders, converted with a tokenizer, so that the models read texts and every
// head gives answers.
void write_families(const Writer& writer, const fs::path& folder) {
  for (const char* family : {"hugging-face", "modernbert", "rotary-bert"}) {
    for (const auto& entry : fs::directory_iterator(LINFORMER_SOURCE_DIR "/tests/data/golden/" + std::string(family))) {
      const auto config = nlohmann::json::parse(content_of(entry.path() / "meta.json")).at("config");
      if (config.at("vocab_size") != sentiment_words.size()) continue;
      std::vector<std::string> words = sentiment_words;
      std::swap(words[0], words[config.at("pad_token_id").get<size_t>()]);
      std::string vocabulary;
      for (const std::string& word : words) vocabulary += word + "\n";
      const fs::path place = folder / "family";
      fs::create_directories(place);
      fs::copy(entry.path() / "checkpoint.safetensors", place / "model.safetensors",
               fs::copy_options::overwrite_existing);
      std::ofstream(place / "config.json") << config.dump();
      std::ofstream(place / "vocab.txt") << vocabulary;
      convert::ConvertOptions options;
      options.checkpoint = place.string();
      options.output = (place / "model.lnfr").string();
      convert::convert_checkpoint(options);
      writer.write(std::string(family) + "_" + entry.path().filename().string(), content_of(options.output));
      fs::remove_all(place);
    }
  }
}

// Writes each small checkpoint of tests/data/golden with its configuration.
void write_goldens(const Writer& writer) {
  for (const auto& entry : fs::recursive_directory_iterator(LINFORMER_SOURCE_DIR "/tests/data/golden")) {
    const fs::path& path = entry.path();
    const std::string extension = path.extension().string();
    if ((extension != ".pt" && extension != ".safetensors") || entry.file_size() > most_bytes) continue;
    const auto meta = nlohmann::json::parse(content_of(path.parent_path() / "meta.json"), nullptr, false);
    Parts parts = {{extension == ".pt" ? "checkpoint.pt" : "model.safetensors", content_of(path)}};
    if (meta.contains("config")) parts.push_back({"config.json", meta["config"].dump()});
    const std::string family = path.parent_path().parent_path().filename().string();
    writer.write(family + "_" + path.parent_path().filename().string() + "_" + path.stem().string(), parts);
  }
}

std::string tokenizer_of(const std::string& folder, const std::string& name) {
  return content_of(fs::path(LINFORMER_SOURCE_DIR "/tests/data/tokenizers") / folder / name);
}

// Writes small checkpoints that need much memory or time: settings with lists that contain one list many times, at
// several levels, and names that are joined from long names again and again.
void write_hostile_pickles(const Writer& writer) {
  TinyFairseq tiny;
  const std::string archive = torch_zip(tiny.tensors(), tiny.settings());
  convert::Budget budget;
  std::vector<HandZipEntry> entries;
  for (const convert::ZipEntry& entry : convert::read_zip_directory(as_bytes(archive), budget)) {
    std::string bytes(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
    if (entry.name.ends_with("/data.pkl")) {
      const std::string_view root = std::string_view(bytes).substr(2, bytes.size() - 3);
      PickleWriter pickle;
      pickle.empty_dict().text("model").append(root).set_item().text("linformer.settings").empty_dict().text("x");
      constexpr uint32_t place = 0xF0000;
      pickle.op(']').op('r').append(raw(place)).mark();
      for (int i = 0; i < 20; ++i) pickle.op('j').append(raw(place));
      pickle.op('e').set_item().set_item();
      bytes = pickle.stop();
    }
    entries.push_back({entry.name, bytes});
  }
  writer.write("pickle_shared_list", {{"checkpoint.pt", zip_archive(entries)}});

  PickleWriter names(4);
  for (int i = 0; i < 8; ++i) names.text(std::string(200, static_cast<char>('a' + i))).op('r').append(raw(i)).op('0');
  for (int i = 0; i < 4; ++i) {
    for (int j = 4; j < 8; ++j) names.op('j').append(raw(i)).op('j').append(raw(j)).op('\x93').op('0');
  }
  writer.write("pickle_names", {{"checkpoint.pt", zip_archive({{"a/data.pkl", names.none().stop()}})}});
}

void write_checkpoints(const Writer& writer) {
  write_goldens(writer);
  TinyFairseq tiny;
  std::vector<HandTensor> tensors = tiny.tensors();
  writer.write("fairseq", {{"checkpoint.pt", torch_zip(tensors, tiny.settings())}, {"options", "dtype bf16\n"}});
  writer.write("fairseq_int8", {{"checkpoint.pt", torch_zip(tensors, tiny.settings())}, {"options", "dtype int8\n"}});
  writer.write("fairseq_legacy", {{"checkpoint.pt", torch_legacy(tensors, tiny.settings())}});
  writer.write("fairseq_cfg", {{"checkpoint_best.pt", torch_zip_with_cfg(tensors, tiny.settings())}});
  add_head(tensors, "sentence_classification_head", 8, 8, 2);
  writer.write("fairseq_head", {{"checkpoint.pt", torch_zip(tensors, tiny.settings())},
                                {"labels.txt", "bad\ngood\n"},
                                {"options", "head-kind multi_label\ndtype f16\n"}});
  const Parts shards = {
      {"model.safetensors.index.json",
       R"({"metadata":{},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})"},
      {"model-00001-of-00002.safetensors", safetensors({{"a", {2}, {1, 2}}})},
      {"model-00002-of-00002.safetensors", safetensors({{"b", {2}, {1, 2}}}, {{"format", "pt"}})}};
  writer.write("shards", shards);
  for (const char* name : {"mapped", "short", "module-prompts"}) {
    Parts parts;
    for (const auto& file :
         fs::directory_iterator(fs::path(LINFORMER_SOURCE_DIR "/tests/data/static_embedding") / name)) {
      parts.push_back({file.path().filename().string(), content_of(file.path())});
    }
    writer.write(std::string("static_") + name, parts);
  }
  for (const TinyFamily family : {TinyFamily::bert, TinyFamily::roberta, TinyFamily::distilbert}) {
    TinyHuggingFace face;
    face.family = family;
    const std::string number = std::to_string(static_cast<int>(family));
    const Parts parts = {{"model.safetensors", safetensors(face.tensors(), {{"format", "pt"}})},
                         {"config.json", face.config().dump()}};
    writer.write("hugging_face" + number, parts);
    Parts sentence = parts;
    sentence.push_back(
        {"modules.json",
         R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},)"
         R"({"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},)"
         R"({"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])"});
    sentence.push_back({"1_Pooling/config.json", R"({"word_embedding_dimension":8,"pooling_mode_mean_tokens":true})"});
    sentence.push_back({"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\n##s\n"});
    writer.write("sentence" + number, sentence);
  }
  const std::string plain = R"({"activation":"gelu","full_attention":false,"causal":false,"decoder_mode":false})";
  for (const char* sharing : {"none", "headwise", "kv", "layerwise"}) {
    TinyTatp22 small;
    small.sharing = sharing;
    writer.write(std::string("tatp22_") + sharing,
                 {{"checkpoint.pt", torch_zip(small.tensors())}, {"settings.json", plain}});
  }
  write_hostile_pickles(writer);
}

void write_tokenizers(const Writer& writer) {
  const std::string text = "The film was good, wasn't it? <mask> naïve \xf0\x9f\x98\x80\xff 12\nA second text.";
  const auto add = [&](const std::string& name, Parts parts) {
    parts.push_back({"text", text});
    writer.write(name, parts);
  };
  for (const char* folder : {"bpe_json", "bpe_cl100k_json", "bpe_gemma_json", "unigram_json", "unigram_steps_json",
                             "unigram_text_json", "wordpiece_json"}) {
    add(folder, {{"tokenizer.json", tokenizer_of(folder, "tokenizer.json")}});
  }
  add("bpe", {{"vocab.json", tokenizer_of("bpe", "vocab.json")}, {"merges.txt", tokenizer_of("bpe", "merges.txt")}});
  add("fairseq", {{"encoder.json", tokenizer_of("fairseq", "encoder.json")},
                  {"vocab.bpe", tokenizer_of("fairseq", "vocab.bpe")},
                  {"dict.txt", tokenizer_of("fairseq", "dict.txt")}});
  add("wordpiece",
      {{"vocab.txt", tokenizer_of("wordpiece", "vocab.txt")}, {"tokenizer_config.json", R"({"do_lower_case":false})"}});
  for (const char* folder : {"sentencepiece", "sentencepiece_bytes"}) {
    add(folder, {{"spiece.model", tokenizer_of(folder, "spiece.model")}});
  }
  add("piece_dictionary", {{"spiece.model", tokenizer_of("sentencepiece", "spiece.model")}, {"dict.txt", "a 1\n"}});
  std::string nested;
  for (int i = 0; i < 40; ++i) nested += R"({"type":"Sequence","normalizers":[)";
  for (int i = 0; i < 40; ++i) nested += "]}";
  add("nested", {{"tokenizer.json", R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"normalizer":)" + nested +
                                        R"(,"pre_tokenizer":{"type":"ByteLevel"}})"}});
  add("brackets", {{"tokenizer.json", std::string(2000, '[')}});
}

struct Command {
  const char* name;
  std::vector<const char*> arguments;
  Parts files;
};

void write_commands(const Writer& writer) {
  const Parts lines = {{"in.txt", "a good film\n\nbad, the plot\r\n\xff\n"}};
  const Parts objects = {{"in.jsonl", R"({"text":"good","label":"pos","id":7,"second":"bad"})"
                                      "\n"
                                      R"({"text":"bad film","label":["neg","pos"],"score":0.5})"
                                      "\n{\n"}};
  const Parts array = {{"in.json", R"([{"text":"good"},{"text":"a \u0062ad one","second":null}])"}};
  const Parts table = {{"in.csv", "text,label,second\n\"good, \"\"really\"\"\",pos,bad\nbad,neg,\n"}};
  const Parts tabs = {{"in.tsv", "good\tpos\nbad\tneg\n"}};
  const Parts ids = {{"in.jsonl", "[2,5,7,3]\n[0,0,1,0]\n[]\n"}};
  std::string npy =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }";
  npy.resize(127, ' ');
  npy += '\n';
  for (const int32_t id : {2, 5, 3, 2, 6, 3}) npy.append(reinterpret_cast<const char*>(&id), sizeof id);
  std::string vectors = npy.substr(0, 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 16), }";
  vectors.resize(127, ' ');
  vectors += '\n' + std::string(128, '\0');
  const Parts masked = {{"in.csv", "text,label\n\"good, [MASK]\",pos\n[MASK] [MASK] bad,neg\nbad,x\n"}};
  const Parts tagged = {
      {"in.jsonl", R"({"text":"a good film","entities":[{"start":2,"end":6,"label":"GOOD"}],"tokens":["good","film"],)"
                   R"("tags":["B-GOOD","O"]})"
                   "\n"
                   R"({"text":"bad","entities":[{"end":9,"start":1,"label":"BAD"}],"tokens":["bad"],"tags":[3]})"
                   "\n"}};
  const Parts asked = {{"in.jsonl",
                        R"({"question":"plot","context":"the good film .","answers":{"text":["good film"],"x":[1]}})"
                        "\n"
                        R"({"question":"the","context":"a good bad a good bad film film plot the a","answers":["bad"]})"
                        "\n"
                        R"({"question":"a a a a a a a a a a a a","context":"good","answers":3})"
                        "\n"}};
  const Parts queries = {{"in.jsonl", objects[0].content}, {"q.txt", "film\n\nthe plot\n"}};
  // A NumPy file with one vector for each line of in.txt.
  std::string rows = npy.substr(0, 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 16), }";
  rows.resize(127, ' ');
  rows += '\n' + std::string(size_t{4} * 16 * 4, '\x3f');
  const Parts searched = {{"in.txt", lines[0].content}, {"q.txt", "film\nthe plot\n"}, {"in.npy", rows}};
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xcf\xcf\x4f\x51\x48\xcb\xcc\xc9\xe5\x02\x00"
      "\x09\x12\xe2\x03\x0a\x00\x00\x00",
      30);
  const std::vector<Command> commands = {
      {"classify", {"classify", "words.lnfr", "a good film", "--json"}, {}},
      {"classify_lines", {"classify", "words.lnfr", "-i", "in.txt", "--all-heads"}, lines},
      {"classify_input", {"classify", "words.lnfr", "-"}, {{"stdin", "good\nbad\n"}}},
      {"classify_json", {"classify", "words.lnfr", "-i", "in.jsonl", "--json", "--id", "id", "--top-k", "3"}, objects},
      {"classify_pairs", {"classify", "words.lnfr", "-i", "in.jsonl", "--pair", "second", "--head", "better"}, objects},
      {"classify_array", {"classify", "words.lnfr", "-i", "in.json", "--table"}, array},
      {"classify_csv", {"classify", "words.lnfr", "-i", "in.csv", "--eval", "label", "--records"}, table},
      {"classify_tsv", {"classify", "words.lnfr", "-i", "in.tsv", "--no-header", "--field", "1"}, tabs},
      {"classify_windows", {"classify", "words.lnfr", "-i", "in.txt", "--on-long", "window", "--overlap", "1"}, lines},
      {"classify_gzip", {"classify", "words.lnfr", "-i", "in.txt.gz", "--logits", "out.npy"}, {{"in.txt.gz", gzip}}},
      {"classify_vectors", {"classify", "vectors.lnfr", "--vectors", "in.npy"}, {{"in.npy", vectors}}},
      {"classify_numbers", {"classify", "words.lnfr", "-i", "in.jsonl", "--head", "mood,relevance"}, objects},
      {"encode_ids", {"encode", "words.lnfr", "--ids", "in.jsonl", "-o", "out.npy", "--padding", "keep"}, ids},
      {"encode_npy", {"encode", "words.lnfr", "--ids", "in.npy", "-o", "-", "--pad-to", "9"}, {{"in.npy", npy}}},
      {"encode_text", {"encode", "words.lnfr", "good", "--what", "mlm", "-o", "out.npy"}, {}},
      {"embed", {"embed", "words.lnfr", "-i", "in.txt", "-o", "out.npy", "--pooling", "max"}, lines},
      {"embed_json", {"embed", "words.lnfr", "-i", "in.csv", "--json", "--no-normalize"}, table},
      {"fill_mask", {"fill-mask", "words.lnfr", "a [MASK] film [MASK]", "--top-k", "13", "--json"}, {}},
      {"fill_masks", {"fill-mask", "words.lnfr", "-i", "in.txt"}, {{"in.txt", "[MASK][MASK][MASK]\n<mask> <mask>\n"}}},
      {"fill_mask_keep", {"fill-mask", "words.lnfr", "-i", "in.csv", "--keep", "label", "--top-k", "2"}, masked},
      {"tag", {"tag", "answers.lnfr", "a good film", "bad plot", "--json"}, {}},
      {"tag_lines",
       {"tag", "answers.lnfr", "-i", "in.jsonl", "--id", "id", "--keep", "label", "--output-format", "csv"},
       objects},
      {"tag_words",
       {"tag", "answers.lnfr", "-i", "in.jsonl", "--words", "--field", "tokens", "--eval", "tags"},
       tagged},
      {"tag_spans", {"tag", "answers.lnfr", "-i", "in.jsonl", "--eval", "entities", "--json"}, tagged},
      {"answer",
       {"answer", "answers.lnfr", "--question", "the plot", "a good film", "--top-k", "3", "--no-answer"},
       {}},
      {"answer_eval",
       {"answer", "answers.lnfr", "-i", "in.jsonl", "--eval", "answers", "--max-answer-tokens", "2"},
       asked},
      {"answer_windows",
       {"answer", "answers.lnfr", "-i", "in.jsonl", "--max-tokens", "9", "--overlap", "2", "--json"},
       asked},
      {"rerank", {"rerank", "answers.lnfr", "--query", "film", "-i", "in.txt", "--top-n", "2", "--json"}, lines},
      {"rerank_queries",
       {"rerank", "answers.lnfr", "--queries", "q.txt", "-i", "in.jsonl", "--raw", "--keep", "label", "--output-format",
        "csv"},
       queries},
      {"zero_shot", {"classify", "answers.lnfr", "a good film", "--zero-shot", "good,bad,plot", "--json"}, {}},
      {"zero_shot_lines",
       {"classify", "answers.lnfr", "-i", "in.txt", "--zero-shot", "good", "--multi-label", "--hypothesis",
        "a {} film"},
       lines},
      {"search", {"search", "answers.lnfr", "--query", "film", "-i", "in.txt", "--top-k", "2", "--json"}, lines},
      {"search_vectors",
       {"search", "answers.lnfr", "--queries", "q.txt", "-i", "in.txt", "--vectors", "in.npy", "--similarity", "dot"},
       searched},
      {"sparse", {"embed", "answers.lnfr", "-i", "in.txt", "--sparse"}, lines},
      {"dimensions",
       {"embed", "answers.lnfr", "-i", "in.txt", "--dimensions", "3", "--pooling", "mean", "-o", "out.npy"},
       lines},
      {"perplexity",
       {"perplexity", "words.lnfr", "-i", "in.txt", "--mode", "both", "--dump-masks", "out.jsonl"},
       lines},
      {"tokenize", {"tokenize", "words.lnfr", "-i", "in.jsonl", "--pair", "second", "--max-tokens", "6"}, objects},
      {"tokenize_files", {"tokenize", "--tokenizer", "vocab.txt", "a b"}, {{"vocab.txt", "[UNK]\na\nb\n"}}},
      {"inspect", {"inspect", "words.lnfr", "--tensors", "--verify"}, {}},
      {"inspect_json", {"inspect", "full.lnfr", "--json", "--plan", "12", "--memory", "9"}, {}},
      {"inspect_other", {"inspect", "other.lnfr"}, {{"other.lnfr", std::string("\x89LNFR\r\n\x1a\4", 9)}}},
      {"spectrum", {"spectrum", "full.lnfr", "--ids", "in.jsonl", "--max-tokens", "4", "--svg", "out.svg"}, ids},
      {"spectrum_json", {"spectrum", "full.lnfr", "--ids", "in.jsonl", "--max-tokens", "3", "--json"}, ids},
      {"spectrum_error",
       {"spectrum", "full.lnfr", "--ids", "in.jsonl", "--max-tokens", "3,4", "--error", "0.5", "--draws", "2", "--seed",
        "1"},
       ids},
      {"pads", {"encode", "words.lnfr", "--ids", "in.jsonl", "-o", "out.npy"}, {{"in.jsonl", "[0,0,0,0,0,0,0,0,5]\n"}}},
      {"help", {"classify", "--help"}, {}},
  };
  for (const Command& command : commands) {
    Parts parts = {{"args", ""}};
    for (const char* argument : command.arguments) parts[0].content += std::string(argument) + "\n";
    parts.insert(parts.end(), command.files.begin(), command.files.end());
    writer.write(command.name, parts);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const fs::path folder = arguments[1];
  write_models(Writer(folder, "model"));
  write_families(Writer(folder, "model"), folder);
  write_checkpoints(Writer(folder, "checkpoint"));
  write_tokenizers(Writer(folder, "tokenizer"));
  write_commands(Writer(folder, "program"));
  return 0;
}
