// The GEMMs that ops make, each declared in the file that runs it.
#pragma once

#include "cpu/declare.h"
#include "program/ops/op.h"

namespace LINFORMER_NAMESPACE::cpu {

// What is told of them: a provider, or a plan.
class GemmSink {
 public:
  virtual Status add(const GemmDesc& desc, int* id) = 0;

 protected:
  ~GemmSink() = default;
};

// An op's place in its program.
struct Declaration {
  const Program& program;
  const Stage& stage;
  GemmIds& ids;
  GemmSink& sink;
  size_t op = 0;  // index

  // The longest sequence that keys are made of.
  int64_t longest_source() const;
};

Status declare(const ops::Gemm& op, const Declaration& to);
Status declare(const ops::Compress& op, const Declaration& to);
Status declare(const ops::Attend& op, const Declaration& to);

}  // namespace LINFORMER_NAMESPACE::cpu
