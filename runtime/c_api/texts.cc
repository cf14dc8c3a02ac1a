// The C functions that classify and embed texts, and run any outputs.
#include "c_api/texts.h"

#include <algorithm>

using namespace linformer;
using namespace linformer::c_api;

static_assert(LNF_LONG_TRUNCATE == static_cast<int>(OnLong::truncate) &&
              LNF_LONG_WINDOW == static_cast<int>(OnLong::window) && LNF_LONG_ERROR == static_cast<int>(OnLong::error));

static_assert(LNF_LIMIT_TOKENS == static_cast<int>(TextLimit::tokens) &&
              LNF_LIMIT_ROOM == static_cast<int>(TextLimit::room) &&
              LNF_LIMIT_OVERLAP == static_cast<int>(TextLimit::overlap));

static_assert(sizeof(int) == sizeof(int32_t));

namespace LINFORMER_NAMESPACE::c_api {

Status read_text_options(const lnf_text_options* options, TextOptions* to) {
  lnf_text_options read;
  lnf_text_options_init(&read);
  LINFORMER_TRY(read_struct(options, "lnf_text_options", &read));
  const bool known = has_valid_constants(read) && within(read.on_long, LNF_LONG_TRUNCATE, LNF_LONG_ERROR) &&
                     within(read.truncation, LNF_TRUNCATE_NONE, LNF_TRUNCATE_ONLY_SECOND) &&
                     within(read.keep, LNF_KEEP_HEAD, LNF_KEEP_TAIL);
  if (!known || read.max_tokens < 0 || read.max_batch < 0 || read.max_rows < 0 || read.pad_to < 0) {
    return Status::error(Code::invalid_argument,
                         "lnf_text_options: on_long %d, truncation %d, keep %d, compute %d, attention_compute %d, "
                         "backend %d, isa %d, padding %d or a negative limit: use the header's constants, and 0 for a "
                         "default",
                         static_cast<int>(read.on_long), static_cast<int>(read.truncation), static_cast<int>(read.keep),
                         static_cast<int>(read.compute), static_cast<int>(read.attention_compute),
                         static_cast<int>(read.backend), static_cast<int>(read.isa), static_cast<int>(read.padding));
  }
  to->max_tokens = read.max_tokens;
  to->on_long = static_cast<OnLong>(read.on_long);
  to->overlap = read.overlap;
  if (read.max_batch > 0) to->max_batch = read.max_batch;
  to->max_rows = read.max_rows;
  to->pad_to = read.pad_to;
  to->truncation = static_cast<Truncation>(read.truncation);
  to->keep = static_cast<Keep>(read.keep);
  to->add_special_tokens = read.add_special_tokens != 0;
  to->match_special_tokens = read.match_special_tokens != 0;
  copy_options(read, to);
  return {};
}

Status check_reads_text(const Model& model) {
  if (model.info().vector_width == 0) return {};
  return Status::error(Code::unsupported, "the model reads vectors instead of text: use lnf_run()");
}

lnf_text_report report_of(size_t index, const TextReport& report, std::span<const float> values) {
  lnf_text_report made = {};
  made.size = sizeof made;
  made.index = index;
  made.code = static_cast<lnf_code>(report.status.code());
  made.message = report.status.message();
  made.tokens = report.tokens;
  made.total_tokens = report.total_tokens;
  made.windows = report.windows;
  const BeyondLimit& beyond = report.beyond;
  made.limit = static_cast<int32_t>(beyond.limit);
  made.limit_text = beyond.text;
  made.limit_tokens = beyond.tokens;
  made.limit_room = beyond.room;
  made.limit_max_tokens = beyond.max_tokens;
  made.limit_other_fits = beyond.other_fits;
  made.without_mask = report.without_mask;
  if (report.status.ok()) {
    made.values = values.data();
    made.count = values.size();
  }
  return made;
}

}  // namespace LINFORMER_NAMESPACE::c_api

