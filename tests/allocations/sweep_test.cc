// Makes each memory allocation in many uses of the library fail in turn. The library must return an error each time and
// leak no memory.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/description.h"
#include "c_api/linformer.h"
#include "cli/sentiment_model.h"
#include "converter/tokenizers/tokenizer_files.h"
#include "linformer/answerer.h"
#include "linformer/classifier.h"
#include "linformer/mask_filler.h"
#include "linformer/reranker.h"
#include "linformer/session.h"
#include "linformer/sparse_embedder.h"
#include "linformer/tagger.h"
#include "linformer/text_reader.h"
#include "linformer/tokenizer.h"
#include "linformer/vector_search.h"
#include "linformer/zero_shot.h"
#include "pipeline/token_model.h"
#include "session/variants.h"
#include "support/allocations.h"
#include "support/outputs.h"
#include "support/random_model.h"
#include "text/tokenizer_factory.h"

namespace linformer_test::sweep_test {
namespace {

using namespace linformer;

struct Points {
  int64_t requests = 0, refused = 0, other = 0, lost = 0;
};
Points all_points;

// Runs `work` twice for each allocation that it makes. In the first run only this allocation fails, and in the second
// run this one and all later ones.
template <class Work>
void sweep(const std::string& name, Work work) {
  for (int warm = 0; warm < 2; ++warm) {  // Memory that a process allocates once, such as stacks, exists after this.
    const Status status = work();
    REQUIRE_MESSAGE(status.ok(), name << ": " << status.message());
  }
  fail_request(0, false);
  const bool works = work().ok();
  Points points;
  points.requests = stop_failing_requests();
  REQUIRE(works);
  for (const bool and_later : {false, true}) {
    for (int64_t number = 1; number <= points.requests; ++number) {
      const int64_t before = live_blocks();
      fail_request(number, and_later);
      const Status status = work();
      stop_failing_requests();
      const int64_t lost = live_blocks() - before;
      points.lost += lost;
      ++(status.code() == Code::out_of_memory ? points.refused : points.other);
      CHECK_MESSAGE(status.code() == Code::out_of_memory, name << ", request " << number << ": " << status.message());
      CHECK_MESSAGE(lost == 0, name << ", request " << number << ": " << lost << " blocks of memory leaked");
    }
  }
  std::printf(
      "%-46s %5lld requests, each refused alone and with all later ones: %5lld errors, %lld others, %lld blocks lost\n",
      name.c_str(), static_cast<long long>(points.requests), static_cast<long long>(points.refused),
      static_cast<long long>(points.other), static_cast<long long>(points.lost));
  CHECK(points.requests > 0);
  all_points.requests += points.requests;
  all_points.refused += points.refused;
  all_points.other += points.other;
  all_points.lost += points.lost;
}

// Loads a model, plans and creates a session for its encoder and one for its decoder, and runs both with every output.
// The constructor allocates the inputs and outputs of the calls.
class WholeModel {
 public:
  explicit WholeModel(std::span<const std::byte> file, bool masks) : file_(file) {
    auto model = Model::load(file);
    REQUIRE_MESSAGE(model.ok(), std::string(model.status().message()));
    for (const Part part : {Part::encoder, Part::decoder}) {
      const ModelDescription& about = (*model)->description();
      if (part == Part::decoder && !about.has_decoder()) continue;
      auto session = Session::create(*model, options(part));
      if (!session.ok()) {  // This version can't execute this part.
        REQUIRE(session.status().code() == Code::unsupported);
        continue;
      }
      const EncoderDescription& encoder = part == Part::decoder ? about.decoder : about.encoder;
      PartCall& call = calls_.emplace_back();
      call.part = part;
      for (uint64_t i = 0; i < 2; ++i) call.inputs.push_back(random_input(i + 1, encoder, rows, rows, masks));
      for (const RandomInput& input : call.inputs) call.views.push_back(input.view());
      add_output(*session, call.views, Output::hidden({}, 0), &call.hidden, &call.outputs);
      add_output(*session, call.views, Output::embeddings({}), &call.embeddings, &call.outputs);
    }
  }

