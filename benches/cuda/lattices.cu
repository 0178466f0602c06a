// Lattices: a step of the Ising model, the restriction of a multigrid method, and a bilateral
// filter.

extern "C" __global__ __launch_bounds__(256)
void ising_sweep(const signed char* __restrict__ others, const float* __restrict__ uniforms,
                 float beta, unsigned parity, signed char* __restrict__ spins, int width,
                 int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int above = y == 0 ? height - 1 : y - 1;
    int below = y + 1 == height ? 0 : y + 1;
    int left = x == 0 ? width - 1 : x - 1;
    int right = x + 1 == width ? 0 : x + 1;
    int side = y % 2 == (int)parity ? right : left;
    signed char sum = others[above * width + x] + others[y * width + x] +
                      others[below * width + x] + others[y * width + side];
    signed char spin = spins[y * width + x];
    float energy = 2.0f * (sum * spin);
    if (uniforms[y * width + x] < expf(-beta * energy)) spins[y * width + x] = -spin;
}

__device__ constexpr float WEIGHTS[3] = {0.25f, 0.5f, 0.25f};

extern "C" __global__ __launch_bounds__(128)
void restrict_3d(const float* __restrict__ fine, float* __restrict__ coarse, int nx, int ny,
                 int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int width = 2 * nx + 1, height = 2 * ny + 1;
    float sum = 0.0f;
    for (int dz = 0; dz < 3; dz++) {
        for (int dy = 0; dy < 3; dy++) {
            const float* row = fine + ((2 * z + dz) * height + 2 * y + dy) * width + 2 * x;
            float terms = 0.0f;
            for (int dx = 0; dx < 3; dx++) terms += row[dx] * WEIGHTS[dx];
            sum += WEIGHTS[dz] * WEIGHTS[dy] * terms;
        }
    }
    coarse[(z * ny + y) * nx + x] = sum;
}

constexpr int RADIUS = 3;
constexpr float SPACE = 0.08f;
constexpr float RANGE = 12.0f;

extern "C" __global__ __launch_bounds__(256)
void bilateral(const float* __restrict__ image, float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float center = image[y * width + x];
    float sum = 0.0f, total = 0.0f;
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        int row = min(max(y + dy, 0), height - 1);
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            int column = min(max(x + dx, 0), width - 1);
            float pixel = image[row * width + column];
            float difference = pixel - center;
            float weight = expf(-SPACE * (dx * dx + dy * dy) - RANGE * difference * difference);
            sum += weight * pixel;
            total += weight;
        }
    }
    to[y * width + x] = sum / total;
}
