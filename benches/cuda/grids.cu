// Regular grids: stencils, a lattice Boltzmann method, shortest paths, and a Gauss-Seidel sweep.

extern "C" __global__ __launch_bounds__(256)
void jacobi5_f32(const float* __restrict__ from, float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
        to[i] = from[i];
    else
        to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
}

constexpr int RADIUS = 4;
__device__ constexpr float WEIGHTS[RADIUS + 1] = {-2.8472223f, 1.6f, -0.2f, 0.025396825f,
                                                  -0.0017857143f};
constexpr float COURANT = 0.1f;

extern "C" __global__ __launch_bounds__(256)
void wave25(const float* __restrict__ current, float* __restrict__ previous, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= RADIUS && x < nx - RADIUS && y >= RADIUS && y < ny - RADIUS && z >= RADIUS &&
        z < nz - RADIUS) {
        int i = (z * ny + y) * nx + x;
        float laplacian = 3.0f * WEIGHTS[0] * current[i];
#pragma unroll
        for (int d = 1; d <= RADIUS; d++) {
            laplacian += WEIGHTS[d] * (current[i - d] + current[i + d] + current[i - d * nx] +
                                       current[i + d * nx] + current[i - d * nx * ny] +
                                       current[i + d * nx * ny]);
        }
        previous[i] = 2.0f * current[i] - previous[i] + COURANT * laplacian;
    }
}

constexpr int DIRECTIONS = 9;
__device__ constexpr float EX[DIRECTIONS] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__device__ constexpr float EY[DIRECTIONS] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__device__ constexpr float LATTICE[DIRECTIONS] = {
    4.0f / 9.0f,  1.0f / 9.0f,  1.0f / 9.0f,  1.0f / 9.0f, 1.0f / 9.0f,
    1.0f / 36.0f, 1.0f / 36.0f, 1.0f / 36.0f, 1.0f / 36.0f};
constexpr float OMEGA = 1.2f;

extern "C" __global__ __launch_bounds__(256)
void lbm_d2q9(int width, int height, const float* __restrict__ from, float* __restrict__ to) {
    int cells = width * height;
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;
    int x = cell % width, y = cell / width;
    int left = x == 0 ? width - 1 : x - 1, right = x + 1 == width ? 0 : x + 1;
    int down = y == 0 ? height - 1 : y - 1, up = y + 1 == height ? 0 : y + 1;
    float f[DIRECTIONS];
    f[0] = from[y * width + x];
    f[1] = from[cells + y * width + left];
    f[2] = from[2 * cells + down * width + x];
    f[3] = from[3 * cells + y * width + right];
    f[4] = from[4 * cells + up * width + x];
    f[5] = from[5 * cells + down * width + left];
    f[6] = from[6 * cells + down * width + right];
    f[7] = from[7 * cells + up * width + right];
    f[8] = from[8 * cells + up * width + left];
    float density = 0.0f;
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) density += f[q];
    float ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / density;
    float uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / density;
    float squared = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < DIRECTIONS; q++) {
        float along = 3.0f * (EX[q] * ux + EY[q] * uy);
        float equilibrium = LATTICE[q] * density * (1.0f + along + 0.5f * along * along - squared);
        to[q * cells + cell] = f[q] + OMEGA * (equilibrium - f[q]);
    }
}

extern "C" __global__ __launch_bounds__(256)
void floyd_warshall(int k, const unsigned* __restrict__ from, unsigned* __restrict__ to, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        unsigned through = from[i * n + k] + from[k * n + j];
        to[i * n + j] = min(from[i * n + j], through);
    }
}

constexpr int TILE = 32;
constexpr unsigned FAR = 0xffffffffu / 4;

extern "C" __global__ __launch_bounds__(1024)
void min_plus(const unsigned* __restrict__ a, const unsigned* __restrict__ b,
              unsigned* __restrict__ c, int n) {
    __shared__ unsigned tile_a[TILE][TILE], tile_b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
    unsigned least = FAR;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        tile_a[ty][tx] = row < n && k0 + tx < n ? a[row * n + k0 + tx] : FAR;
        tile_b[ty][tx] = k0 + ty < n && column < n ? b[(k0 + ty) * n + column] : FAR;
        __syncthreads();
        for (int k = 0; k < TILE; k++) least = min(least, tile_a[ty][k] + tile_b[k][tx]);
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = least;
}

__device__ __forceinline__ float black_at(const float* __restrict__ black, int x, int y, int width,
                                          int height) {
    return x >= 0 && x < width && y >= 0 && y < height ? black[y * width + x] : 0.0f;
}

extern "C" __global__ __launch_bounds__(256)
void red_black(const float* __restrict__ black, const float* __restrict__ sources, float omega,
               float* __restrict__ red, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int left = y % 2 == 0 ? x - 1 : x;
    float sum = black_at(black, x, y - 1, width, height) + black_at(black, x, y + 1, width, height) +
                black_at(black, left, y, width, height) +
                black_at(black, left + 1, y, width, height);
    int i = y * width + x;
    float cell = red[i];
    red[i] = cell + omega * (0.25f * (sum + sources[i]) - cell);
}
