// The GEMMs of a program, as a provider is told of them.
#pragma once

#include "base/array.h"
#include "base/checked.h"
#include "gemm/gemm.h"
#include "linformer/version.h"
#include "program/program.h"

namespace LINFORMER_NAMESPACE {

// Ids that a provider gave; -1: none.
struct GemmIds {
  struct Group {  // of heads that see the same keys
    int scores = -1, context = -1;
    int context_add = -1;  // whole keys: the second and later blocks
    int compress[2] = {-1, -1};
    int compress_more[2] = {-1, -1};  // the later taps of a convolution, which add
    // Short sequences: row_scores = Q (Z W)^T, compress_scores = row_scores E^T, expand = probabilities E,
    // row_context = expand (Z W).
    int row_scores = -1, compress_scores = -1, expand = -1, row_context = -1;
  };
  Array<int> ops;       // by op
  Array<Group> groups;  // by group
};

// Fills what a program's GEMMs need of the arena: a pure function, for plan(). For oneDNN the figure lacks what its
// primitives ask for once they exist; CpuExecutor::layout() has it.
Status plan_scratch(BackendKind backend, Program* program);

// Declares every GEMM to the provider.
Status declare_gemms(const Program& program, GemmProvider* provider, GemmIds* ids);

}  // namespace LINFORMER_NAMESPACE
