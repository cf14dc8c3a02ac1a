// The C functions for sessions.
#include "base/description.h"
#include "c_api/handles.h"

using namespace linformer;
using namespace linformer::c_api;

static_assert(LNF_COMPUTE_BF16 == static_cast<int>(Compute::bf16) &&
              LNF_ATTENTION_BF16 == static_cast<int>(AttentionCompute::bf16) &&
              LNF_BACKEND_OPENBLAS == static_cast<int>(BackendKind::openblas) &&
              LNF_ISA_NEON == static_cast<int>(Isa::neon) && LNF_PADDING_KEEP == static_cast<int>(Padding::keep) &&
              LNF_MASKED_LM == static_cast<int>(OutputKind::masked_lm) &&
              LNF_POOL_MAX == static_cast<int>(Pooling::max) &&
              LNF_POOL_LAST == static_cast<int>(Pooling::last_token) &&
              LNF_POOL_WEIGHTED_MEAN == static_cast<int>(Pooling::weighted_mean));
static_assert(sizeof(lnf_position) == sizeof(MaskPosition));

namespace {

Status no_memory_for_call() { return Status::error(Code::out_of_memory, "no memory for a call's inputs and outputs"); }

Status other_size(const char* name) {
  return Status::error(Code::invalid_argument, "the structs in the list of %s differ in size", name);
}

Status read_options(const lnf_session_options* options, SessionOptions* to) {
  lnf_session_options read;
  lnf_session_options_init(&read);
  LINFORMER_TRY(read_struct(options, "lnf_session_options", &read));
  if (!has_valid_constants(read) || !within(read.part, LNF_PART_ENCODER, LNF_PART_DECODER)) {
    return Status::error(Code::invalid_argument,
                         "lnf_session_options: part %d, padding %d, compute %d, attention_compute %d, backend %d, isa "
                         "%d: use the header's constants",
                         static_cast<int>(read.part), static_cast<int>(read.padding), static_cast<int>(read.compute),
                         static_cast<int>(read.attention_compute), static_cast<int>(read.backend),
                         static_cast<int>(read.isa));
  }
  if (read.max_tokens < 0 || read.max_batch < 0 || read.max_rows < 0 || read.max_encoder_states < 0) {
    return Status::error(Code::invalid_argument, "lnf_session_options: a limit is negative: use 0 for the default");
  }
  if ((read.arena == nullptr) != (read.arena_bytes == 0)) {
    return Status::error(Code::invalid_argument, "lnf_session_options: set both arena and arena_bytes, or neither");
  }
  to->run.part = static_cast<Part>(read.part);
  copy_options(read, to);
  to->stream.handle = read.stream;
  to->stream.outputs_on_device = read.outputs_on_device != 0;
  to->memory.max_tokens = read.max_tokens;
  if (read.max_batch > 0) to->memory.max_batch = read.max_batch;
  to->memory.max_rows = read.max_rows;
  to->memory.max_encoder_states = read.max_encoder_states;
  if (read.arena != nullptr) to->memory.arena = {static_cast<std::byte*>(read.arena), read.arena_bytes};
  return {};
}

Status read_input(const lnf_session& session, const lnf_input* given, Input* to) {
  lnf_input read;
  lnf_input_init(&read);
  LINFORMER_TRY(read_struct(given, "lnf_input", &read));
  if (read.count > 0 && (read.ids == nullptr) == (read.vectors == nullptr)) {
    return Status::error(Code::invalid_argument, "lnf_input: set either ids or vectors");
  }
  const auto floats = [](const float* values, size_t rows, int64_t width, std::span<const float>* span) {
    if (values == nullptr || rows == 0) return true;
    if (width <= 0 || rows > SIZE_MAX / sizeof(float) / static_cast<size_t>(width)) return false;
    *span = {values, rows * static_cast<size_t>(width)};
    return true;
  };
  if (!floats(read.vectors, read.count, session.vector_width, &to->vectors) ||
      !floats(read.encoder_states, read.state_count, session.states_width, &to->encoder_states)) {
    return Status::error(Code::invalid_argument,
                         "lnf_input: the model reads no vectors or encoder states, or there are too many of them");
  }
  if (read.ids != nullptr) to->tokens = {read.ids, read.count};
  if (read.type_ids != nullptr) to->types = {read.type_ids, read.count};
  if (read.mask != nullptr) to->mask = {read.mask, read.count};
  if (read.query_mask != nullptr) to->query_mask = {read.query_mask, read.count};
  if (read.state_mask != nullptr) to->encoder_states_mask = {read.state_mask, read.state_count};
  return {};
}

// Refuses an output with `data` whose capacity is 0. The library would skip such an output without an error.
Status check_memory(const lnf_output* outputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const lnf_output& output = *element(outputs, i);
    if (output.data == nullptr && output.capacity > 0) return missing("lnf_output.data");
    const bool nothing = output.kind == LNF_MASKED_LM && output.position_count == 0;
    if (output.data == nullptr || output.capacity > 0 || nothing) continue;
    return Status::error(Code::too_long, "lnf_output.capacity is 0: set it to the floats that `data` has room for");
  }
  return {};
}

