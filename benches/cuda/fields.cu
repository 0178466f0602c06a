// Fields in physics: quarks on a lattice, the charge density of particles, and electric fields.

constexpr int COLORS = 3;
constexpr int DIMENSIONS = 4;

__device__ __forceinline__ float2 operator+(float2 a, float2 b) {
    return make_float2(a.x + b.x, a.y + b.y);
}
__device__ __forceinline__ float2 operator-(float2 a, float2 b) {
    return make_float2(a.x - b.x, a.y - b.y);
}
__device__ __forceinline__ float2 operator*(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ __forceinline__ float2 conjugate(float2 a) { return make_float2(a.x, -a.y); }

extern "C" __global__ __launch_bounds__(128)
void dslash(const float2* __restrict__ links, const float2* __restrict__ from, int nx, int ny,
            int nz, int nt, float2* __restrict__ to) {
    int volume = nx * ny * nz * nt;
    int site = blockIdx.x * blockDim.x + threadIdx.x;
    if (site >= volume) return;
    int sizes[DIMENSIONS] = {nx, ny, nz, nt};
    float2 sums[COLORS] = {};
    int rest = site, stride = 1;
#pragma unroll
    for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
        int size = sizes[dimension];
        int at = rest % size;
        int after = at + 1 == size ? site - (size - 1) * stride : site + stride;
        int before = at == 0 ? site + (size - 1) * stride : site - stride;
        rest /= size;
        stride *= size;
        const float2* matrices = links + dimension * COLORS * COLORS * volume;
#pragma unroll
        for (int row = 0; row < COLORS; row++) {
#pragma unroll
            for (int color = 0; color < COLORS; color++) {
                float2 forward = matrices[(row * COLORS + color) * volume + site];
                float2 backward = conjugate(matrices[(color * COLORS + row) * volume + before]);
                sums[row] = sums[row] + forward * from[color * volume + after] -
                            backward * from[color * volume + before];
            }
        }
    }
#pragma unroll
    for (int row = 0; row < COLORS; row++) to[row * volume + site] = sums[row];
}

extern "C" __global__ __launch_bounds__(256)
void charge_deposit(const float4* __restrict__ particles, int side, float* __restrict__ density,
                    int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 particle = particles[i];
    int x0 = particle.x, y0 = particle.y, z0 = particle.z;
    float fx = particle.x - x0, fy = particle.y - y0, fz = particle.z - z0;
    int x1 = x0 + 1 == side ? 0 : x0 + 1;
    int y1 = y0 + 1 == side ? 0 : y0 + 1;
    int z1 = z0 + 1 == side ? 0 : z0 + 1;
    float charge = particle.w;
    float q0 = charge * (1.0f - fz), q1 = charge * fz;
    float q00 = q0 * (1.0f - fy), q01 = q0 * fy, q10 = q1 * (1.0f - fy), q11 = q1 * fy;
    atomicAdd(&density[(z0 * side + y0) * side + x0], q00 * (1.0f - fx));
    atomicAdd(&density[(z0 * side + y0) * side + x1], q00 * fx);
    atomicAdd(&density[(z0 * side + y1) * side + x0], q01 * (1.0f - fx));
    atomicAdd(&density[(z0 * side + y1) * side + x1], q01 * fx);
    atomicAdd(&density[(z1 * side + y0) * side + x0], q10 * (1.0f - fx));
    atomicAdd(&density[(z1 * side + y0) * side + x1], q10 * fx);
    atomicAdd(&density[(z1 * side + y1) * side + x0], q11 * (1.0f - fx));
    atomicAdd(&density[(z1 * side + y1) * side + x1], q11 * fx);
}

constexpr float DECAY = 0.98f;
constexpr float CURL = 0.495f;

extern "C" __global__ __launch_bounds__(256)
void fdtd3d(const float* __restrict__ hx, const float* __restrict__ hy,
            const float* __restrict__ hz, float* __restrict__ ex, float* __restrict__ ey,
            float* __restrict__ ez, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x == 0 || x >= nx || y == 0 || y >= ny || z == 0 || z >= nz) return;
    int i = (z * ny + y) * nx + x;
    int below = i - nx * ny;
    ex[i] = DECAY * ex[i] + CURL * (hz[i] - hz[i - nx] - hy[i] + hy[below]);
    ey[i] = DECAY * ey[i] + CURL * (hx[i] - hx[below] - hz[i] + hz[i - 1]);
    ez[i] = DECAY * ez[i] + CURL * (hy[i] - hy[i - 1] - hx[i] + hx[i - nx]);
}
