// Repairs the checksums of a model file, loads it, tokenizes texts with it and runs each of its parts and heads.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/description.h"
#include "fuzz/cost.h"
#include "fuzz/model_file.h"
#include "linformer/answerer.h"
#include "linformer/embedder.h"
#include "linformer/mask_filler.h"
#include "linformer/reranker.h"
#include "linformer/session.h"
#include "linformer/sparse_embedder.h"
#include "linformer/tagger.h"
#include "linformer/tokenizer.h"
#include "linformer/zero_shot.h"
#include "text/tokenizer_factory.h"

using namespace linformer;
using namespace linformer_fuzz;

namespace {

// The largest number of tokens of a text in a session.
constexpr int64_t most_tokens = 9;
// Models whose list of ops has more operations and bytes than this aren't run, to save time. run() checks for smaller
// ones that the cost follows from the list.
constexpr double most_work = 3e7;
constexpr uint64_t most_floats = uint64_t{1} << 20;

constexpr Bounds load_bounds = {"load a model", {2e3, 50e6}, {1, 1.25 * (1 << 20)}, {}};
constexpr Bounds tokenizer_bounds = {"tokenizer of a model", {5e3, 100e6}, {64, 1 << 20}, {}};
constexpr Bounds session_bounds = {"open a session", {5e3, 50e6}, {64, 1 << 20}, {}};
// This bound is per operation and byte that list_program() reports. A run allocates nothing.
constexpr Bounds run_bounds = {"run, by listed work", {50, 50e6}, {}, {}};

// This bound is per byte of the file and per operation and byte of one run. Each kind of answer opens its own sessions,
// and some read a long text in several windows.
constexpr Bounds answer_bounds = {"answer from each head", {2e3, 500e6}, {256, 8 << 20}, {}};

void expect_sentence(const char* what, const Status& status) {
  if (!status.ok() && std::strlen(status.message()) < 15) report_violation("%s: the error message is too short", what);
  if (status.code() == Code::internal) report_violation("%s: %s", what, status.message());
}

void tokenize(const Model& model, uint64_t bytes) {
  const ModelDescription& description = model.description();
  run_within_bounds(tokenizer_bounds, bytes, [&]() -> uint64_t {
    const Result<Tokenizer> tokenizer = TokenizerFactory::create(description.tokenizer);
    expect_sentence("tokenizer", tokenizer.status());
    if (!tokenizer.ok()) return 0;
    Encoding encoding;
    TextBuffer text;
    EncodeOptions options;
    options.token_strings = true;
    for (const bool pair : {false, true}) {
      const Status status = pair ? tokenizer->encode("here <mask>", "there", options, &encoding)
                                 : tokenizer->encode("The inner\xff booth, 2! \u00c9\u0301", options, &encoding);
      expect_sentence("encode", status);
      if (!status.ok()) continue;
      for (const int32_t id : encoding.ids()) {
        if (id < 0 || static_cast<uint32_t>(id) >= description.encoder.vocab_size)
          report_violation("the tokenizer's id %d has no embedding", id);
      }
      expect_sentence("decode", tokenizer->decode(encoding.ids(), {}, &text));
    }
    return 0;
  });
}

double listed_work(const Model& model, const SessionOptions& options) {
  double work = 0;
  const Status status = list_program(
      model, options, options.memory.max_tokens,
      [](void* sum, const ProgramLine& line) { *static_cast<double*>(sum) += line.flop + line.bytes; }, &work);
  return status.ok() ? work : 0;
}

// Two inputs, of ids or of vectors, and the encoder states that the decoder's layers read.
struct Texts {
  Texts(const EncoderDescription& encoder, int64_t longest) {
    const size_t width = encoder.embedding.vectors.width, rows = static_cast<size_t>(longest);
    const bool tokens = encoder.embedding.tokens != absent;
    for (size_t i = 0; tokens && i < rows; ++i) ids.push_back(static_cast<int32_t>((7 * i + 2) % encoder.vocab_size));
    if (!tokens) vectors.assign(rows * width, 0.25f);
    states.assign(encoder.encoder_states_width, 0.5f);
    for (const size_t length : {rows, std::max<size_t>(1, rows / 2)}) {
      Input input;
      if (tokens) input.tokens = Tokens(ids).first(length);
      if (!tokens) input.vectors = std::span<const float>(vectors).first(length * width);
      input.encoder_states = states;
      inputs.push_back(input);
      lengths.push_back(static_cast<int64_t>(length));
    }
  }
  std::vector<int32_t> ids;
  std::vector<float> vectors, states;
  std::vector<Input> inputs;
  std::vector<int64_t> lengths;
};

void run(Session& session, const ModelDescription& description, const Texts& texts, double work) {
  const MaskPosition positions[] = {{0, 0}, {1, texts.lengths[1] - 1}};
  const int heads = std::min(static_cast<int>(description.heads.size()), 4);
  std::vector<Output> asked = {Output::hidden({}), Output::embeddings({}), Output::masked_lm({}, positions)};
  for (int head = 0; head < heads; ++head) {
    asked.push_back(Output::logits({}, head));
    asked.push_back(Output::probabilities({}, head));
  }
  std::vector<std::vector<float>> values;
  std::vector<Output> outputs;
  for (Output output : asked) {
    const Result<Shape> shape = session.shape(output, texts.inputs);
    expect_sentence("shape", shape.status());
    if (!shape.ok() || static_cast<uint64_t>(shape->floats()) > most_floats) continue;
    output.values = values.emplace_back(static_cast<size_t>(shape->floats()));
    outputs.push_back(output);
  }
  run_within_bounds(run_bounds, static_cast<uint64_t>(work), [&]() -> uint64_t {
    const uint64_t before = allocations();
    const Status status = session.run(texts.inputs, outputs);
    if (allocations() != before) report_violation("a run of the session allocated memory");
    expect_sentence("run", status);
    return 0;
  });
}

void open_and_run(const std::shared_ptr<const Model>& model, Part part, uint64_t bytes) {
  const ModelDescription& description = model->description();
  const EncoderDescription& encoder = part == Part::decoder ? description.decoder : description.encoder;
  SessionOptions options;
  options.memory.max_tokens = std::min<int64_t>(encoder.max_tokens, most_tokens);
  options.memory.max_batch = 2;
  options.run.part = part;
  const bool prefixed = encoder.embedding.prefix != absent || encoder.embedding.prefix_token >= 0;
  const int64_t longest = options.memory.max_tokens - (prefixed && options.memory.max_tokens > 1 ? 1 : 0);
  if (static_cast<uint64_t>(longest) * encoder.embedding.vectors.width > most_floats ||
      encoder.encoder_states_width > most_floats) {
    return;
  }
  const Texts texts(encoder, longest);
  run_within_bounds(session_bounds, bytes, [&]() -> uint64_t {
    const Result<Plan> planned = plan(*model, options);
    Result<Session> session = Session::create(model, options);
    expect_sentence("session", session.status());
    if (!session.ok()) return 0;
    if (!planned.ok() || planned->total_bytes != session->plan().total_bytes)
      report_violation("plan() differs from the plan of the session");
    add_non_heap_memory(session->used_bytes());
    return 0;
  });
  const double work = listed_work(*model, options);
  if (work > most_work) return;
  Result<Session> session = Session::create(model, options);
  if (session.ok()) run(*session, description, texts, 2 * work);
}

void expect_report(const char* what, const TextReport& report) {
  if (!report.status.ok() && std::strlen(report.status.message()) < 15)
    report_violation("%s: the error message is too short", what);
  if (report.tokens > report.total_tokens)
    report_violation("%s: the report counts more tokens than the text has", what);
}

void expect_probability(const char* what, float value) {
  if (!(value >= 0 && value <= 1.001f))
    report_violation("%s: %g is not a probability", what, static_cast<double>(value));
}

void expect_offset(const char* what, Offset offset, std::string_view text, std::string_view part) {
  const bool inside =
      part.empty() || (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
  if (offset.begin > offset.end || offset.end > text.size() || !inside)
    report_violation("%s: an offset is outside of the text", what);
}

// Runs texts through every kind of answer that the model can give, and checks scores, offsets and reports.
void answer(const std::shared_ptr<const Model>& model) {
  constexpr std::string_view texts[] = {"The inner booth, [MASK] 2!", "", "a \xff\u00c9\u0301 <mask> film film film"};
  const TextInput pairs[] = {{texts[0], texts[2], {}}, {texts[2], texts[0], {}}};
  TextOptions options;
  options.max_tokens = std::min<int64_t>(model->info().max_tokens, most_tokens);
  options.max_batch = 2;
  const auto made = [](const char* what, const auto& created) {
    expect_sentence(what, created.status());
    return created.ok();
  };
  TextOptions windows = options;
  windows.on_long = OnLong::window;
  if (Result<Tagger> tagger = Tagger::create(model, {.texts = windows}); made("tagger", tagger)) {
    expect_sentence("tag", tagger->tag(texts, [&](size_t i, const Tagging& tagging) {
      expect_report("tag", tagging.report);
      for (const Entity& entity : tagging.entities) {
        expect_probability("tag", entity.score);
        expect_offset("tag", entity.offset, texts[i], entity.text);
      }
      return true;
    }));
  }
  if (Result<Answerer> answerer = Answerer::create(model, {.texts = windows, .top_k = 3, .no_answer = true});
      made("answerer", answerer)) {
    expect_sentence("answer", answerer->answer(pairs, [&](size_t i, const Answers& answers) {
      expect_report("answer", answers.report);
      for (const Answer& found : answers.answers) expect_offset("answer", found.offset, *pairs[i].pair, found.text);
      return true;
    }));
  }
  if (Result<Reranker> reranker = Reranker::create(model, {.texts = options}); made("reranker", reranker)) {
    expect_sentence("score", reranker->score(pairs, [&](size_t, const TextReport& report, float) {
      expect_report("score", report);
      return true;
    }));
  }
  ZeroShotOptions labels;
  labels.texts = options;
  labels.labels = {texts, 1};
  if (Result<ZeroShotClassifier> classifier = ZeroShotClassifier::create(model, labels);
      made("zero-shot", classifier)) {
    expect_sentence("zero-shot", classifier->classify(texts, [&](size_t, const ZeroShotClassification& said) {
      expect_report("zero-shot", said.report);
      for (const LabelScore& score : said.scores) expect_probability("zero-shot", score.probability);
      return true;
    }));
  }
  if (Result<SparseEmbedder> sparse = SparseEmbedder::create(model, {.texts = options}); made("sparse", sparse)) {
    expect_sentence("sparse",
                    sparse->embed(texts, [&](size_t, const TextReport& report, std::span<const TokenWeight> weights) {
                      expect_report("sparse", report);
                      for (const TokenWeight& weight : weights) {
                        if (!(weight.weight > 0))
                          report_violation("a sparse vector has the weight %g, which is not above 0",
                                           static_cast<double>(weight.weight));
                      }
                      return true;
                    }));
  }
  if (Result<MaskFiller> filler = MaskFiller::create(model, {.texts = options, .top_k = 2}); made("masks", filler)) {
    expect_sentence("fill", filler->fill(texts, [&](size_t, const MaskFilling& filling) {
      expect_report("fill", filling.report);
      for (const MaskedToken& mask : filling.masks) {
        for (const MaskCandidate& candidate : mask.candidates) expect_probability("fill", candidate.probability);
      }
      return true;
    }));
  }
  EmbedderOptions pooled;
  pooled.texts = options;
  if (Result<Embedder> embedder = Embedder::create(model, pooled); made("embedder", embedder)) {
    expect_sentence("embed", embedder->embed(texts, [&](size_t, const TextReport& report, std::span<const float>) {
      expect_report("embed", report);
      return true;
    }));
  }
}

// Calls answer() within its bounds if the model is small enough. tokenize() has already bounded the tokenizer's cost.
void answer_within(const std::shared_ptr<const Model>& model, uint64_t bytes) {
  SessionOptions options;
  options.memory.max_tokens = std::min<int64_t>(model->description().encoder.max_tokens, most_tokens);
  options.memory.max_batch = 4;  // A batch of two pairs of texts has four sequences in a head that compares two texts.
  const double work = listed_work(*model, options);
  if (work == 0 || work > most_work) return;
  run_within_bounds(answer_bounds, bytes + static_cast<uint64_t>(work), [&]() -> uint64_t {
    answer(model);
    return 0;
  });
}

// The last inputs that loaded. Most files of a corpus are refused, because each reaches a different error, and mutants
// of a refused file are refused too. So the mutator replaces most refused files by one of these inputs.
constexpr size_t most_loaded = 256;
std::vector<std::string>& loaded_inputs() {
  static std::vector<std::string> inputs;
  return inputs;
}

void remember(const uint8_t* data, size_t size) {
  static size_t next = 0;
  std::string input(reinterpret_cast<const char*>(data), size);
  std::vector<std::string>& inputs = loaded_inputs();
  if (inputs.size() < most_loaded) {
    inputs.push_back(std::move(input));
  } else {
    inputs[next++ % most_loaded] = std::move(input);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  start_accounting();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const writer::AlignedBytes file = repair_model_file({data, size});
  std::shared_ptr<const Model> model;
  run_within_bounds(load_bounds, file.size(), [&]() -> uint64_t {
    Result<std::shared_ptr<const Model>> loaded = Model::load(file, {Verify::never});
    expect_sentence("load", loaded.status());
    if (loaded.ok()) model = *loaded;
    return 0;
  });
  if (model == nullptr) return 0;
  remember(data, size);
  const bool reads_texts = model->description().tokenizer.kind != TokenizerKind::none;
  if (reads_texts) tokenize(*model, file.size());
  open_and_run(model, Part::encoder, file.size());
  if (model->description().has_decoder()) open_and_run(model, Part::decoder, file.size());
  if (reads_texts && !model->description().has_decoder()) answer_within(model, file.size());
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  Random random(seed);
  std::span<const uint8_t> base(data, size);
  if (!loaded_inputs().empty() && !random.one_in(8) && !Model::load(repair_model_file(base), {Verify::never}).ok()) {
    const std::string& input = random.one_of(loaded_inputs());
    base = {reinterpret_cast<const uint8_t*>(input.data()), input.size()};
  }
  const size_t stored = store_mutation(altered_model(base, most, random), data, most);
  return stored != 0 ? stored : LLVMFuzzerMutate(data, size, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                            size_t second_size, uint8_t* out, size_t most, unsigned seed) {
  Random random(seed);
  return store_mutation(crossed_models({first, first_size}, {second, second_size}, random), out, most);
}