Status set_shapes(lnf_session* session, lnf_output* outputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Result<Shape> shape =
        session->session.shape(session->outputs[i], std::span<const Input>(session->inputs.span()));
    if (!shape.ok()) return shape.status();
    element(outputs, i)->rows = shape->rows;
    element(outputs, i)->columns = shape->columns;
  }
  return {};
}

}  // namespace

namespace LINFORMER_NAMESPACE::c_api {

Status read_output(const lnf_output* given, Array<MaskPosition>* positions, Output* to) {
  lnf_output read;
  lnf_output_init(&read, LNF_HIDDEN);
  LINFORMER_TRY(read_struct(given, "lnf_output", &read));
  if (!within(read.kind, LNF_HIDDEN, LNF_MASKED_LM) ||
      !within(read.pooling, LNF_POOL_DEFAULT, LNF_POOL_WEIGHTED_MEAN) ||
      read.pooling == static_cast<int>(Pooling::none)) {
    return Status::error(Code::invalid_argument, "lnf_output: there is no kind %d or pooling %d",
                         static_cast<int>(read.kind), static_cast<int>(read.pooling));
  }
  if (read.positions == nullptr && read.position_count > 0) return missing("lnf_output.positions");
  to->kind = static_cast<OutputKind>(read.kind);
  to->layer = read.layer;
  to->head = read.head;
  if (read.pooling != LNF_POOL_DEFAULT) to->pooling = static_cast<Pooling>(read.pooling);
  to->values = {read.data, read.data != nullptr ? read.capacity : 0};
  for (size_t i = 0; i < read.position_count; ++i) {
    if (!positions->try_push({read.positions[i].sequence, read.positions[i].position})) return no_memory_for_call();
  }
  to->positions = positions->span().last(read.position_count);
  return {};
}

Status read_inputs_and_outputs(lnf_session* session, const lnf_input* inputs, size_t input_count,
                               const lnf_output* outputs, size_t output_count) {
  if (session == nullptr) return missing("the session");
  if (inputs == nullptr && input_count > 0) return missing("the list of inputs");
  if (outputs == nullptr && output_count > 0) return missing("the list of outputs");
  if (output_count > Outputs::most || input_count > static_cast<size_t>(MemoryOptions::most_sequences)) {
    return Status::error(Code::too_long,
                         "%zu inputs and %zu outputs are too many for a call: give at most %lld and %zu", input_count,
                         output_count, static_cast<long long>(MemoryOptions::most_sequences), Outputs::most);
  }
  session->inputs.clear();
  session->outputs.clear();
  session->positions.clear();
  for (size_t i = 0; i < input_count; ++i) {
    Input input;
    const lnf_input* given = element(inputs, i);
    if (declared_size(given) != declared_size(inputs)) return other_size("inputs");
    LINFORMER_TRY(read_input(*session, given, &input));
    if (!session->inputs.try_push(input)) return no_memory_for_call();
  }
  size_t positions = 0;
  for (size_t i = 0; i < output_count; ++i) {
    lnf_output read;
    lnf_output_init(&read, LNF_HIDDEN);
    const lnf_output* given = element(outputs, i);
    if (declared_size(given) != declared_size(outputs)) return other_size("outputs");
    LINFORMER_TRY(read_struct(given, "lnf_output", &read));
    if (read.position_count > SIZE_MAX / 2 - positions) return no_memory_for_call();
    positions += read.position_count;
  }
  // The outputs refer to this list, so it must not move while it grows.
  if (!session->positions.try_reserve(positions)) return no_memory_for_call();
  for (size_t i = 0; i < output_count; ++i) {
    Output output;
    LINFORMER_TRY(read_output(element(outputs, i), &session->positions, &output));
    if (!session->outputs.try_push(output)) return no_memory_for_call();
  }
  return {};
}

}  // namespace LINFORMER_NAMESPACE::c_api

