// Rows: prefix sums, the order of numbers, the largest number, attention among the nodes of a
// graph, and numbers of variable length.

constexpr unsigned FULL = 0xffffffff;
constexpr int WIDTH = 2048;

extern "C" __global__ __launch_bounds__(256)
void integral_rows(const unsigned char* __restrict__ image, unsigned* __restrict__ to, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    image += row * WIDTH;
    to += row * WIDTH;
    unsigned before = 0;
    for (int i = lane; i < WIDTH; i += 32) {
        unsigned sum = image[i];
        for (int distance = 1; distance < 32; distance *= 2) {
            unsigned other = __shfl_up_sync(FULL, sum, distance);
            if (lane >= distance) sum += other;
        }
        sum += before;
        before = __shfl_sync(FULL, sum, 31);
        to[i] = sum;
    }
}

struct Indexed {
    float number;
    unsigned index;
};

__device__ __forceinline__ bool is_before(Indexed a, Indexed b) {
    return a.number < b.number || (a.number == b.number && a.index < b.index);
}

__device__ __forceinline__ Indexed shuffle_xor(Indexed value, int bits) {
    return {__shfl_xor_sync(FULL, value.number, bits), __shfl_xor_sync(FULL, value.index, bits)};
}

extern "C" __global__ __launch_bounds__(256)
void argsort_rows(const float* __restrict__ numbers, unsigned* __restrict__ order, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned index = threadIdx.x % 32;
    Indexed own = {i < n ? numbers[i] : INFINITY, index};
    for (unsigned size = 2; size <= 32; size *= 2) {
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            Indexed other = shuffle_xor(own, distance);
            bool ascends = (index & size) == 0;
            bool is_lower = (index & distance) == 0;
            if (is_before(other, own) == (ascends == is_lower)) own = other;
        }
    }
    if (i < n) order[i] = own.index;
}

__device__ __forceinline__ Indexed larger(Indexed a, Indexed b) {
    return b.number > a.number || (b.number == a.number && b.index < a.index) ? b : a;
}

extern "C" __global__ __launch_bounds__(256)
void argmax_rows(const float* __restrict__ scores, int width, unsigned* __restrict__ to) {
    __shared__ Indexed shared[8];
    const float* row = scores + (size_t)blockIdx.x * width;
    Indexed best = {-INFINITY, 0};
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        best = larger(best, {row[i], (unsigned)i});
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        best = larger(best, shuffle_xor(best, distance));
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; warp++) best = larger(best, shared[warp]);
        to[blockIdx.x] = best.index;
    }
}

__device__ __forceinline__ float leaky_relu(float x) {
    return x > 0.0f ? x : 0.2f * x;
}

extern "C" __global__ __launch_bounds__(256)
void graph_attention(const unsigned* __restrict__ offsets, const unsigned* __restrict__ neighbors,
                     const float* __restrict__ own_scores, const float* __restrict__ scores,
                     const float4* __restrict__ features, float4* __restrict__ to, int n) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= n) return;
    float own = own_scores[node];
    int start = offsets[node], end = offsets[node + 1];
    float most = -INFINITY;
    for (int edge = start; edge < end; edge++) {
        most = fmaxf(most, leaky_relu(own + scores[neighbors[edge]]));
    }
    float total = 0.0f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int edge = start; edge < end; edge++) {
        int neighbor = neighbors[edge];
        float weight = expf(leaky_relu(own + scores[neighbor]) - most);
        float4 feature = features[neighbor];
        total += weight;
        sum.x += feature.x * weight;
        sum.y += feature.y * weight;
        sum.z += feature.z * weight;
        sum.w += feature.w * weight;
    }
    float scale = 1.0f / total;
    to[node] = make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale);
}

extern "C" __global__ __launch_bounds__(128)
void varint_rows(const unsigned* __restrict__ offsets, const unsigned char* __restrict__ bytes,
                 unsigned long long* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = offsets[i], end = offsets[i + 1];
    unsigned long long sum = 0;
    while (at < end) {
        unsigned number = 0;
        int shift = 0;
        unsigned char byte;
        do {
            byte = bytes[at++];
            number |= (byte & 0x7fu) << shift;
            shift += 7;
        } while (byte >= 0x80);
        sum += number;
    }
    to[i] = sum;
}
