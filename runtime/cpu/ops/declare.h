// Declares the GEMMs of each op that has any. An op's declare_gemms() is defined in the same file as its run().
#pragma once

#include "cpu/declare.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cpu {

// Receives the GEMMs that ops declare: a provider, or the plan of scratch memory. It is a function pointer with its
// object instead of an interface with a virtual function, because the tables of virtual functions of two
// implementations would add a page of memory to every program that links the library.
struct GemmSink {
  Status (*receive)(void* object, const GemmDesc& desc, int* id);
  void* object;
  Status add(const GemmDesc& desc, int* id) const { return receive(object, desc, id); }
};

// The place of an op in its program, and where its GEMMs and their ids go.
struct Declaration {
  const Program& program;
  const Stage& stage;
  GemmIds& ids;
  const GemmSink& sink;
  size_t op = 0;  // The index of the op in the program.

  int64_t longest_source() const { return program.extents.longest_source(stage.key_rows.source); }
};

Status declare_gemms(const ops::Gemm& op, const Declaration& to);
Status declare_gemms(const ops::Compress& op, const Declaration& to);
Status declare_gemms(const ops::Attend& op, const Declaration& to);

}  // namespace LINFORMER_NAMESPACE::cpu
