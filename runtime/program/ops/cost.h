// The context in which an op's cost for one sequence is computed from its operands.
#pragma once

#include "program/cost.h"

namespace LINFORMER_NAMESPACE::ops {

// A sequence, the stage that an op belongs to, and the cost that has been counted so far.
class CostContext {
 public:
  CostContext(const Program& program, const Stage& stage, int64_t rows, int64_t source, int64_t positions);

  const Program& program() const { return program_; }
  const Stage& stage() const { return stage_; }
  int64_t rows() const { return rows_; }           // The rows of the sequence.
  int64_t source_rows() const { return source_; }  // The rows that the sequence's keys are computed from.
  double stage_rows() const { return m_; }         // What rows_for_sequence() returns for the stage and the sequence.

  void add_bytes(double elements, double element_size) { cost_.bytes += elements * element_size; }
  void add_weights(double elements, double element_size) { cost_.weight_bytes += elements * element_size; }
  void add_flop(double flop) { cost_.flop += flop; }
  // Adds the bytes of a view: all bytes if it is a weight, and otherwise the bytes of `rows` rows.
  void add(const View& view, double rows);
  void add(const View& view) { add(view, m_); }

  const Cost& cost() const { return cost_; }

 private:
  const Program& program_;
  const Stage& stage_;
  const int64_t rows_, source_;
  const double m_;
  Cost cost_;
};

template <class A, class B>
double product(A a, B b) {
  return static_cast<double>(a) * static_cast<double>(b);
}
template <class A, class B, class C>
double product(A a, B b, C c) {
  return product(product(a, b), c);
}

}  // namespace LINFORMER_NAMESPACE::ops
