// What a session does, on which device, with how much memory. A default one runs texts of any length that the model
// takes, one in a call, on the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linformer/status.h"
#include "linformer/types.h"
#include "linformer/version.h"

namespace LINFORMER_NAMESPACE {

enum class Padding : uint8_t {
  strip = 0,  // pad ids are removed first: a text's result never depends on padding or neighbours
  keep,       // pad ids stay and do what the dialect's original implementation does with them
};

// What products with weights of fewer than 32 bits are computed in; only the native backend computes in another type
// than f32, and f16 is always widened. Layers whose weights are bf16 or int8 attend in bf16 where bf16 is computed in,
// else in f32, unless AttentionCompute says otherwise.
enum class Compute : uint8_t {
  automatic = 0,  // int8; bf16 where this kind of processor is faster in it than in f32, else no_bf16
  no_bf16,        // int8; bf16 is widened to f32
  f32,            // all weights are widened
  bf16,           // int8; bf16 also where f32 is faster. Code::unsupported where there are no kernels for it
};

// What scores and context are computed in, whatever the type of the weights; on the native backend alone.
enum class AttentionCompute : uint8_t {
  automatic = 0,  // as Compute says
  f32,
  bf16,  // also where f32 is faster, and of models in f32 and f16
};

// What is computed.
struct RunOptions {
  Part part = Part::encoder;
  Padding padding = Padding::strip;
  Compute compute = Compute::automatic;
  AttentionCompute attention_compute = AttentionCompute::automatic;
};

// Threads and kernels of the CPU. On a device they are not used, but have to be valid.
struct CpuOptions {
  static constexpr int max_threads = 256;
  int threads = 1;  // the caller's thread and threads - 1 of our own
  BackendKind backend = BackendKind::native;
  // automatic: the best this machine has, or LINFORMER_ISA from the environment. avx512 has AMX where the machine does:
  // on Linux the first session then asks the kernel to keep its registers for this process (arch_prctl).
  Isa isa = Isa::automatic;
  // Rows that a thread takes through a layer at once, a multiple of 32 up to 256: more read the weights less often and
  // need more memory. 0: what suits the processor. Results don't depend on it.
  int64_t block_rows = 0;
  // Not null: work goes to the caller's threads, and `threads` of them are asked for; none are started.
  // parallel(context, task, argument, count) calls task(argument, i) once for each i of [0, count), on any threads, at
  // once or one after the other, and returns when all have returned. Called several times a layer. Tasks neither block
  // nor throw.
  void (*parallel)(void* context, void (*task)(void* argument, int index), void* argument, int count) = nullptr;
  void* parallel_context = nullptr;
};

// A GPU, in a build with CUDA. All memory of the session is on it but ids, tables and scores on their way. run() gives
// the same bits in any batch. Products are computed in f16 (int8 files too), bf16 from compute capability 8.0 on (f32
// below) or f32.
struct CudaOptions {
  int device = -1;    // -1: the CPU. From 0 on: that CUDA device
  bool tf32 = false;  // products in f32 round their operands to 10 bits, where there are tensor cores
};

// What a session on a GPU shares with the caller's own work there. On the CPU it is not used.
struct StreamOptions {
  void* handle = nullptr;  // the caller's cudaStream_t, which outlives the session; null: one of its own
  // The spans of Outputs are in the device's memory. With a stream of the caller's run() then returns when its work is
  // in the stream (after masked positions 64 by 64), and Input::vectors are read until it is done. These may be in the
  // device's memory in any case, written before run() or in the same stream.
  bool outputs_on_device = false;
};

// The largest call, which the arena is made for, and the arena.
struct MemoryOptions {
  static constexpr int64_t most_sequences = 1 << 20;
  int64_t max_tokens = 0;          // longest text, with the model's prefix where it has one; 0 = the model's N
  int64_t max_batch = 1;           // texts in one call
  int64_t max_rows = 0;            // tokens in one call, all texts together; 0 = max_tokens * max_batch
  int64_t max_encoder_states = 0;  // of a text, for cross attention; 0 = max_tokens
  // Not empty: the session's arena, aligned to 64 bytes and at least plan().total_bytes long (oneDNN may need more, and
  // the error says how much). It outlives the session, and needn't be zero.
  std::span<std::byte> arena = {};
};

// invalid_argument where LINFORMER_ISA in the environment has a value that names no Isa, as sessions with
// Isa::automatic then say: for programs that refuse it before they do anything. Any thread may call it.
Status check_environment();

struct SessionOptions {
  RunOptions run = {};
  CpuOptions cpu = {};
  CudaOptions cuda = {};
  StreamOptions stream = {};
  MemoryOptions memory = {};
  bool profile = false;  // measures each op: Session::profile()
};

}  // namespace LINFORMER_NAMESPACE
