#include "spectrum_lapack.h"

#include "errors.h"

#ifdef LINFORMER_WITH_LAPACK
#include <cblas.h>

#include "gemm/openmp.h"

// LAPACK's own Fortran interface: not every OpenBLAS comes with lapacke.h.
extern "C" void dgesdd_(const char* job, const blasint* m, const blasint* n, double* a, const blasint* a_stride,
                        double* s, double* u, const blasint* u_stride, double* vt, const blasint* vt_stride,
                        double* work, const blasint* work_size, blasint* integer_work, blasint* info,
                        size_t job_length);
#endif

namespace linformer::cli {

#ifdef LINFORMER_WITH_LAPACK
namespace {

// What openblas_get_parallel() says of the library that was loaded.
constexpr int sequential_build = 0, openmp_build = 2;

}  // namespace

bool has_lapack() { return true; }

// A sequential OpenBLAS keeps its buffers in unguarded globals.
int lapack_threads(int wanted) { return openblas_get_parallel() == sequential_build ? 1 : wanted; }

OneBlasThread::OneBlasThread() {
  if (openblas_get_parallel() == openmp_build) {
    before_ = use_one_thread();
  } else {
    openblas_set_num_threads(1);  // for the whole process, which is this program's own
  }
}

OneBlasThread::~OneBlasThread() { restore_threads(before_); }

void multiply(int64_t m, int64_t n, int64_t k, double scale, const double* a, const double* b, bool b_transposed,
              double* c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, b_transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), scale, a, static_cast<blasint>(k), b,
              static_cast<blasint>(b_transposed ? k : n), 0, c, static_cast<blasint>(n));
}

std::vector<double> singular_values(std::vector<double>* matrix, int64_t n, std::vector<double>* work) {
  std::vector<double> values(static_cast<size_t>(n));
  std::vector<blasint> integers(8 * static_cast<size_t>(n));
  const blasint size = static_cast<blasint>(n), one = 1;
  blasint info = 0;
  // The matrix is read as its transpose, which has the same singular values. First only the size of `work` is asked.
  double wanted = 0;
  blasint work_size = -1;
  const auto call = [&](double* space) {
    dgesdd_("N", &size, &size, matrix->data(), &size, values.data(), nullptr, &one, nullptr, &one, space, &work_size,
            integers.data(), &info, 1);
  };
  call(&wanted);
  if (info == 0) {
    if (work->size() < static_cast<size_t>(wanted)) work->resize(static_cast<size_t>(wanted));
    work_size = static_cast<blasint>(work->size());
    call(work->data());
  }
  if (info != 0) throw DataError("LAPACK's dgesdd found no singular values (info " + std::to_string(info) + ")");
  return values;
}

#else

namespace {

[[noreturn]] void refuse() {
  throw DataError(
      "singular values come from OpenBLAS with LAPACK, which this program was built without; build it with "
      "-DLINFORMER_OPENBLAS=ON");
}

}  // namespace

bool has_lapack() { return false; }
int lapack_threads(int) { return 1; }
OneBlasThread::OneBlasThread() { refuse(); }
OneBlasThread::~OneBlasThread() = default;
void multiply(int64_t, int64_t, int64_t, double, const double*, const double*, bool, double*) { refuse(); }
std::vector<double> singular_values(std::vector<double>*, int64_t, std::vector<double>*) { refuse(); }

#endif

}  // namespace linformer::cli
