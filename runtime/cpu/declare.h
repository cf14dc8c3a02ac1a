// Declares the GEMMs of a program to the provider that runs them.
#pragma once

#include "base/array.h"
#include "base/checked.h"
#include "gemm/gemm.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// The ids that the provider gave to the GEMMs of a program. An id is -1 if the program has no such GEMM.
struct GemmIds {
  // The GEMMs of a group of heads that see the same keys.
  struct Group {
    int scores = -1, context = -1;
    int context_add = -1;  // For whole keys: adds the context of the second and later blocks of keys.
    int compress[2] = {-1, -1};
    int compress_more[2] = {-1, -1};  // Adds the products of the second and later taps of a convolution.
    // For short sequences: row_scores = Q (Z W)^T, compress_scores = row_scores E^T, expand = probabilities E,
    // row_context = expand (Z W). Q are the queries, Z the rows that keys are computed from, W the weight of keys or
    // values, and E the projection that compresses them.
    int row_scores = -1, compress_scores = -1, expand = -1, row_context = -1;
  };
  Array<int> ops;       // By index of the op.
  Array<Group> groups;  // By index in the program's table of groups.
};

// Sets the arena term `scratch` to the bytes of scratch memory that the program's GEMMs need for each thread. The
// result depends on the arguments alone, so plan() can call this function. For oneDNN the value is a lower bound: its
// primitives may need more once they exist. CpuExecutor::layout() has the final value. Returns an error for a GEMM that
// no provider can run.
Status plan_scratch(BackendKind backend, Program* program);

// Declares every GEMM of the program to the provider and stores the ids in *ids.
Status declare_gemms(const Program& program, GemmProvider* provider, GemmIds* ids);

}  // namespace LINFORMER_NAMESPACE
