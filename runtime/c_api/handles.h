// The contents of the C API's handles, and the functions that read its arguments.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "base/array.h"
#include "c_api/linformer.h"
#include "linformer/answerer.h"
#include "linformer/classifier.h"
#include "linformer/embedder.h"
#include "linformer/mask_filler.h"
#include "linformer/masked_lm.h"
#include "linformer/model.h"
#include "linformer/sequence_batch.h"
#include "linformer/session.h"
#include "linformer/tagger.h"
#include "linformer/text_reader.h"
#include "linformer/text_runner.h"
#include "linformer/tokenizer.h"

struct lnf_model {
  std::shared_ptr<const linformer::Model> model;
};
struct lnf_tokenizer {
  linformer::Tokenizer tokenizer;
};
struct lnf_encoding {
  linformer::Encoding encoding;
  bool valid = false;  // Whether the last lnf_encode() succeeded.
};
struct lnf_session {
  linformer::Session session;
  int64_t vector_width = 0, states_width = 0;
  // The caller's lists, converted to the library's types.
  linformer::Array<linformer::Input> inputs = {};
  linformer::Array<linformer::Output> outputs = {};
  linformer::Array<linformer::MaskPosition> positions = {};
};
struct lnf_classifier {
  linformer::Classifier classifier;
};
struct lnf_embedder {
  linformer::Embedder embedder;
};
struct lnf_runner {
  linformer::TextRunner runner;
};
struct lnf_mask_filler {
  linformer::MaskFiller filler;
  linformer::Array<lnf_masked_token> masks = {};  // Of the text that is being visited.
};
struct lnf_tagger {
  linformer::Tagger tagger;
  linformer::Array<lnf_entity> entities = {};  // Of the text that is being visited.
};
struct lnf_answerer {
  linformer::Answerer answerer;
  linformer::Array<lnf_answer_span> answers = {};  // Of the question that is being visited.
};
struct lnf_masked_lm {
  linformer::MaskedLm masked_lm;
};
struct lnf_reader {
  linformer::TextReader reader;
  linformer::TextReport report = {};  // Of the text that was read last.
};
struct lnf_batch {
  linformer::SequenceBatch batch;
  size_t vector_width = 0;  // The width of the vectors in the batch.
  linformer::Array<lnf_input> inputs = {};
};
struct lnf_cancel {
  std::atomic<bool> flag{false};
};

namespace LINFORMER_NAMESPACE::c_api {

// Copies `status` to the caller's struct, which may be null, and returns its code.
lnf_code report(const Status& status, lnf_status* to);
inline Status missing(const char* what) {
  return Status::error(Code::invalid_argument, "%s is NULL: it is needed", what);
}

// Returns the size that a caller's struct says it has.
template <class T>
size_t declared_size(const T* given) {
  size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  return size;
}

// A larger size means that the caller hasn't initialised the struct.
inline constexpr size_t most_struct_bytes = 4096;
// The size of a struct in the first version of the header. A struct that has grown needs a specialisation.
template <class T>
inline constexpr size_t first_size = sizeof(T);

// Sets a caller's struct of `size` bytes to `defaults`, and the fields that this version doesn't know to 0.
template <class T>
void init_struct(T* to, size_t size, const T& defaults) {
  if (to == nullptr || size < first_size<T> || size > most_struct_bytes) return;
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(static_cast<void*>(to), &defaults, std::min(size, sizeof(T)));
  std::memcpy(static_cast<void*>(to), &size, sizeof size);
}

inline Status check_size(size_t size, size_t least, size_t alignment, const char* name) {
  if (size >= least && size <= most_struct_bytes && size % alignment == 0) return {};
  return Status::error(Code::invalid_argument,
                       "%s.size is %zu, which is wrong for a struct of %zu bytes or more: set it as the header says",
                       name, size, least);
}

// Copies the fields of a caller's struct to *to, which must hold the defaults. The caller's struct may be older and
// shorter than T, or newer and longer.
template <class T>
Status read_struct(const T* given, const char* name, T* to) {
  if (given == nullptr) return {};
  const size_t size = declared_size(given);
  LINFORMER_TRY(check_size(size, first_size<T>, alignof(T), name));
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return Status::error(Code::unsupported, "%s sets a field that this version of the library doesn't know", name);
  }
  std::memcpy(static_cast<void*>(to), given, std::min(size, sizeof(T)));
  return {};
}

// Writes as much of `from` to the caller's struct as it has room for.
template <class T>
Status write_struct(T from, const char* name, T* given) {
  if (given == nullptr) return missing(name);
  const size_t size = declared_size(given);
  LINFORMER_TRY(check_size(size, first_size<T>, alignof(T), name));
  init_struct(given, size, from);
  return {};
}

// Returns element i of a caller's array. All of its structs have the size of the first one.
template <class T>
T* element(T* first, size_t i) {
  using Bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Bytes*>(first) + i * declared_size(first));
}

// Copies `text` as snprintf does, and returns the bytes that it needs with its terminator.
size_t copy_text(std::string_view text, char* to, size_t capacity);

inline bool within(int32_t value, int32_t least, int32_t most) { return value >= least && value <= most; }

// Returns whether the options that lnf_session_options and lnf_text_options have in common are constants of the header.
template <class Struct>
bool has_valid_constants(const Struct& read) {
  return within(read.padding, LNF_PADDING_STRIP, LNF_PADDING_KEEP) &&
         within(read.compute, LNF_COMPUTE_AUTO, LNF_COMPUTE_BF16) &&
         within(read.attention_compute, LNF_ATTENTION_AUTO, LNF_ATTENTION_BF16) &&
         within(read.backend, LNF_BACKEND_NATIVE, LNF_BACKEND_OPENBLAS) && within(read.isa, LNF_ISA_AUTO, LNF_ISA_NEON);
}
// Copies the options that both structs have in common.
template <class Struct, class Options>
void copy_options(const Struct& read, Options* to) {
  to->run.padding = static_cast<Padding>(read.padding);
  to->run.compute = static_cast<Compute>(read.compute);
  to->run.attention_compute = static_cast<AttentionCompute>(read.attention_compute);
  to->cpu.threads = read.threads;
  to->cpu.backend = static_cast<BackendKind>(read.backend);
  to->cpu.isa = static_cast<Isa>(read.isa);
  to->cpu.block_rows = read.block_rows;
  to->cpu.parallel = read.parallel;
  to->cpu.parallel_context = read.parallel_context;
  to->cuda.device = read.device;
  to->cuda.tf32 = read.tf32 != 0;
}

Status read_control(const lnf_control* control, RunControl* to);
// Converts an output, without checking the size of its memory. Its positions are appended to `positions`, which must
// have room for them if other outputs already have positions in it.
Status read_output(const lnf_output* given, Array<MaskPosition>* positions, Output* to);
// Converts the caller's lists to the session's lists.
Status read_inputs_and_outputs(lnf_session* session, const lnf_input* inputs, size_t input_count,
                               const lnf_output* outputs, size_t output_count);

// Returns the constant LNF_POOL_... of a pooling, and LNF_POOL_DEFAULT for Pooling::none.
inline int32_t pooling_constant(Pooling pooling) {
  return pooling == Pooling::none ? LNF_POOL_DEFAULT : static_cast<int32_t>(pooling);
}

// Makes a handle that owns `value`.
template <class Handle, class Value>
Status make_handle(Value&& value, Handle** to) {
  *to = new (std::nothrow) Handle{std::forward<Value>(value)};
  return *to != nullptr ? Status() : Status::error(Code::out_of_memory, "no memory for a handle");
}

}  // namespace LINFORMER_NAMESPACE::c_api
