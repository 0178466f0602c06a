// Sparse matrices: products with vectors in compressed rows (CSR), and sampled products of dense
// matrices (SDDMM).

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

constexpr int DEPTH = 64;

// A warp for each element.
extern "C" __global__ __launch_bounds__(256)
void sddmm(const unsigned* __restrict__ rows, const unsigned* __restrict__ columns,
           const float* __restrict__ values, const float* __restrict__ a,
           const float* __restrict__ b, float* __restrict__ to, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (i >= n) return;
    const float* row = a + rows[i] * DEPTH;
    const float* column = b + columns[i] * DEPTH;
    float sum = 0.0f;
#pragma unroll
    for (int k = lane; k < DEPTH; k += 32) sum += row[k] * column[k];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (lane == 0) to[i] = values[i] * sum;
}

extern "C" __global__ __launch_bounds__(256)
void bsr_spmv(const unsigned* __restrict__ rows, const unsigned* __restrict__ columns,
              const float4* __restrict__ blocks, const float4* __restrict__ x,
              float* __restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = rows[i / 4]; k < rows[i / 4 + 1]; k++) {
        float4 row = blocks[4 * k + i % 4];
        float4 v = x[columns[k]];
        sum += row.x * v.x + row.y * v.y + row.z * v.z + row.w * v.w;
    }
    y[i] = sum;
}
