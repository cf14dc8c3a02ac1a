// The C functions for readers of texts and batches of sequences.
#include "c_api/texts.h"

using namespace linformer;
using namespace linformer::c_api;

namespace {

Status no_memory_for_sequences() { return Status::error(Code::out_of_memory, "no memory for a batch of sequences"); }

}  // namespace

lnf_code lnf_text_session_options(const lnf_model* model, const lnf_text_options* options, lnf_session_options* session,
                                  lnf_status* status) {
  const auto set = [&]() -> Status {
    if (model == nullptr) return missing("the model");
    if (session == nullptr) return missing("the session's options");
    TextOptions texts;
    LINFORMER_TRY(read_text_options(options, &texts));
    lnf_text_options given;
    lnf_text_options_init(&given);
    LINFORMER_TRY(read_struct(options, "lnf_text_options", &given));
    lnf_session_options to;
    lnf_session_options_init(&to);
    LINFORMER_TRY(read_struct(session, "lnf_session_options", &to));
    const Result<SessionOptions> made = session_options(*model->model, texts);
    if (!made.ok()) return made.status();
    to.max_tokens = made->memory.max_tokens;
    to.max_batch = made->memory.max_batch;
    to.max_rows = made->memory.max_rows;
    to.padding = given.padding;
    to.compute = given.compute;
    to.attention_compute = given.attention_compute;
    to.threads = given.threads;
    to.backend = given.backend;
    to.isa = given.isa;
    to.block_rows = given.block_rows;
    to.parallel = given.parallel;
    to.parallel_context = given.parallel_context;
    to.device = given.device;
    to.tf32 = given.tf32;
    return write_struct(to, "lnf_session_options", session);
  };
  return report(set(), status);
}

lnf_code lnf_reader_create(const lnf_model* model, const lnf_text_options* options, const lnf_session* session,
                           int32_t apart, int32_t short_last_window, lnf_reader** reader, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (reader == nullptr) return missing("the pointer that receives the reader");
    *reader = nullptr;
    if (model == nullptr) return missing("the model");
    LINFORMER_TRY(check_reads_text(*model->model));
    TextReaderOptions read;
    LINFORMER_TRY(read_text_options(options, &read.texts));
    read.apart = apart != 0;
    read.short_last_window = short_last_window != 0;
    if (session != nullptr) read.session = &session->session;
    Result<TextReader> made = TextReader::create(model->model, read);
    return made.ok() ? make_handle(std::move(made.value()), reader) : made.status();
  };
  return report(create(), status);
}

void lnf_reader_free(lnf_reader* reader) { delete reader; }

lnf_code lnf_reader_another(const lnf_reader* reader, lnf_reader** another, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (another == nullptr) return missing("the pointer that receives the reader");
    *another = nullptr;
    if (reader == nullptr) return missing("the reader");
    Result<TextReader> made = reader->reader.another();
    return made.ok() ? make_handle(std::move(made.value()), another) : made.status();
  };
  return report(create(), status);
}

lnf_code lnf_reader_read(lnf_reader* reader, const char* text, size_t bytes, const char* pair, size_t pair_bytes,
                         lnf_text_report* text_report, lnf_status* status) {
  const auto read = [&]() -> Status {
    if (reader == nullptr) return missing("the reader");
    if (text == nullptr && bytes > 0) return missing("the text");
    TextInput input;
    input.text = {text, bytes};
    if (pair != nullptr) input.pair = {pair, pair_bytes};
    const Status made = reader->reader.read(input, &reader->report);
    if (text_report != nullptr) {
      LINFORMER_TRY(write_struct(report_of(0, reader->report, {}), "lnf_text_report", text_report));
    }
    return made;
  };
  return report(read(), status);
}

int64_t lnf_reader_sequences(const lnf_reader* reader) { return reader != nullptr ? reader->reader.sequences() : 0; }

