// The C functions for the library, for models and for calls that can be stopped.
#include <algorithm>

#include "c_api/handles.h"
#include "linformer/build_info.h"
#include "linformer/verify.h"

namespace LINFORMER_NAMESPACE::c_api {

static_assert(LNF_INTERNAL == static_cast<int>(Code::internal) && LNF_CORRUPT == static_cast<int>(Code::corrupt_file) &&
              LNF_UNSUPPORTED == static_cast<int>(Code::unsupported) && LNF_IO == static_cast<int>(Code::io_error) &&
              LNF_OUT_OF_MEMORY == static_cast<int>(Code::out_of_memory) &&
              LNF_CANCELLED == static_cast<int>(Code::cancelled) && LNF_TOO_LONG == static_cast<int>(Code::too_long) &&
              LNF_INVALID_ARGUMENT == static_cast<int>(Code::invalid_argument));
static_assert(sizeof(lnf_status::message) == Status::max_message);
static_assert(LNF_TOKENIZER_BPE == static_cast<int>(TokenizerKind::bpe) &&
              LNF_REGRESSION == static_cast<int>(HeadKind::regression));

lnf_code report(const Status& status, lnf_status* to) {
  const lnf_code code = static_cast<lnf_code>(status.code());
  if (to != nullptr) {
    to->code = code;
    std::memcpy(to->message, status.message(), sizeof to->message);
  }
  return code;
}

size_t copy_text(std::string_view text, char* to, size_t capacity) {
  if (to != nullptr && capacity > 0) {
    const size_t copied = std::min(text.size(), capacity - 1);
    if (copied > 0) std::memcpy(to, text.data(), copied);
    to[copied] = '\0';
  }
  return text.size() + 1;
}

Status read_control(const lnf_control* control, RunControl* to) {
  lnf_control read;
  lnf_control_init(&read);
  LINFORMER_TRY(read_struct(control, "lnf_control", &read));
  to->cancel = read.cancel != nullptr ? &read.cancel->flag : nullptr;
  to->progress = read.progress;
  to->context = read.context;
  return {};
}

namespace {

Status read_load_options(const lnf_load_options* options, LoadOptions* to) {
  lnf_load_options read;
  lnf_load_options_init(&read);
  LINFORMER_TRY(read_struct(options, "lnf_load_options", &read));
  if (read.checksums < LNF_CHECKSUMS_AUTO || read.checksums > LNF_CHECKSUMS_METADATA) {
    return Status::error(Code::invalid_argument, "lnf_load_options.checksums is %d: use LNF_CHECKSUMS_...",
                         static_cast<int>(read.checksums));
  }
  to->checksums = static_cast<Verify>(read.checksums);
  to->verify_below = read.verify_below;
  to->access = read.read_all != 0 ? Access::read : Access::map;
  return {};
}

// Calls load(options) and puts the model into a handle.
template <class Load>
Status load(const lnf_load_options* options, lnf_model** model, Load&& load) {
  if (model == nullptr) return missing("the pointer that receives the model");
  *model = nullptr;
  LoadOptions read;
  LINFORMER_TRY(read_load_options(options, &read));
  Result<std::shared_ptr<const Model>> made = load(read);
  if (!made.ok()) return made.status();
  return make_handle(std::move(made.value()), model);
}

}  // namespace
}  // namespace LINFORMER_NAMESPACE::c_api

using namespace linformer;
using namespace linformer::c_api;

size_t lnf_build_info(char* text, size_t capacity) { return copy_text(build_info().text, text, capacity); }

lnf_code lnf_get_build(lnf_build* build, lnf_status* status) {
  const BuildInfo of = build_info();
  lnf_build made = {};
  made.version = lnf_version();
  made.format = of.format;
  made.isa = static_cast<int32_t>(of.isa);
  made.has_onednn = of.has_onednn;
  made.has_openblas = of.has_openblas;
  made.has_cuda = of.has_cuda;
  return report(write_struct(made, "lnf_build", build), status);
}

lnf_code lnf_check_environment(lnf_status* status) { return report(check_environment(), status); }

void lnf_load_options_init_sized(lnf_load_options* to, size_t size) {
  init_struct(to, size, {sizeof *to, LoadOptions().verify_below, LNF_CHECKSUMS_AUTO, 0});
}

lnf_code lnf_model_load(const char* path, const lnf_load_options* options, lnf_model** model, lnf_status* status) {
  return report(
      load(options, model,
           [&](const LoadOptions& read) { return path != nullptr ? Model::load(path, read) : missing("the path"); }),
      status);
}

lnf_code lnf_model_load_memory(const void* bytes, size_t size, void (*release)(void* context), void* context,
                               const lnf_load_options* options, lnf_model** model, lnf_status* status) {
  bool handed_over = false;
  const Status made = load(options, model, [&](const LoadOptions& read) -> Result<std::shared_ptr<const Model>> {
    if (bytes == nullptr) return missing("the memory");
    const std::span memory(static_cast<const std::byte*>(bytes), size);
    handed_over = true;
    return release != nullptr ? Model::load(memory, release, context, read) : Model::load(memory, read);
  });
  if (!handed_over && release != nullptr) release(context);
  return report(made, status);
}

