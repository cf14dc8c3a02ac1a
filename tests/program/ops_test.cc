// Tests the properties that all ops share.
#include <doctest/doctest.h>

#include <string>

#include "program/ops/op.h"

namespace linformer_test::ops_test {
namespace {

using namespace linformer;

template <class Struct>
void check_op(const char* name) {
  CAPTURE(name);
  Op op = Struct();
  CHECK(op.is<Struct>());
  CHECK(op.get<Struct>() == &op.as<Struct>());
  CHECK(std::string(name_of(op.kind())) == name);
  CHECK(static_cast<const void*>(&op.out()) == &op.as<Struct>().out);
  REQUIRE(operand_count(op.kind()) == 1 + static_cast<int>(Struct::operands().size()));
  CHECK(&operand_of(op, 0).view == &op.out());
  CHECK(operand_of(op, 0).use == Use::result);
  for (int i = 1; i < operand_count(op.kind()); ++i) {
    CAPTURE(i);
    const View* view = &operand_of(op, i).view;
    CHECK(view > &op.out());
    CHECK(static_cast<const void*>(view + 1) <= &op + 1);
  }
  CHECK(with_struct(op, []<class Other>(const Other&) { return std::is_same_v<Other, Struct>; }));
}

}  // namespace

TEST_CASE("each op has its own name and operands, and its first operand is the result") {
#define LINFORMER_ROW(Struct, kind, name) check_op<ops::Struct>(name);
  LINFORMER_OPS(LINFORMER_ROW)
#undef LINFORMER_ROW
}

TEST_CASE("an op gives access only to the struct of its own kind") {
  ops::Norm norm;
  norm.epsilon = 1;
  const Op op = norm;
  CHECK(op.get<ops::Gemm>() == nullptr);
  CHECK(op.as<ops::Norm>().epsilon == 1);
  const Op copy = op;
  CHECK(copy.as<ops::Norm>().epsilon == 1);
}

}  // namespace linformer_test::ops_test
