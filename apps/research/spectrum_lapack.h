// The little of BLAS and LAPACK that a spectrum needs, in double precision, from OpenBLAS, which is opened when it is
// first asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linformer::research {

// Why singular values can't be computed here, with the next step; empty where they can. The functions below throw it as
// a DataError.
std::string lapack_problem();
// How many threads may call the functions below at once, `wanted` at most.
int lapack_threads(int wanted);

// While it lives, OpenBLAS works for the calling thread on that thread alone.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;  // only with LAPACK
};

// c[m, n] = scale a[m, k] b[k, n], or b[n, k] transposed. All row-major without gaps.
void multiply(int64_t m, int64_t n, int64_t k, double scale, const double* a, const double* b, bool b_transposed,
              double* c);

// The singular values of matrix[n, n], largest first. The matrix is lost; `work` is reused between calls. Throws
// DataError where LAPACK gives up.
std::vector<double> singular_values(std::vector<double>* matrix, int64_t n, std::vector<double>* work);

// The squares of the singular values of matrix[n, n], smallest first; row i of `vectors`, [n, n], becomes the right
// singular vector of value i. They are the eigenvalues and eigenvectors of the matrix's transpose times the matrix,
// which take a third of the time of a singular value decomposition; the squares are exact to about 1e-15 of the
// largest. `work` is reused between calls. Throws DataError where LAPACK gives up.
std::vector<double> right_singular_vectors(const std::vector<double>& matrix, int64_t n, std::vector<double>* vectors,
                                           std::vector<double>* work);

}  // namespace linformer::research
