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

constexpr int GEMM_BLOCK = 128;
constexpr int GEMM_THREADS = 16;
constexpr int SUMS = GEMM_BLOCK / GEMM_THREADS;

// A thread has 8×8 sums in registers.
extern "C" __global__ __launch_bounds__(GEMM_THREADS * GEMM_THREADS)
void sgemm_registers(const float* __restrict__ a, const float* __restrict__ b,
                     float* __restrict__ c, int n) {
    __shared__ float tile_a[GEMM_BLOCK][GEMM_THREADS];
    __shared__ float tile_b[GEMM_THREADS][GEMM_BLOCK];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x0 = blockIdx.x * GEMM_BLOCK, y0 = blockIdx.y * GEMM_BLOCK;
    float sums[SUMS][SUMS] = {};
    for (int k0 = 0; k0 < n; k0 += GEMM_THREADS) {
#pragma unroll
        for (int j = 0; j < SUMS; j++) {
            int y = ty + j * GEMM_THREADS;
            tile_a[y][tx] = y0 + y < n && k0 + tx < n ? a[(y0 + y) * n + k0 + tx] : 0.0f;
            int x = tx + j * GEMM_THREADS;
            tile_b[ty][x] = k0 + ty < n && x0 + x < n ? b[(k0 + ty) * n + x0 + x] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < GEMM_THREADS; k++) {
            float column[SUMS], row[SUMS];
#pragma unroll
            for (int i = 0; i < SUMS; i++) {
                column[i] = tile_a[ty + i * GEMM_THREADS][k];
                row[i] = tile_b[k][tx + i * GEMM_THREADS];
            }
#pragma unroll
            for (int j = 0; j < SUMS; j++)
#pragma unroll
                for (int i = 0; i < SUMS; i++) sums[j][i] += column[j] * row[i];
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < SUMS; j++)
#pragma unroll
        for (int i = 0; i < SUMS; i++) {
            int x = x0 + tx + i * GEMM_THREADS, y = y0 + ty + j * GEMM_THREADS;
            if (x < n && y < n) c[y * n + x] = sums[j][i];
        }
}
