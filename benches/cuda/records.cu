// Records, one per thread or warp: random numbers, numbers in text, relaxed edges of graphs, and
// rows of sparse matrices times dense ones.

__device__ __forceinline__ float to_uniform(unsigned bits) {
    constexpr float UNIT = 2.3283064e-10f;
    return bits * UNIT + UNIT / 2.0f;
}

extern "C" __global__ __launch_bounds__(256)
void philox(unsigned long long seed, float4* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 counter = make_uint4(i, 0, 0, 0);
    uint2 key = make_uint2(seed, seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(counter.x, 0xd2511f53), low0 = counter.x * 0xd2511f53;
        unsigned high1 = __umulhi(counter.z, 0xcd9e8d57), low1 = counter.z * 0xcd9e8d57;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9e3779b9;
        key.y += 0xbb67ae85;
    }
    to[i] = make_float4(to_uniform(counter.x), to_uniform(counter.y), to_uniform(counter.z),
                        to_uniform(counter.w));
}

extern "C" __global__ __launch_bounds__(128)
void parse_rows(const unsigned char* __restrict__ text, const unsigned* __restrict__ offsets,
                int* __restrict__ to, int fields, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const unsigned char* at = text + offsets[row];
    const unsigned char* end = text + offsets[row + 1];
    for (int field = 0; field < fields; field++) {
        int value = 0;
        bool negative = false;
        while (at < end) {
            unsigned char byte = *at++;
            if (byte == ',' || byte == '\n') break;
            if (byte == '-')
                negative = true;
            else
                value = value * 10 + byte - '0';
        }
        to[field * rows + row] = negative ? -value : value;
    }
}

constexpr unsigned FAR = 0xffffffff;

extern "C" __global__ __launch_bounds__(256)
void relax_edges(const unsigned* __restrict__ sources, const unsigned* __restrict__ targets,
                 const unsigned* __restrict__ weights, const unsigned* __restrict__ distances,
                 unsigned* next, unsigned* changed, int n) {
    int edge = blockIdx.x * blockDim.x + threadIdx.x;
    if (edge >= n) return;
    unsigned distance = distances[sources[edge]];
    if (distance != FAR) {
        unsigned target = targets[edge];
        unsigned sum = distance + weights[edge];
        if (sum < distances[target] && sum < next[target]) {
            atomicMin(&next[target], sum);
            *changed = 1;
        }
    }
}

constexpr unsigned FULL = 0xffffffff;
constexpr int VECTORS = 32;

extern "C" __global__ __launch_bounds__(256)
void spmm(const unsigned* __restrict__ rows, const unsigned* __restrict__ columns,
          const float* __restrict__ values, const float4* __restrict__ b, float4* __restrict__ c,
          int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= n) return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    int end = rows[row + 1];
    for (int start = rows[row]; start < end; start += 32) {
        int count = min(end - start, 32);
        unsigned own_column = 0;
        float own_value = 0.0f;
        if (lane < count) {
            own_column = columns[start + lane];
            own_value = values[start + lane];
        }
        for (int k = 0; k < count; k++) {
            int column = __shfl_sync(FULL, own_column, k);
            float value = __shfl_sync(FULL, own_value, k);
            float4 x = b[column * VECTORS + lane];
            sum.x += value * x.x;
            sum.y += value * x.y;
            sum.z += value * x.z;
            sum.w += value * x.w;
        }
    }
    c[row * VECTORS + lane] = sum;
}
