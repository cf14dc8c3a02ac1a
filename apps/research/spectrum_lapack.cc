#include "research/spectrum_lapack.h"

#include <algorithm>

#include "command_line/errors.h"

#ifdef LINFORMER_WITH_LAPACK
#include "gemm/openblas/openblas_library.h"
#endif

namespace linformer::research {

#ifdef LINFORMER_WITH_LAPACK
namespace {

// These are functions of LAPACK's Fortran interface, because not every OpenBLAS comes with lapacke.h.
using Dgesdd = void(const char* job, const blasint* m, const blasint* n, double* a, const blasint* a_stride, double* s,
                    double* u, const blasint* u_stride, double* vt, const blasint* vt_stride, double* work,
                    const blasint* work_size, blasint* integer_work, blasint* info, size_t job_length);
using Dsyevd = void(const char* job, const char* triangle, const blasint* n, double* a, const blasint* a_stride,
                    double* values, double* work, const blasint* work_size, blasint* integer_work,
                    const blasint* integer_work_size, blasint* info, size_t job_length, size_t triangle_length);

struct Lapack {
  const OpenblasLibrary* blas = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_set_num_threads) set_num_threads = nullptr;
  decltype(&cblas_dsyrk) dsyrk = nullptr;
  Dgesdd* dgesdd = nullptr;
  Dsyevd* dsyevd = nullptr;
};

Status open(Lapack* lapack) {
  const auto blas = openblas_library(1);
  if (!blas.ok()) return blas.status();
  const auto find = [&](const char* name, auto** function) {
    return find_function((*blas)->handle, openblas_names(), name, function);
  };
  LINFORMER_TRY(find("cblas_dgemm", &lapack->dgemm));
  LINFORMER_TRY(find("cblas_dsyrk", &lapack->dsyrk));
  LINFORMER_TRY(find("openblas_set_num_threads", &lapack->set_num_threads));
  LINFORMER_TRY(find("dgesdd_", &lapack->dgesdd));  // Some builds of OpenBLAS have no LAPACK.
  LINFORMER_TRY(find("dsyevd_", &lapack->dsyevd));
  lapack->blas = *blas;
  return {};
}

Result<const Lapack*> opened() {
  static OpenedOnce<Lapack> only;
  return only.get(&open);
}

const Lapack& lapack() {
  const auto library = opened();
  if (!library.ok()) throw cli::DataError(lapack_problem());
  return **library;
}

}  // namespace

std::string lapack_problem() {
  const auto library = opened();
  return library.ok() ? "" : std::string("singular values need OpenBLAS with LAPACK: ") + library.status().message();
}

// A sequential OpenBLAS keeps its buffers in global variables without locks, so only one thread may call it.
int lapack_threads(int wanted) {
  const int threads = lapack().blas->threads == OpenblasThreads::sequential ? 1 : wanted;
  const auto room = openblas_library(threads);
  if (!room.ok()) throw cli::DataError(room.status().message() + std::string(", or lower --threads"));
  return threads;
}

OneBlasThread::OneBlasThread() {
  if (lapack().blas->threads == OpenblasThreads::openmp) {
    before_ = lapack().blas->openmp.use_one_thread();
  } else {
    lapack().set_num_threads(1);  // This setting is for the whole process, in which nothing else uses OpenBLAS.
  }
}

OneBlasThread::~OneBlasThread() { lapack().blas->openmp.restore_threads(before_); }

void multiply(int64_t m, int64_t n, int64_t k, double scale, const double* a, const double* b, bool b_transposed,
              double* c) {
  lapack().dgemm(CblasRowMajor, CblasNoTrans, b_transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
                 static_cast<blasint>(n), static_cast<blasint>(k), scale, a, static_cast<blasint>(k), b,
                 static_cast<blasint>(b_transposed ? k : n), 0, c, static_cast<blasint>(n));
}

std::vector<double> singular_values(std::vector<double>* matrix, int64_t n, std::vector<double>* work) {
  std::vector<double> values(static_cast<size_t>(n));
  std::vector<blasint> integers(8 * static_cast<size_t>(n));
  const blasint size = static_cast<blasint>(n), one = 1;
  blasint info = 0;
  // LAPACK takes our row-major matrix for its transpose, which has the same singular values. The first call only
  // returns the size of `work`.
  double wanted = 0;
  blasint work_size = -1;
  const auto call = [&](double* space) {
    lapack().dgesdd("N", &size, &size, matrix->data(), &size, values.data(), nullptr, &one, nullptr, &one, space,
                    &work_size, integers.data(), &info, 1);
  };
  call(&wanted);
  if (info == 0) {
    if (work->size() < static_cast<size_t>(wanted)) work->resize(static_cast<size_t>(wanted));
    work_size = static_cast<blasint>(work->size());
    call(work->data());
  }
  if (info != 0) throw cli::DataError("LAPACK's dgesdd found no singular values (info " + std::to_string(info) + ")");
  return values;
}

std::vector<double> right_singular_vectors(const std::vector<double>& matrix, int64_t n, std::vector<double>* vectors,
                                           std::vector<double>* work) {
  std::vector<double> squares(static_cast<size_t>(n));
  vectors->resize(matrix.size());
  const blasint size = static_cast<blasint>(n);
  lapack().dsyrk(CblasRowMajor, CblasLower, CblasTrans, size, size, 1, matrix.data(), size, 0, vectors->data(), size);
  // LAPACK stores matrices by columns. It therefore takes our lower triangle, stored by rows, for an upper one, and the
  // eigenvectors that it writes into columns are rows here. The first call only returns the sizes of the work arrays.
  double wanted = 0;
  blasint wanted_integers = 0, work_size = -1, integer_size = -1, info = 0;
  const auto call = [&](double* space, blasint* integers) {
    lapack().dsyevd("V", "U", &size, vectors->data(), &size, squares.data(), space, &work_size, integers, &integer_size,
                    &info, 1, 1);
  };
  call(&wanted, &wanted_integers);
  if (info == 0) {
    if (work->size() < static_cast<size_t>(wanted)) work->resize(static_cast<size_t>(wanted));
    std::vector<blasint> integers(static_cast<size_t>(wanted_integers));
    work_size = static_cast<blasint>(wanted);
    integer_size = wanted_integers;
    call(work->data(), integers.data());
  }
  if (info != 0) throw cli::DataError("LAPACK's dsyevd found no eigenvectors (info " + std::to_string(info) + ")");
  for (double& square : squares) square = std::max(square, 0.0);  // Rounding can make a square negative.
  return squares;
}

#else

namespace {

[[noreturn]] void refuse() { throw cli::DataError(lapack_problem()); }

}  // namespace

std::string lapack_problem() {
  return "singular values need OpenBLAS with LAPACK, and this program was built without it; build it with "
         "-DLINFORMER_OPENBLAS=ON";
}
int lapack_threads(int) { return 1; }
OneBlasThread::OneBlasThread() { refuse(); }
OneBlasThread::~OneBlasThread() = default;
void multiply(int64_t, int64_t, int64_t, double, const double*, const double*, bool, double*) { refuse(); }
std::vector<double> singular_values(std::vector<double>*, int64_t, std::vector<double>*) { refuse(); }
std::vector<double> right_singular_vectors(const std::vector<double>&, int64_t, std::vector<double>*,
                                           std::vector<double>*) {
  refuse();
}

#endif

}  // namespace linformer::research