  Status operator()() {
    auto model = Model::load(file_);
    if (!model.ok()) return model.status();
    for (PartCall& call : calls_) {
      const Result<Plan> planned = plan(**model, options(call.part), Machine());
      if (!planned.ok()) return planned.status();
      auto weights = PreparedWeights::create(*model);
      if (!weights.ok()) return weights.status();
      auto session = Session::create(*weights, options(call.part));
      if (!session.ok()) return session.status();
      LINFORMER_TRY(session->run(std::span<const Input>(call.views), call.outputs));
    }
    return {};
  }

 private:
  static constexpr int64_t rows = 12;
  struct PartCall {
    Part part;
    std::vector<RandomInput> inputs;
    std::vector<Input> views;
    std::vector<float> hidden, embeddings;
    std::vector<Output> outputs;
  };

  static SessionOptions options(Part part) {
    SessionOptions options;
    options.memory.max_tokens = 16;
    options.memory.max_batch = 2;
    options.cpu.threads = 2;
    options.run.part = part;
    options.profile = true;
    return options;
  }

  std::span<const std::byte> file_;
  std::vector<PartCall> calls_;
};

// Creates a tokenizer, encodes texts in every way and decodes the ids.
Status tokenize(const TokenizerDescription& description) {
  constexpr std::string_view text =
      "The inner booth, 2! <mask> \xe4\xb8\xad\xff antidisestablishmentarianisms, which is "
      "longer than forty-eight bytes without one single space in between";
  auto tokenizer = TokenizerFactory::create(description);
  if (!tokenizer.ok()) return tokenizer.status();
  Encoding encoding;
  EncodeOptions options;
  options.token_strings = true;
  LINFORMER_TRY(tokenizer->encode(text, options, &encoding));
  options.max_length = 12;
  LINFORMER_TRY(tokenizer->encode(text, "Another one.", options, &encoding));
  LINFORMER_TRY(tokenizer->encode_window(text, options, 0, &encoding));
  TextBuffer decoded;
  return tokenizer->decode(encoding.ids(), {}, &decoded);
}

// Creates a classifier with two threads, and classifies texts. One of them is read in windows.
Status classify(const std::shared_ptr<const Model>& model) {
  ClassifierOptions options;
  options.texts.cpu.threads = 2;
  options.texts.max_batch = 2;
  options.texts.on_long = OnLong::window;
  Result<Classifier> classifier = Classifier::create(model, options);
  if (!classifier.ok()) return classifier.status();
  const std::string_view texts[] = {"good", "a bad film",
                                    "good good the plot a film good good the plot a film bad bad bad"};
  float probabilities[64];
  return classifier->classify(texts, probabilities);
}

// Fills masks, and reads a text in windows.
Status fill_and_read(const std::shared_ptr<const Model>& model) {
  const std::string_view texts[] = {"good [MASK]", "no mask", "[MASK] film [MASK] and a plot that is too long for it"};
  MaskFillerOptions options;
  options.texts.max_batch = 2;
  Result<MaskFiller> filler = MaskFiller::create(model, options);
  if (!filler.ok()) return filler.status();
  LINFORMER_TRY(filler->fill(texts, [](size_t, const MaskFilling&) { return true; }));
  TextReaderOptions reading;
  reading.texts.on_long = OnLong::window;
  Result<TextReader> reader = TextReader::create(model, reading);
  if (!reader.ok()) return reader.status();
  Result<TextReader> other = reader->another();
  if (!other.ok()) return other.status();
  TextReport report;
  LINFORMER_TRY(other->read({texts[2], {}, {}}, &report));
  for (int64_t i = 0; i < other->sequences(); ++i) LINFORMER_TRY(other->sequence(i).status());
  return {};
}

// Finds entities in texts that have non-ASCII characters or are read in windows, and answers questions.
Status tag_and_answer(const std::shared_ptr<const Model>& model) {
  TaggerOptions tagging;
  tagging.aggregation = Aggregation::average;
  tagging.texts.cpu.threads = 2;
  Result<Tagger> tagger = Tagger::create(model, tagging);
  if (!tagger.ok()) return tagger.status();
  const char* longer = "good film of the plot, good film of the plot. \u00e9 good film of the plot, the film plot";
  const std::string_view texts[] = {"good", "a film of \u00e9", longer};
  LINFORMER_TRY(tagger->tag(texts, [](size_t, const Tagging&) { return true; }));
  AnswererOptions answering;
  answering.texts.overlap = 2;
  answering.top_k = 3;
  answering.no_answer = true;
  Result<Answerer> answerer = Answerer::create(model, answering);
  if (!answerer.ok()) return answerer.status();
  const TextInput questions[] = {{"good film", longer, {}}, {"the plot", "a film", {}}};
  return answerer->answer(questions, [](size_t, const Answers&) { return true; });
}

// Ranks documents by a query, classifies texts with zero-shot labels, makes sparse vectors and searches vectors.
Status rank(const std::shared_ptr<const Model>& model) {
  const std::string_view texts[] = {"good", "a bad film", "the plot"};
  RerankerOptions ranking;
  ranking.texts.cpu.threads = 2;
  Result<Reranker> reranker = Reranker::create(model, ranking);
  if (!reranker.ok()) return reranker.status();
  Scored best[2];
  size_t counts[2] = {};
  LINFORMER_TRY(reranker->rank("good film", texts, best, counts));
  ZeroShotOptions labels;
  labels.labels = texts;
  Result<ZeroShotClassifier> zero_shot = ZeroShotClassifier::create(model, labels);
  if (!zero_shot.ok()) return zero_shot.status();
  LINFORMER_TRY(zero_shot->classify(texts, [](size_t, const ZeroShotClassification&) { return true; }));
  Result<SparseEmbedder> sparse = SparseEmbedder::create(model);
  if (!sparse.ok()) return sparse.status();
  LINFORMER_TRY(sparse->embed(texts, [](size_t, const TextReport&, std::span<const TokenWeight>) { return true; }));
  static const std::vector<float> rows(300, 0.5f);
  VectorSearchOptions options;
  options.top_k = 1;
  options.cpu.threads = 2;
  Result<VectorSearch> search = VectorSearch::create(rows, 3, options);
  if (!search.ok()) return search.status();
  return search->search(std::span(rows).first(6), best, counts);
}

// Loads a model file, finds entities and answers questions with the C API.
Status tag_and_answer_in_c(const char* path) {
  lnf_model* model = nullptr;
  lnf_tagger* tagger = nullptr;
  lnf_answerer* answerer = nullptr;
  lnf_status status = {};
  const char* texts[] = {"good film", "the plot of a film"};
  const lnf_tag_visit tagged = [](void*, const lnf_tagging*) { return 1; };
  const lnf_answer_visit answered = [](void*, const lnf_answers*) { return 1; };
  if (lnf_model_load(path, nullptr, &model, &status) == LNF_OK &&
      lnf_tagger_create(model, LNF_AGGREGATE_FIRST, -1, nullptr, &tagger, &status) == LNF_OK &&
      lnf_tag(tagger, texts, nullptr, 2, tagged, nullptr, nullptr, &status) == LNF_OK &&
      lnf_answerer_create(model, 0, 2, 0, -1, nullptr, &answerer, &status) == LNF_OK) {
    lnf_answer(answerer, texts, nullptr, texts, nullptr, 2, answered, nullptr, nullptr, &status);
  }
  lnf_answerer_free(answerer);
  lnf_tagger_free(tagger);
  lnf_model_free(model);
  return status.code == LNF_OK ? Status() : Status::error(static_cast<Code>(status.code), "%s", status.message);
}

// Loads a model file and fills masks with the C API.
Status fill_in_c(const char* path) {
  lnf_model* model = nullptr;
  lnf_mask_filler* filler = nullptr;
  lnf_status status = {};
  const char* texts[] = {"good [MASK]", "a bad film", "[MASK] [MASK]"};
  const lnf_fill_visit visit = [](void*, const lnf_mask_filling*) { return 1; };
  if (lnf_model_load(path, nullptr, &model, &status) == LNF_OK &&
      lnf_mask_filler_create(model, 3, nullptr, &filler, &status) == LNF_OK) {
    lnf_fill_masks(filler, texts, nullptr, nullptr, nullptr, 3, visit, nullptr, nullptr, &status);
  }
  lnf_mask_filler_free(filler);
  lnf_model_free(model);
  return status.code == LNF_OK ? Status() : Status::error(static_cast<Code>(status.code), "%s", status.message);
}

// Loads a model file and classifies texts with the C API.
Status classify_in_c(const char* path) {
  lnf_model* model = nullptr;
  lnf_classifier* classifier = nullptr;
  lnf_status status = {};
  const char* texts[] = {"good", "a bad film"};
  float probabilities[64];
  if (lnf_model_load(path, nullptr, &model, &status) == LNF_OK &&
      lnf_classifier_create(model, nullptr, 0, nullptr, &classifier, &status) == LNF_OK) {
    lnf_classify(classifier, texts, nullptr, nullptr, nullptr, 2, probabilities, 64, nullptr, &status);
  }
  lnf_classifier_free(classifier);
  lnf_model_free(model);
  return status.code == LNF_OK ? Status() : Status::error(static_cast<Code>(status.code), "%s", status.message);
}

TEST_CASE("every failed allocation is returned as an error and leaks nothing") {
  if (!counting_works()) {
    std::printf("skipped: the allocator can't be replaced under a sanitizer\n");
    return;
  }
  all_points = {};
  for (const Variant& variant : variants(24)) {
    writer::ModelBuilder builder = random_builder(variant.shape);
    const writer::AlignedBytes file = builder.serialize();
    WholeModel work(file, variant.masks);
    sweep("model: " + std::string(variant.name), [&] { return work(); });
  }
  for (const char* type : {"f32", "bf16", "f16", "int8"}) {
    const std::string path = std::string(LINFORMER_GOLDEN_MODELS) + "/" + type + ".lnfr";
    sweep(std::string("a file of ") + type, [&] { return Model::load(path.c_str()).status(); });
    LoadOptions read;
    read.access = Access::read;
    sweep("the same, read", [&] { return Model::load(path.c_str(), read).status(); });
    auto model = Model::load(path.c_str());
    REQUIRE(model.ok());
    sweep("its tokenizer", [&] { return tokenize((*model)->description().tokenizer); });
  }
  const CliFixture sentiment;
  const std::string path = sentiment.model();
  const std::shared_ptr<const Model> model = *Model::load(path.c_str());
  sweep("a classifier", [&] { return classify(model); });
  sweep("masks and windows", [&] { return fill_and_read(model); });
  SentimentModel shape;
  shape.numbers = true;
  shape.labels = {"contradiction", "neutral", "entailment"};
  const CliFixture scores(shape);
  const std::shared_ptr<const Model> ranking = *Model::load(scores.model().c_str());
  sweep("ranking and search", [&] { return rank(ranking); });
  sweep("masks in C", [&] { return fill_in_c(path.c_str()); });
  const TokenModel tokens;
  sweep("entities and answers", [&] { return tag_and_answer(tokens.model); });
  sweep("entities and answers in C", [&] { return tag_and_answer_in_c(tokens.file.c_str()); });
  sweep("a classifier in C", [&] { return classify_in_c(path.c_str()); });
  for (const auto& entry : std::filesystem::directory_iterator(LINFORMER_TEST_DATA_DIR "/tokenizers")) {
    if (!entry.is_directory()) continue;
    const convert::OwnedTokenizer files = convert::load_tokenizer(entry.path().string());
    const TokenizerDescription description = files.view();
    sweep("tokenizer: " + entry.path().filename().string(), [&] { return tokenize(description); });
  }
  std::printf("in all: %lld requests, %lld errors, %lld others, %lld blocks lost, no process ended\n",
              static_cast<long long>(all_points.requests), static_cast<long long>(all_points.refused),
              static_cast<long long>(all_points.other), static_cast<long long>(all_points.lost));
  CHECK(all_points.requests > 1000);
  CHECK(all_points.other == 0);
  CHECK(all_points.lost == 0);
}

TEST_CASE("live_blocks() counts leaked blocks, and fail_request(2, false) refuses only the second request") {
  if (!counting_works()) return;
  const int64_t before = live_blocks();
  void* volatile kept = std::malloc(10);
  CHECK(live_blocks() == before + 1);
  fail_request(2, false);
  void* volatile first = std::malloc(10);
  void* volatile second = std::malloc(10);
  void* volatile third = std::malloc(10);
  CHECK(stop_failing_requests() == 3);
  CHECK(first != nullptr);
  CHECK(second == nullptr);
  CHECK(third != nullptr);
  for (void* block : {kept, first, third}) std::free(block);
  CHECK(live_blocks() == before);
}

}  // namespace
}  // namespace linformer_test::sweep_test