void lnf_session_options_init_sized(lnf_session_options* to, size_t size) {
  lnf_session_options defaults = {};
  defaults.threads = 1;
  defaults.device = -1;
  init_struct(to, size, defaults);
}

void lnf_input_init_sized(lnf_input* to, size_t size) { init_struct(to, size, {}); }

void lnf_output_init_sized(lnf_output* to, size_t size, int32_t kind) {
  lnf_output defaults = {};
  defaults.kind = kind;
  defaults.layer = -1;
  defaults.pooling = LNF_POOL_DEFAULT;
  init_struct(to, size, defaults);
}

lnf_code lnf_plan_bytes(const lnf_model* model, const lnf_session_options* options, uint64_t* bytes,
                        lnf_status* status) {
  const auto plan_bytes = [&]() -> Status {
    if (bytes == nullptr) return missing("the pointer that receives the bytes");
    *bytes = 0;
    if (model == nullptr) return missing("the model");
    SessionOptions read;
    LINFORMER_TRY(read_options(options, &read));
    const Result<Plan> made = plan(*model->model, read);
    if (!made.ok()) return made.status();
    *bytes = made->total_bytes;
    return {};
  };
  return report(plan_bytes(), status);
}

lnf_code lnf_plan_precision(const lnf_model* model, const lnf_session_options* options, char* text, size_t capacity,
                            size_t* bytes, lnf_status* status) {
  const auto plan_precision = [&]() -> Status {
    if (bytes == nullptr) return missing("the pointer that receives the number of bytes");
    *bytes = 0;
    if (model == nullptr) return missing("the model");
    if (text == nullptr && capacity > 0) return missing("the buffer for the text");
    SessionOptions read;
    LINFORMER_TRY(read_options(options, &read));
    const Result<Plan> made = plan(*model->model, read);
    if (!made.ok()) return made.status();
    *bytes = copy_text(made->precision, text, capacity);
    if (text == nullptr || *bytes <= capacity) return {};
    return Status::error(Code::too_long, "the text needs %zu bytes, but the buffer has room for %zu", *bytes, capacity);
  };
  return report(plan_precision(), status);
}

lnf_code lnf_session_create(const lnf_model* model, const lnf_session_options* options, lnf_session** session,
                            lnf_status* status) {
  const auto create = [&]() -> Status {
    if (session == nullptr) return missing("the pointer that receives the session");
    *session = nullptr;
    if (model == nullptr) return missing("the model");
    SessionOptions read;
    LINFORMER_TRY(read_options(options, &read));
    Result<Session> made = Session::create(model->model, read);
    if (!made.ok()) return made.status();
    LINFORMER_TRY(make_handle(std::move(made.value()), session));
    const ModelDescription& description = model->model->description();
    const EncoderDescription& encoder = read.run.part == Part::decoder ? description.decoder : description.encoder;
    if (encoder.embedding.tokens == absent) (*session)->vector_width = encoder.embedding.vectors.width;
    (*session)->states_width = encoder.encoder_states_width;
    return {};
  };
  return report(create(), status);
}