namespace {

Status classify_list(lnf_classifier* classifier, const TextArguments& texts, lnf_visit visit, void* context,
                     const RunControl& control) {
  LINFORMER_TRY(texts.check());
  return classifier->classifier.classify(
      texts.list(),
      [&](size_t index, const Classification& made) {
        const lnf_text_report report = report_of(index, made.report, made.values);
        return visit(context, &report) != 0;
      },
      control);
}

Status embed_list(lnf_embedder* embedder, const TextArguments& texts, lnf_visit visit, void* context,
                  const RunControl& control) {
  LINFORMER_TRY(texts.check());
  return embedder->embedder.embed(
      texts.list(),
      [&](size_t index, const TextReport& read, std::span<const float> vector) {
        const lnf_text_report report = report_of(index, read, vector);
        return visit(context, &report) != 0;
      },
      control);
}

// Checks the caller's array before any text is looked at. If the array is too small, `text_count` may be wrong, and
// there may be fewer texts than it says.
Status check_capacity(const float* to, size_t capacity, size_t texts, int64_t width) {
  if (to == nullptr && texts > 0) return missing("the array for the answers");
  if (capacity / static_cast<size_t>(width) >= texts) return {};
  return Status::error(Code::too_long, "the array has room for %zu floats, but %zu texts need %lld each", capacity,
                       texts, static_cast<long long>(width));
}

}  // namespace

void lnf_text_options_init_sized(lnf_text_options* to, size_t size) {
  lnf_text_options defaults = {};
  defaults.threads = 1;
  defaults.overlap = -1;
  defaults.truncation = LNF_TRUNCATE_LONGEST_FIRST;
  defaults.add_special_tokens = 1;
  defaults.match_special_tokens = 1;
  defaults.device = -1;
  init_struct(to, size, defaults);
}

lnf_code lnf_classifier_create(const lnf_model* model, const int32_t* heads, size_t head_count,
                               const lnf_text_options* options, lnf_classifier** classifier, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (classifier == nullptr) return missing("the pointer that receives the classifier");
    *classifier = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    ClassifierOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    if (heads == nullptr && head_count > 0) return missing("the list of heads");
    if (head_count > 0) read.heads = {heads, head_count};
    Result<Classifier> made = Classifier::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), classifier) : made.status();
  };
  return report(create(), status);
}

void lnf_classifier_free(lnf_classifier* classifier) { delete classifier; }

int64_t lnf_classifier_classes(const lnf_classifier* classifier, size_t index) {
  return classifier != nullptr ? classifier->classifier.classes(index) : 0;
}

lnf_code lnf_classify(lnf_classifier* classifier, const char* const* texts, const size_t* bytes,
                      const char* const* pairs, const size_t* pair_bytes, size_t text_count, float* probabilities,
                      size_t capacity, const lnf_control* control, lnf_status* status) {
  const auto classify = [&]() -> Status {
    if (classifier == nullptr) return missing("the classifier");
    LINFORMER_TRY(check_capacity(probabilities, capacity, text_count, classifier->classifier.classes()));
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, pairs, pair_bytes, text_count};
    LINFORMER_TRY(given.check());
    return classifier->classifier.classify(given.list(), std::span(probabilities, capacity), read);
  };
  return report(classify(), status);
}

lnf_code lnf_classify_each(lnf_classifier* classifier, const char* const* texts, const size_t* bytes,
                           const char* const* pairs, const size_t* pair_bytes, size_t text_count, lnf_visit visit,
                           void* context, const lnf_control* control, lnf_status* status) {
  const auto classify = [&]() -> Status {
    if (classifier == nullptr) return missing("the classifier");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    return classify_list(classifier, {texts, bytes, pairs, pair_bytes, text_count}, visit, context, read);
  };
  return report(classify(), status);
}

lnf_code lnf_embedder_create(const lnf_model* model, int32_t pooling, int32_t normalize,
                             const lnf_text_options* options, lnf_embedder** embedder, lnf_status* status) {
  return lnf_embedder_create_cut(model, pooling, normalize, 0, options, embedder, status);
}

lnf_code lnf_embedder_create_cut(const lnf_model* model, int32_t pooling, int32_t normalize, int64_t dimensions,
                                 const lnf_text_options* options, lnf_embedder** embedder, lnf_status* status) {
  return lnf_embedder_create_prompted(model, pooling, normalize, dimensions, nullptr, options, embedder, status);
}

