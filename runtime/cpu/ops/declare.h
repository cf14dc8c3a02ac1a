// The GEMMs that ops make, each declared in the file that runs it.
#pragma once

#include "cpu/declare.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cpu {

// Receives the GEMMs that ops declare: a provider, or the plan of scratch memory. A function and its object instead of
// a virtual function: two tables of these would be a page of every program.
struct GemmSink {
  Status (*receive)(void* object, const GemmDesc& desc, int* id);
  void* object;
  Status add(const GemmDesc& desc, int* id) const { return receive(object, desc, id); }
};

// An op's place in its program.
struct Declaration {
  const Program& program;
  const Stage& stage;
  GemmIds& ids;
  const GemmSink& sink;
  size_t op = 0;  // index

  int64_t longest_source() const { return program.extents.longest_source(stage.key_rows.source); }
};

Status declare(const ops::Gemm& op, const Declaration& to);
Status declare(const ops::Compress& op, const Declaration& to);
Status declare(const ops::Attend& op, const Declaration& to);

}  // namespace LINFORMER_NAMESPACE::cpu