lnf_code lnf_reader_sequence(lnf_reader* reader, int64_t i, lnf_sequence* sequence, lnf_status* status) {
  const auto read = [&]() -> Status {
    if (reader == nullptr) return missing("the reader");
    if (sequence == nullptr) return missing("the pointer that receives the sequence");
    const Result<TextSequence> found = reader->reader.sequence(i);
    if (!found.ok()) return found.status();
    lnf_sequence made = {};
    made.ids = found->ids.data();
    made.type_ids = found->types.data();
    made.texts = found->texts.data();
    made.offsets = found->offsets.empty() ? nullptr : &found->offsets[0].begin;
    made.count = found->ids.size();
    made.first[0] = found->first[0];
    made.first[1] = found->first[1];
    made.nearest[0] = found->nearest[0];
    made.nearest[1] = found->nearest[1];
    return write_struct(made, "lnf_sequence", sequence);
  };
  return report(read(), status);
}

int64_t lnf_reader_max_tokens(const lnf_reader* reader) { return reader != nullptr ? reader->reader.max_tokens() : 0; }

lnf_code lnf_batch_create(const lnf_session* session, int64_t max_rows, int64_t pad_to, int32_t pad_id,
                          lnf_batch** batch, lnf_status* status) {
  const auto create = [&]() -> Status {
    if (batch == nullptr) return missing("the pointer that receives the batch");
    *batch = nullptr;
    if (session == nullptr) return missing("the session");
    Result<SequenceBatch> made = SequenceBatch::create(session->session, {max_rows, pad_to, pad_id});
    return made.ok() ? make_handle(std::move(made.value()), batch) : made.status();
  };
  return report(create(), status);
}

void lnf_batch_free(lnf_batch* batch) { delete batch; }

size_t lnf_batch_size(const lnf_batch* batch) { return batch != nullptr ? batch->batch.size() : 0; }
int64_t lnf_batch_rows(const lnf_batch* batch) { return batch != nullptr ? batch->batch.rows() : 0; }

int64_t lnf_batch_rows_of(const lnf_batch* batch, size_t count) {
  return batch != nullptr ? batch->batch.rows_of(count) : 0;
}

int32_t lnf_batch_fits(const lnf_batch* batch, int64_t rows, int64_t sequences) {
  return batch != nullptr && batch->batch.fits(rows, sequences);
}

lnf_code lnf_batch_add(lnf_batch* batch, const int32_t* ids, const uint8_t* type_ids, size_t count,
                       lnf_status* status) {
  const auto add = [&]() -> Status {
    if (batch == nullptr) return missing("the batch");
    if (ids == nullptr && count > 0) return missing("the list of ids");
    const std::span<const uint8_t> types(type_ids, type_ids != nullptr ? count : 0);
    return batch->batch.add({ids, count}, types);
  };
  return report(add(), status);
}

lnf_code lnf_batch_add_vectors(lnf_batch* batch, const float* vectors, size_t count, size_t width, lnf_status* status) {
  const auto add = [&]() -> Status {
    if (batch == nullptr) return missing("the batch");
    if (vectors == nullptr && count > 0) return missing("the vectors");
    if (width == 0 || count > SIZE_MAX / sizeof(float) / width ||
        (batch->batch.size() > 0 && width != batch->vector_width)) {
      return Status::error(
          Code::invalid_argument,
          "the batch can't take %zu vectors of width %zu: all of its vectors must have the model's width", count,
          width);
    }
    LINFORMER_TRY(batch->batch.add_vectors({vectors, count * width}, static_cast<int64_t>(count)));
    batch->vector_width = width;
    return {};
  };
  return report(add(), status);
}

lnf_code lnf_batch_inputs(lnf_batch* batch, const lnf_input** inputs, lnf_status* status) {
  const auto list = [&]() -> Status {
    if (inputs == nullptr) return missing("the pointer that receives the inputs");
    *inputs = nullptr;
    if (batch == nullptr) return missing("the batch");
    batch->inputs.clear();
    for (const Input& input : batch->batch.inputs()) {
      lnf_input made;
      lnf_input_init(&made);
      made.count = input.vectors.empty() ? input.tokens.size() : input.vectors.size() / batch->vector_width;
      if (input.vectors.empty()) {
        made.ids = input.tokens.data();
        made.type_ids = input.types.data();
      } else {
        made.vectors = input.vectors.data();
      }
      if (!batch->inputs.try_push(made)) return no_memory_for_sequences();
    }
    *inputs = batch->inputs.data();
    return {};
  };
  return report(list(), status);
}

void lnf_batch_clear(lnf_batch* batch) {
  if (batch == nullptr) return;
  batch->batch.clear();
  batch->vector_width = 0;
}