lnf_code lnf_model_load_fd(int fd, uint64_t offset, uint64_t size, const lnf_load_options* options, lnf_model** model,
                           lnf_status* status) {
  return report(
      load(options, model, [&](const LoadOptions& read) { return Model::load_descriptor(fd, offset, size, read); }),
      status);
}

lnf_code lnf_model_load_read(int (*read)(void* context, void* destination, uint64_t offset, size_t bytes),
                             void* context, uint64_t size, const lnf_load_options* options, lnf_model** model,
                             lnf_status* status) {
  struct Source {
    int (*read)(void* context, void* destination, uint64_t offset, size_t bytes);
    void* context;
  } source{read, context};
  return report(load(options, model,
                     [&](const LoadOptions& read_options) -> Result<std::shared_ptr<const Model>> {
                       if (read == nullptr) return missing("the function that reads");
                       return Model::load_with(
                           [](void* given, std::byte* to, uint64_t offset, size_t bytes) {
                             const Source& from = *static_cast<const Source*>(given);
                             return from.read(from.context, to, offset, bytes) == 1;
                           },
                           &source, size, read_options);
                     }),
                status);
}

void lnf_model_free(lnf_model* model) { delete model; }

lnf_code lnf_model_verify(const lnf_model* model, lnf_status* status) {
  return report(model != nullptr ? model->model->verify() : missing("the model"), status);
}

lnf_code lnf_model_verify_tensor(const lnf_model* model, int32_t tensor, lnf_status* status) {
  return report(model != nullptr ? verify_tensor(*model->model, tensor) : missing("the model"), status);
}

lnf_code lnf_model_get_info(const lnf_model* model, lnf_model_info* info, lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const ModelInfo of = model->model->info();
  lnf_model_info made = {};
  made.file_bytes = model->model->file_bytes();
  made.max_tokens = of.max_tokens;
  made.prefix_rows = of.prefix_rows;
  made.vocabulary = of.vector_width > 0 ? 0 : of.vocabulary;
  made.vector_width = of.vector_width;
  made.width = of.width;
  made.layers = of.layers;
  made.heads = of.heads;
  made.tensors = of.tensors;
  made.pad_id = of.pad_id;
  made.mask_id = of.mask_id;
  made.tokenizer = static_cast<int32_t>(of.tokenizer);
  made.has_masked_lm = of.has_masked_lm;
  made.has_embedding = of.has_embedding;
  made.has_decoder = of.has_decoder;
  return report(write_struct(made, "lnf_model_info", info), status);
}

lnf_code lnf_model_get_head(const lnf_model* model, int32_t head, lnf_head_info* info, lnf_status* status) {
  if (model == nullptr) return report(missing("the model"), status);
  const int heads = model->model->info().heads;
  if (head < 0 || head >= heads) {
    return report(Status::error(Code::invalid_argument, "there is no classification head %d: this model has %d",
                                static_cast<int>(head), heads),
                  status);
  }
  const HeadInfo of = model->model->head(head);
  lnf_head_info made = {};
  made.classes = of.classes;
  made.kind = static_cast<int32_t>(of.kind);
  made.has_labels = of.has_labels;
  made.compares_two = of.compares_two;
  made.each_token = of.each_token;
  made.pooling = pooling_constant(of.pooling);
  made.norm = of.norm;
  made.dense = of.dense;
  made.norm_after_dense = of.norm_after_dense;
  made.activation = of.activation;
  made.score_activation = of.score_activation;
  made.spans = of.spans;
  return report(write_struct(made, "lnf_head_info", info), status);
}

size_t lnf_model_producer(const lnf_model* model, char* text, size_t capacity) {
  return model != nullptr ? copy_text(model->model->info().producer, text, capacity) : 0;
}

size_t lnf_model_dialect(const lnf_model* model, char* text, size_t capacity) {
  return model != nullptr ? copy_text(model->model->info().dialect, text, capacity) : 0;
}

size_t lnf_model_head_name(const lnf_model* model, int32_t head, char* text, size_t capacity) {
  if (model == nullptr || head < 0 || head >= model->model->info().heads) return 0;
  return copy_text(model->model->head(head).name, text, capacity);
}

size_t lnf_model_label(const lnf_model* model, int32_t head, int64_t label, char* text, size_t capacity) {
  if (model == nullptr || label < 0 || label >= model->model->head(head).classes) return 0;
  return copy_text(model->model->label(head, label), text, capacity);
}

int32_t lnf_model_find_head(const lnf_model* model, const char* name) {
  return model != nullptr && name != nullptr ? model->model->find_head(name) : -1;
}

lnf_cancel* lnf_cancel_create(void) { return new (std::nothrow) lnf_cancel; }
void lnf_cancel_free(lnf_cancel* cancel) { delete cancel; }
void lnf_cancel_set(lnf_cancel* cancel, int32_t cancelled) {
  if (cancel != nullptr) cancel->flag.store(cancelled != 0, std::memory_order_relaxed);
}

void lnf_control_init_sized(lnf_control* to, size_t size) {
  init_struct(to, size, {sizeof *to, nullptr, nullptr, nullptr});
}