lnf_code lnf_embedder_create_prompted(const lnf_model* model, int32_t pooling, int32_t normalize, int64_t dimensions,
                                      const char* prompt, const lnf_text_options* options, lnf_embedder** embedder,
                                      lnf_status* status) {
  const auto create = [&]() -> Status {
    if (embedder == nullptr) return missing("the pointer that receives the embedder");
    *embedder = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    const bool known =
        pooling >= LNF_POOL_DEFAULT && pooling <= LNF_POOL_WEIGHTED_MEAN && pooling != static_cast<int>(Pooling::none);
    if (!known || normalize < -1 || normalize > 1) {
      return Status::error(Code::invalid_argument,
                           "pooling is %d and normalize is %d: use LNF_POOL_..., and -1, 0 or 1",
                           static_cast<int>(pooling), static_cast<int>(normalize));
    }
    EmbedderOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    if (pooling != LNF_POOL_DEFAULT) read.pooling = static_cast<Pooling>(pooling);
    if (normalize >= 0) read.normalize = normalize == 1;
    read.dimensions = dimensions;
    if (prompt != nullptr) read.prompt = prompt;
    Result<Embedder> made = Embedder::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), embedder) : made.status();
  };
  return report(create(), status);
}

void lnf_embedder_free(lnf_embedder* embedder) { delete embedder; }

int64_t lnf_embedder_width(const lnf_embedder* embedder) {
  return embedder != nullptr ? embedder->embedder.width() : 0;
}

lnf_code lnf_embed(lnf_embedder* embedder, const char* const* texts, const size_t* bytes, size_t text_count,
                   float* vectors, size_t capacity, const lnf_control* control, lnf_status* status) {
  const auto embed = [&]() -> Status {
    if (embedder == nullptr) return missing("the embedder");
    LINFORMER_TRY(check_capacity(vectors, capacity, text_count, embedder->embedder.width()));
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, nullptr, nullptr, text_count};
    LINFORMER_TRY(given.check());
    return embedder->embedder.embed(given.list(), std::span(vectors, capacity), read);
  };
  return report(embed(), status);
}

lnf_code lnf_embed_each(lnf_embedder* embedder, const char* const* texts, const size_t* bytes, size_t text_count,
                        lnf_visit visit, void* context, const lnf_control* control, lnf_status* status) {
  const auto embed = [&]() -> Status {
    if (embedder == nullptr) return missing("the embedder");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    return embed_list(embedder, {texts, bytes, nullptr, nullptr, text_count}, visit, context, read);
  };
  return report(embed(), status);
}

lnf_code lnf_runner_create(const lnf_model* model, const lnf_output* outputs, size_t output_count,
                           const lnf_text_options* options, lnf_runner** runner, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (runner == nullptr) return missing("the pointer that receives the runner");
    *runner = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    TextOptions read;
    LINFORMER_TRY(read_text_options(options, &read));
    if (outputs == nullptr || output_count == 0) return missing("the list of outputs");
    if (output_count > Outputs::most) {
      return Status::error(Code::invalid_argument, "there are %zu outputs: ask for at most %zu", output_count,
                           Outputs::most);
    }
    Array<Output> list;
    for (size_t i = 0; i < output_count; ++i) {
      const lnf_output* given = element(outputs, i);
      if (declared_size(given) != declared_size(outputs)) {
        return Status::error(Code::invalid_argument, "the structs in the list of outputs differ in size");
      }
      Array<MaskPosition> positions;
      Output output;
      LINFORMER_TRY(read_output(given, &positions, &output));
      output.values = {};
      output.positions = {};
      if (!list.try_push(output)) return Status::error(Code::out_of_memory, "no memory for a list of outputs");
    }
    Result<TextRunner> made = TextRunner::create(model->model, list.span(), read);
    return made.ok() ? make_handle(std::move(made.value()), runner) : made.status();
  };
  return report(create(), status);
}

void lnf_runner_free(lnf_runner* runner) { delete runner; }

int64_t lnf_runner_columns(const lnf_runner* runner, size_t output) {
  return runner != nullptr ? runner->runner.columns(output) : 0;
}

lnf_code lnf_run_each(lnf_runner* runner, const char* const* texts, const size_t* bytes, const char* const* pairs,
                      const size_t* pair_bytes, size_t text_count, lnf_visit visit, void* context,
                      const lnf_control* control, lnf_status* status) {
  const auto run = [&]() -> Status {
    if (runner == nullptr) return missing("the runner");
    if (visit == nullptr) return missing("the function to be called for each text");
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    const TextArguments given = {texts, bytes, pairs, pair_bytes, text_count};
    LINFORMER_TRY(given.check());
    return runner->runner.run(
        given.list(),
        [&](size_t index, const TextReport& text, std::span<const float> values) {
          const lnf_text_report made = report_of(index, text, values);
          return visit(context, &made) != 0;
        },
        read);
  };
  return report(run(), status);
}
