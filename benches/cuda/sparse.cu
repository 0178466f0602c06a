// Sparse matrices in compressed rows (CSR), times a vector.

// A thread for each row.
extern "C" __global__ __launch_bounds__(256)
void spmv_banded(const unsigned* __restrict__ rows, const unsigned* __restrict__ columns,
                 const double* __restrict__ values, const double* __restrict__ x,
                 double* __restrict__ y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        double sum = 0.0;
        for (int i = rows[row]; i < rows[row + 1]; i++) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

// A warp for each row.
extern "C" __global__ __launch_bounds__(256)
void spmv_power_law(const unsigned* __restrict__ rows, const unsigned* __restrict__ columns,
                    const double* __restrict__ values, const double* __restrict__ x,
                    double* __restrict__ y, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < n) {
        double sum = 0.0;
        for (int i = rows[row] + lane; i < rows[row + 1]; i += 32) sum += values[i] * x[columns[i]];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, distance);
        if (lane == 0) y[row] = sum;
    }
}
