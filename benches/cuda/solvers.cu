// Solvers of many small systems: Cholesky and LU factorizations, tridiagonal systems, and inverses.

constexpr int ORDER = 16;

extern "C" __global__ __launch_bounds__(256)
void cholesky(const double* __restrict__ from, double* __restrict__ to) {
    __shared__ double a[ORDER][ORDER];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * ORDER * ORDER + y * ORDER + x;
    a[y][x] = from[i];
    __syncthreads();
    for (int k = 0; k < ORDER; k++) {
        if (x == k && y == k) a[k][k] = sqrt(a[k][k]);
        __syncthreads();
        if (x == k && y > k) a[y][k] /= a[k][k];
        __syncthreads();
        if (x > k && y >= x) a[y][x] -= a[y][k] * a[x][k];
        __syncthreads();
    }
    to[i] = x <= y ? a[y][x] : 0.0;
}

extern "C" __global__ __launch_bounds__(128)
void thomas(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
            const float* __restrict__ d, float* __restrict__ scratch, float* __restrict__ to,
            int rows, int systems) {
    int system = blockIdx.x * blockDim.x + threadIdx.x;
    if (system >= systems) return;
    float factor = 0.0f, value = 0.0f;
    for (int row = 0; row < rows; row++) {
        int i = row * systems + system;
        float scale = 1.0f / (b[i] - a[i] * factor);
        factor = c[i] * scale;
        value = (d[i] - a[i] * value) * scale;
        scratch[i] = factor;
        to[i] = value;
    }
    for (int row = rows - 2; row >= 0; row--) {
        int i = row * systems + system;
        value = to[i] - scratch[i] * value;
        to[i] = value;
    }
}

constexpr int SIDE = 8;

extern "C" __global__ __launch_bounds__(128)
void lu8x8(const float* __restrict__ from, float* __restrict__ to, int n) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n) return;
    float rows[SIDE][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) rows[i][j] = from[(i * SIDE + j) * n + index];
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
        float scale = 1.0f / rows[k][k];
#pragma unroll
        for (int i = k + 1; i < SIDE; i++) {
            float factor = rows[i][k] * scale;
            rows[i][k] = factor;
#pragma unroll
            for (int j = k + 1; j < SIDE; j++) rows[i][j] -= factor * rows[k][j];
        }
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) to[(i * SIDE + j) * n + index] = rows[i][j];
}

constexpr int INVERTED = 32;
constexpr int STEP = 8;
constexpr int OWN = INVERTED / STEP;

extern "C" __global__ __launch_bounds__(256)
void gauss_jordan(const float* __restrict__ from, float* __restrict__ to) {
    __shared__ float a[INVERTED][INVERTED + 1];
    int x = threadIdx.x, first = threadIdx.y;
    int start = blockIdx.x * INVERTED * INVERTED;
#pragma unroll
    for (int i = 0; i < OWN; i++)
        a[first + i * STEP][x] = from[start + (first + i * STEP) * INVERTED + x];
    __syncthreads();
    for (int k = 0; k < INVERTED; k++) {
        float scaled = (x == k ? 1.0f : a[k][x]) / a[k][k];
        float factors[OWN];
#pragma unroll
        for (int i = 0; i < OWN; i++) factors[i] = a[first + i * STEP][k];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < OWN; i++) {
            int y = first + i * STEP;
            if (y == k)
                a[y][x] = scaled;
            else
                a[y][x] = (x == k ? 0.0f : a[y][x]) - factors[i] * scaled;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < OWN; i++)
        to[start + (first + i * STEP) * INVERTED + x] = a[first + i * STEP][x];
}
