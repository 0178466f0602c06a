// Molecular dynamics, finance, and a solver.

constexpr int NEIGHBORS = 64;
constexpr float CUTOFF = 9.0f;

extern "C" __global__ __launch_bounds__(256)
void lennard_jones(const float4* __restrict__ positions, const unsigned* __restrict__ neighbors,
                   float4* __restrict__ forces, int atoms) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms) return;
    float4 mine = positions[i];
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int k = 0; k < NEIGHBORS; k++) {
        float4 other = positions[neighbors[k * atoms + i]];
        float dx = mine.x - other.x, dy = mine.y - other.y, dz = mine.z - other.z;
        float squared = dx * dx + dy * dy + dz * dz;
        if (squared < CUTOFF) {
            float inverse = 1.0f / squared;
            float sixth = inverse * inverse * inverse;
            float factor = sixth * (48.0f * sixth - 24.0f) * inverse;
            sum.x += dx * factor;
            sum.y += dy * factor;
            sum.z += dz * factor;
        }
    }
    forces[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}

constexpr int STEPS = 16;
constexpr float PRICE = 100.0f, DRIFT = 0.0005f, VOLATILITY = 0.02f;

struct Xorshift {
    unsigned state;
    __device__ __forceinline__ explicit Xorshift(unsigned thread)
        : state((thread * 2654435761u ^ 0x9e3779b9u) | 1) {}
    __device__ __forceinline__ unsigned next() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return state;
    }
    __device__ __forceinline__ float uniform() {
        return ((next() >> 8) + 0.5f) * (1.0f / 16777216.0f);
    }
    __device__ __forceinline__ float2 normals() {
        float radius = sqrtf(-2.0f * logf(uniform()));
        float s, c;
        sincosf(6.28318531f * uniform(), &s, &c);
        return make_float2(radius * c, radius * s);
    }
};

template <typename T>
__device__ __forceinline__ T sum_of_block(T sum, T* shared) {
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 1; i < 8; i++) sum += shared[i];
    return sum;
}

extern "C" __global__ __launch_bounds__(256)
void asian_option(unsigned paths, float* __restrict__ to) {
    __shared__ float shared[8];
    Xorshift random(blockIdx.x * blockDim.x + threadIdx.x);
    float total = 0.0f;
    for (unsigned path = 0; path < paths; path++) {
        float price = PRICE, sum = 0.0f;
        for (int step = 0; step < STEPS / 2; step++) {
            float2 normals = random.normals();
            price *= expf(DRIFT + VOLATILITY * normals.x);
            sum += price;
            price *= expf(DRIFT + VOLATILITY * normals.y);
            sum += price;
        }
        total += fmaxf(sum / STEPS - PRICE, 0.0f);
    }
    total = sum_of_block(total, shared);
    if (threadIdx.x == 0) to[blockIdx.x] = total;
}

extern "C" __global__ __launch_bounds__(256)
void cg_update(double alpha, const double* __restrict__ p, const double* __restrict__ q,
               double* __restrict__ x, double* __restrict__ r, double* __restrict__ sums, int n) {
    __shared__ double shared[8];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        x[i] += alpha * p[i];
        double residual = r[i] - alpha * q[i];
        r[i] = residual;
        sum += residual * residual;
    }
    sum = sum_of_block(sum, shared);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
