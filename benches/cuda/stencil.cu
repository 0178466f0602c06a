// Stencils: seven points in three dimensions, five in two, and a convolution.

template <typename T>
__device__ __forceinline__ void stencil7(const T* __restrict__ from, T* __restrict__ to, int nx,
                                         int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1) {
        int i = (z * ny + y) * nx + x;
        to[i] = T(0.4) * from[i] + T(0.1) * (from[i - 1] + from[i + 1] + from[i - nx] +
                                             from[i + nx] + from[i - nx * ny] + from[i + nx * ny]);
    }
}

extern "C" __global__ __launch_bounds__(512)
void stencil7_f32(const float* __restrict__ from, float* __restrict__ to, int nx, int ny, int nz) {
    stencil7(from, to, nx, ny, nz);
}

extern "C" __global__ __launch_bounds__(512)
void stencil7_f64(const double* __restrict__ from, double* __restrict__ to, int nx, int ny, int nz) {
    stencil7(from, to, nx, ny, nz);
}

extern "C" __global__ __launch_bounds__(256)
void jacobi(const double* __restrict__ from, double* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        int i = y * width + x;
        to[i] = 0.25 * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
    }
}

constexpr int TAPS = 5;

extern "C" __global__ __launch_bounds__(256)
void convolution(const float* __restrict__ from, const float* __restrict__ weights,
                 float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int dy = 0; dy < TAPS; dy++) {
        for (int dx = 0; dx < TAPS; dx++) {
            int sx = x + dx - TAPS / 2, sy = y + dy - TAPS / 2;
            if (sx >= 0 && sx < width && sy >= 0 && sy < height)
                sum += weights[dy * TAPS + dx] * from[sy * width + sx];
        }
    }
    to[y * width + x] = sum;
}