void lnf_session_free(lnf_session* session) { delete session; }

const char* lnf_session_precision(const lnf_session* session) {
  return session != nullptr ? session->session.plan().precision : nullptr;
}

int64_t lnf_session_classes(const lnf_session* session, int32_t head) {
  return session != nullptr ? session->session.classes(head) : 0;
}

int64_t lnf_session_output_rows(const lnf_session* session, int64_t count) {
  return session != nullptr && count >= 0 && count < INT64_MAX ? session->session.output_rows(count) : 0;
}

lnf_code lnf_shapes(const lnf_session* session, const lnf_input* inputs, size_t input_count, lnf_output* outputs,
                    size_t output_count, lnf_status* status) {
  // read_inputs_and_outputs() fills lists of the session, which is const here. That is allowed because a session takes
  // one call at a time.
  lnf_session* own = const_cast<lnf_session*>(session);
  const auto shapes = [&]() -> Status {
    LINFORMER_TRY(read_inputs_and_outputs(own, inputs, input_count, outputs, output_count));
    return set_shapes(own, outputs, output_count);
  };
  return report(shapes(), status);
}

lnf_code lnf_run(lnf_session* session, const lnf_input* inputs, size_t input_count, lnf_output* outputs,
                 size_t output_count, const lnf_control* control, lnf_status* status) {
  const auto run = [&]() -> Status {
    LINFORMER_TRY(read_inputs_and_outputs(session, inputs, input_count, outputs, output_count));
    LINFORMER_TRY(check_memory(outputs, output_count));
    RunControl read;
    LINFORMER_TRY(read_control(control, &read));
    LINFORMER_TRY(session->session.run(std::span<const Input>(session->inputs.span()),
                                       std::span<const Output>(session->outputs.span()), read));
    return set_shapes(session, outputs, output_count);
  };
  return report(run(), status);
}

lnf_code lnf_row_tokens(const lnf_session* session, const lnf_input* input, int64_t* tokens, size_t capacity,
                        size_t* rows, lnf_status* status) {
  const auto row_tokens = [&]() -> Status {
    if (session == nullptr) return missing("the session");
    if (input == nullptr) return missing("the input");
    if (rows == nullptr) return missing("the pointer that receives the number of rows");
    if (tokens == nullptr && capacity > 0) return missing("the list of tokens");
    Input read;
    LINFORMER_TRY(read_input(*session, input, &read));
    const size_t given = session->vector_width > 0 ? read.vectors.size() / static_cast<size_t>(session->vector_width)
                                                   : read.tokens.size();
    *rows = static_cast<size_t>(session->session.output_rows(static_cast<int64_t>(given)));
    if (*rows > capacity) {
      return Status::error(Code::too_long, "the list of tokens has room for %zu rows, but there are %zu", capacity,
                           *rows);
    }
    return session->session.row_tokens(read, {tokens, capacity});
  };
  return report(row_tokens(), status);
}

lnf_code lnf_token_row(const lnf_session* session, const lnf_input* input, size_t token, int64_t* row,
                       lnf_status* status) {
  const auto token_row = [&]() -> Status {
    if (session == nullptr) return missing("the session");
    if (input == nullptr) return missing("the input");
    if (row == nullptr) return missing("the pointer that receives the row");
    Input read;
    LINFORMER_TRY(read_input(*session, input, &read));
    const Result<int64_t> found = session->session.row_of(read, token);
    if (!found.ok()) return found.status();
    *row = *found;
    return {};
  };
  return report(token_row(), status);
}
