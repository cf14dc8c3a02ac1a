// What a session computes, on which device and with how much memory. A session with default options takes one sequence
// in a call, of any length that the model takes, and runs on the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

// What happens to pad tokens in the input.
enum class Padding : uint8_t {
  strip = 0,  // Pad ids are removed first, so the result of a sequence never depends on padding or on its neighbours.
  keep,       // Pad ids stay, and have the effect that they have in the dialect's original implementation.
};

// The type in which a CPU computes the products with weights. A GPU also obeys no_bf16 and f32; CudaOptions says what
// it does otherwise. Of the backends only native computes in other types than f32. Weights in f32 and f16 are always
// multiplied in f32. With `bf16`, and with `automatic` if bf16 is faster, layers whose weights are bf16 or int8 also
// compute attention in bf16; otherwise attention is computed in f32. AttentionCompute overrides this.
enum class Compute : uint8_t {
  // int8 weights are multiplied in int8. bf16 weights are multiplied in bf16 if this kind of processor is faster in
  // bf16 than in f32, and as with no_bf16 otherwise.
  automatic = 0,
  no_bf16,  // int8 weights are multiplied in int8, and bf16 weights in f32.
  f32,      // All weights are converted to f32.
  bf16,     // As automatic, but bf16 is used even if f32 is faster. Code::unsupported if there are no bf16 kernels.
};

// The type in which the scores and the context of attention are computed, whatever the type of the weights. Only the
// native backend has a choice.
enum class AttentionCompute : uint8_t {
  automatic = 0,  // As Compute says.
  f32,
  bf16,  // Also if f32 is faster, and for models in f32 and f16.
};

// What is computed.
struct RunOptions {
  Part part = Part::encoder;
  Padding padding = Padding::strip;
  Compute compute = Compute::automatic;
  AttentionCompute attention_compute = AttentionCompute::automatic;
};

// Threads and kernels of the CPU. A session on a device doesn't use them, but they must be valid.
struct CpuOptions {
  static constexpr int max_threads = 256;
  int threads = 1;  // The caller's thread and threads - 1 threads that the session starts.
  BackendKind backend = BackendKind::native;
  // automatic: the set that LINFORMER_ISA in the environment names, or else the best set of this machine. avx512 uses
  // AMX if the machine has it. On Linux, the first such session asks the kernel for the use of AMX's registers in this
  // process (arch_prctl).
  Isa isa = Isa::automatic;
  // The rows that a thread takes through a layer at once: a multiple of 32, at most 256. With more rows the weights are
  // read less often, but more memory is needed. 0: the number that suits the processor. Results don't depend on it.
  int64_t block_rows = 0;
  // If not null, the session starts no threads and gives its work to the caller's threads, `threads` tasks at a time.
  // parallel(context, task, argument, count) must call task(argument, i) once for each i of [0, count), on any threads,
  // at the same time or one after the other, and must return when all calls have returned. It is called several times
  // in each layer. Tasks neither block nor throw.
  void (*parallel)(void* context, void (*task)(void* argument, int index), void* argument, int count) = nullptr;
  void* parallel_context = nullptr;
};

// A GPU, in a build with CUDA. All memory of the session is on the GPU, except ids, tables and scores that are being
// copied. The results of run() for a sequence are bit-identical in any batch. Unless Compute says otherwise, weights in
// f16 and int8 are multiplied in f16, weights in bf16 in bf16 from compute capability 8.0 on (in f32 below it), and
// weights in f32 in f32.
struct CudaOptions {
  int device = -1;    // -1: the CPU. 0 or more: the CUDA device with this number.
  bool tf32 = false;  // Products in f32 may round their operands to TF32 (10 mantissa bits).
};

// What a session on a GPU shares with the caller's own work on it. A session on the CPU doesn't use it.
struct StreamOptions {
  // The caller's cudaStream_t, which must outlive the session. Null: the session has a stream of its own.
  void* handle = nullptr;
  // Whether the spans of Outputs are in the device's memory. If they are and `handle` is the caller's stream, run()
  // returns when its work is queued in the stream, and Input::vectors must stay valid until that work is done.
  // (Masked-LM positions are queued 64 at a time, and run() waits for the earlier ones.) Input::vectors may be in the
  // device's memory with any options. They must then be written before run(), or in the same stream.
  bool outputs_on_device = false;
};

// The limits of a call, which decide the size of the arena, and the arena itself.
struct MemoryOptions {
  static constexpr int64_t most_sequences = 1 << 20;
  int64_t max_tokens = 0;  // Of a sequence, with the row that the model may put before it. 0: the model's maximum.
  int64_t max_batch = 1;   // The most sequences in one call.
  // The most rows in one call: the tokens of all sequences, and the rows that the model puts before them. 0: max_tokens
  // * max_batch.
  int64_t max_rows = 0;
  int64_t max_encoder_states = 0;  // For cross attention: the most encoder states of a sequence. 0: max_tokens.
  // If not empty, the memory that the session uses as its arena. It must be aligned to 64 bytes, have at least
  // plan().total_bytes bytes (oneDNN may need more; the error says how much) and outlive the session. It needn't be
  // zeroed.
  std::span<std::byte> arena = {};
};

// Returns invalid_argument if LINFORMER_ISA in the environment names no Isa. Sessions with Isa::automatic return the
// same error; this function is for programs that want to report it before they do any work. Any thread may call it.
Status check_environment();

struct SessionOptions {
  RunOptions run = {};
  CpuOptions cpu = {};
  CudaOptions cuda = {};
  StreamOptions stream = {};
  MemoryOptions memory = {};
  bool profile = false;  // Measures each op, for Session::profile().
};

}  // namespace LINFORMER_NAMESPACE
