// An op of a program: its kind, and a struct of that kind with its operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "linformer/version.h"
#include "program/ops/activate.h"
#include "program/ops/attend.h"
#include "program/ops/compressed_rows.h"
#include "program/ops/embed.h"
#include "program/ops/gemm.h"
#include "program/ops/keys.h"
#include "program/ops/norm.h"
#include "program/ops/outputs.h"
#include "program/ops/rotate.h"
#include "program/ops/rows.h"

namespace LINFORMER_NAMESPACE {

// One row for each op: its struct, its kind, and its name in listings and errors.
#define LINFORMER_OPS(ROW)                           \
  ROW(Gather, gather, "gather")                      \
  ROW(AddPosition, add_position, "add_position")     \
  ROW(AddType, add_type, "add_type")                 \
  ROW(ReadVectors, read_vectors, "read_vectors")     \
  ROW(PutPrefix, put_prefix, "put_prefix")           \
  ROW(Zero, zero, "zero")                            \
  ROW(Copy, copy, "copy")                            \
  ROW(Convert, convert, "convert")                   \
  ROW(Add, add, "add")                               \
  ROW(Norm, norm, "norm")                            \
  ROW(Gemm, gemm, "gemm")                            \
  ROW(AddRowSums, add_row_sums, "row_sums")          \
  ROW(ScaleByLength, scale_by_length, "scale")       \
  ROW(Activate, activate, "activate")                \
  ROW(Gate, gate, "gate")                            \
  ROW(Rotate, rotate, "rotate")                      \
  ROW(Compress, compress, "compress")                \
  ROW(PutTokens, put_tokens, "put_tokens")           \
  ROW(Pack, pack, "pack")                            \
  ROW(PackRows, pack_rows, "pack")                   \
  ROW(PackBlock, pack_block, "pack")                 \
  ROW(Attend, attend, "attend")                      \
  ROW(Select, select, "select")                      \
  ROW(Pool, pool, "pool")                            \
  ROW(Pair, pair, "pair")                            \
  ROW(Expand, expand, "expand")                      \
  ROW(Probabilities, probabilities, "probabilities") \
  ROW(NormalizeLength, normalize_length, "normalize")

enum class OpKind : uint8_t {
#define LINFORMER_ROW(Struct, kind, name) kind,
  LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW
};

template <class Struct>
struct KindOf;
#define LINFORMER_ROW(Struct, kind, name)                     \
  template <>                                                 \
  struct KindOf<ops::Struct> {                                \
    static_assert(std::is_trivially_copyable_v<ops::Struct>); \
    static_assert(offsetof(ops::Struct, out) == 0);           \
    static constexpr OpKind value = OpKind::kind;             \
  };
LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW

// Holds the struct of any kind of op. It is trivially copyable.
class Op {
 public:
  Op() : Op(ops::Copy()) {}
  template <class Struct>
  requires requires { KindOf<Struct>::value; }
  Op(const Struct& op) { assign(KindOf<Struct>::value, &op, sizeof op); }

  // Replaces the op by one of that kind. `op` points to the struct of the kind, which has `size` bytes.
  void assign(OpKind kind, const void* op, size_t size) {
    kind_ = kind;
    std::memcpy(storage_, op, size);
  }

  OpKind kind() const { return kind_; }
  template <class Struct>
  bool is() const {
    return kind_ == KindOf<Struct>::value;
  }
  // Returns the op as its struct. is<Struct>() must be true.
  template <class Struct>
  Struct& as() {
    return *std::launder(reinterpret_cast<Struct*>(storage_));
  }
  template <class Struct>
  const Struct& as() const {
    return *std::launder(reinterpret_cast<const Struct*>(storage_));
  }
  // Returns the op as its struct, or null if it is of another kind.
  template <class Struct>
  const Struct* get() const {
    return is<Struct>() ? &as<Struct>() : nullptr;
  }
  // Returns the view that the op writes. Every struct begins with it.
  View& out() { return *std::launder(reinterpret_cast<View*>(storage_)); }
  const View& out() const { return *std::launder(reinterpret_cast<const View*>(storage_)); }

 private:
#define LINFORMER_ROW(Struct, kind, name) ops::Struct kind;
  union Any {
    LINFORMER_OPS(LINFORMER_ROW)
  };
#undef LINFORMER_ROW
  OpKind kind_;
  alignas(Any) std::byte storage_[sizeof(Any)];
};

// Calls run() with the op as its struct and returns the result of run().
template <class AnyOp, class Run>
decltype(auto) with_struct(AnyOp& op, Run&& run) {
  switch (op.kind()) {
#define LINFORMER_ROW(Struct, kind, name) \
  case OpKind::kind:                      \
    return run(op.template as<ops::Struct>());
    LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW
  }
  __builtin_unreachable();
}

const char* name_of(OpKind kind);

struct Operand {
  View& view;
  Use use;
};

// Returns operand i of an op, for i in [0, operand_count(op.kind())). Operand 0 is `out`.
Operand operand_of(Op& op, int i);
int operand_count(OpKind kind);

}  // namespace LINFORMER_NAMESPACE
