// The memory that a program needs on a device in addition to its buffers. It is one region, which takes the place of
// the scratch memory of the CPU's GEMM provider.
#pragma once

#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// The layout of the region. The parts `narrow` to `workspace` are offsets in bytes from the first multiple of 256 in
// the region, and they are multiples of 256 themselves.
struct DeviceScratch {
  uint64_t narrow = 0;     // The rows that E is multiplied by, in 16 bits. Each sequence has a multiple of 8 rows.
  uint64_t slices = 0;     // The sums of E Z over slices of long sequences, in f32.
  uint64_t outputs = 0;    // Rows of scores, vectors or logits, which are then copied to the caller, in f32.
  uint64_t sums = 0;       // The sums of E's rows, in f32.
  uint64_t groups = 0;     // A table of where the keys of each group of heads lie.
  uint64_t positions = 0;  // The rows of the positions that masked-LM logits are computed for, in int32.
  uint64_t workspace = 0;  // The workspace of cuBLASLt.
  uint64_t total = 0;      // The size of the region, with room for its alignment.
  int64_t narrow_elements = 0, output_elements = 0;
  int64_t slices_at_once = 0;  // The number of slices that `slices` has room for, at least those of one sequence.
};

inline constexpr int64_t device_alignment = 256;   // In bytes: the alignment that cuBLASLt needs for its workspace.
inline constexpr int64_t device_positions = 64;    // Masked-LM positions at once. Each has logits for the vocabulary.
inline constexpr int64_t device_e_slice = 2048;    // The rows that one product of E Z adds up.
inline constexpr int64_t device_group_bytes = 32;  // The size of one entry of `groups`.
inline constexpr int64_t device_row_multiple = 8;  // Tensor cores are fastest if K is a multiple of this.

// Computes the layout of the region. Returns false if it needs more than 2^63 - 1 bytes.
[[nodiscard]] bool lay_out_device_scratch(const Program& program, DeviceScratch* scratch);

}  // namespace LINFORMER_NAMESPACE
