// What a program needs on a device beside its buffers: one region, where the CPU has its GEMM provider's scratch.
#pragma once

#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// Bytes from the first multiple of 256 in the region, each one itself.
struct DeviceScratch {
  uint64_t narrow = 0;     // rows that E is multiplied with, in 16 bits; a sequence's in multiples of 8
  uint64_t slices = 0;     // sums of E Z over slices of long sequences, f32
  uint64_t outputs = 0;    // rows of scores, vectors or logits on their way to the caller, f32
  uint64_t sums = 0;       // of E's rows, f32
  uint64_t groups = 0;     // where the keys of each group of heads lie
  uint64_t positions = 0;  // rows that masked-LM asks for, int32
  uint64_t workspace = 0;  // of products
  uint64_t total = 0;
  int64_t narrow_elements = 0, output_elements = 0;
  int64_t slices_at_once = 0;  // that `slices` has room for: those of one sequence, or more
};

inline constexpr int64_t device_alignment = 256;   // what cuBLASLt asks of its workspace
inline constexpr int64_t device_positions = 64;    // masked-LM positions at once: logits are as wide as the vocabulary
inline constexpr int64_t device_e_slice = 2048;    // rows that are added up at once in E Z
inline constexpr int64_t device_group_bytes = 32;  // of one entry of `groups`
inline constexpr int64_t device_row_multiple = 8;  // what tensor cores want K to be a multiple of

// False where it is more than 2^63 bytes.
[[nodiscard]] bool device_scratch(const Program& program, DeviceScratch* scratch);

}  // namespace LINFORMER_NAMESPACE
