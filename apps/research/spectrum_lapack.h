// Calls the functions of BLAS and LAPACK that a spectrum needs, in double precision. They come from OpenBLAS, which is
// loaded at the first call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linformer::research {

// Returns the reason why singular values can't be computed, and what to do about it, or an empty text if they can. If
// they can't, the functions below throw DataError with this text.
std::string lapack_problem();
// Returns how many threads may call the functions below at the same time, at most `wanted`. Throws DataError if the
// process has too little address space for the buffers of so many threads.
int lapack_threads(int wanted);

// Makes OpenBLAS use only the calling thread for calls from this thread, as long as the object exists. An OpenBLAS that
// is built without OpenMP keeps this setting, for all threads of the process.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;  // The earlier number of threads. Unused in a build without LAPACK.
};

// Computes c[m, n] = scale a[m, k] b[k, n]. If `b_transposed`, b is [n, k] and its transpose is taken. All matrices are
// row-major, and their rows follow each other without gaps.
void multiply(int64_t m, int64_t n, int64_t k, double scale, const double* a, const double* b, bool b_transposed,
              double* c);

// Returns the singular values of matrix[n, n], largest first. The matrix is overwritten, and `work` is reused between
// calls. Throws DataError if LAPACK fails.
std::vector<double> singular_values(std::vector<double>* matrix, int64_t n, std::vector<double>* work);

// Returns the squares of the singular values of matrix[n, n], smallest first. Row i of `vectors`, [n, n], becomes the
// right singular vector of value i. They are computed as the eigenvalues and eigenvectors of the transpose of the
// matrix times the matrix. This takes a third of the time of a singular value decomposition, and the squares are exact
// to about 1e-15 of the largest one. `work` is reused between calls. Throws DataError if LAPACK fails.
std::vector<double> right_singular_vectors(const std::vector<double>& matrix, int64_t n, std::vector<double>* vectors,
                                           std::vector<double>* work);

}  // namespace linformer::research
