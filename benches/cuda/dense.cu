// Dense matrices: transpose, products with vectors and with matrices.

constexpr int TRANSPOSE = 32;
constexpr int GEMM = 32;

extern "C" __global__ __launch_bounds__(256)
void transpose(const float* __restrict__ from, float* __restrict__ to, int width, int height) {
    __shared__ float tile[TRANSPOSE][TRANSPOSE + 1];
    int x0 = blockIdx.x * TRANSPOSE, y0 = blockIdx.y * TRANSPOSE;
    for (int y = threadIdx.y; y < TRANSPOSE; y += 8)
        if (x0 + y < width && y0 + threadIdx.x < height)
            tile[y][threadIdx.x] = from[(x0 + y) * height + y0 + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < TRANSPOSE; y += 8)
        if (x0 + threadIdx.x < width && y0 + y < height)
            to[(y0 + y) * width + x0 + threadIdx.x] = tile[threadIdx.x][y];
}

// `a` is in columns.
extern "C" __global__ __launch_bounds__(128)
void gemv(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int rows,
          int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int column = 0; column < columns; column++) sum += a[column * rows + row] * x[column];
        y[row] = sum;
    }
}

extern "C" __global__ __launch_bounds__(GEMM * GEMM)
void sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
    __shared__ float tile_a[GEMM][GEMM];
    __shared__ float tile_b[GEMM][GEMM];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * GEMM + tx, row = blockIdx.y * GEMM + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < n; k0 += GEMM) {
        tile_a[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : 0.0f;
        tile_b[ty][tx] = k0 + ty < n && column < n ? b[(k0 + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < GEMM; k++) sum += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
