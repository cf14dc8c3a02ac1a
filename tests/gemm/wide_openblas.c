char* openblas_get_config(void) { return (char*)"OpenBLAS 0.3.21 NO_LAPACKE USE64BITINT DYNAMIC_ARCH MAX_THREADS=64"; }
int openblas_get_parallel(void) { return 0; }
void cblas_sgemm(void) {}
