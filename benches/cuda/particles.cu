// Forces between bodies.

constexpr int BODIES = 256;
constexpr float SOFTENING = 1e-3f;

__device__ __forceinline__ float3 pull(float3 sum, float4 on, float4 by) {
    float dx = by.x - on.x, dy = by.y - on.y, dz = by.z - on.z;
    float squared = dx * dx + dy * dy + dz * dz + SOFTENING;
    float inverse = rsqrtf(squared);
    float factor = by.w * inverse * inverse * inverse;
    sum.x += dx * factor;
    sum.y += dy * factor;
    sum.z += dz * factor;
    return sum;
}

extern "C" __global__ __launch_bounds__(BODIES)
void nbody(const float4* __restrict__ bodies, float* __restrict__ to, int n) {
    __shared__ float4 tile[BODIES];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 mine = i < n ? bodies[i] : none;
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < n; start += BODIES) {
        int other = start + threadIdx.x;
        tile[threadIdx.x] = other < n ? bodies[other] : none;
        __syncthreads();
        for (int j = 0; j < BODIES; j++) sum = pull(sum, mine, tile[j]);
        __syncthreads();
    }
    if (i < n) {
        to[3 * i] = sum.x;
        to[3 * i + 1] = sum.y;
        to[3 * i + 2] = sum.z;
    }
}
