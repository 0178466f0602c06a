// Work of whole blocks: histogram, reduction, scan, softmax, sorting.

constexpr int BINS = 256;
constexpr int THREADS = 256;
constexpr int SORTED = 1024;
constexpr int WIDTH = 4096;
constexpr unsigned FULL = 0xffffffff;

extern "C" __global__ __launch_bounds__(THREADS)
void histogram(const unsigned* __restrict__ from, unsigned* __restrict__ to, int n) {
    __shared__ unsigned counts[BINS];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned word = from[i];
        atomicAdd(&counts[word & 255], 1);
        atomicAdd(&counts[word >> 8 & 255], 1);
        atomicAdd(&counts[word >> 16 & 255], 1);
        atomicAdd(&counts[word >> 24], 1);
    }
    __syncthreads();
    atomicAdd(&to[threadIdx.x], counts[threadIdx.x]);
}

extern "C" __global__ __launch_bounds__(THREADS)
void reduce(const float* __restrict__ from, float* __restrict__ to, int n) {
    __shared__ float shared[THREADS / 32];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += from[i];
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(FULL, sum, distance);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < THREADS / 32 ? shared[threadIdx.x] : 0.0f;
        for (int distance = THREADS / 64; distance > 0; distance /= 2)
            sum += __shfl_down_sync(FULL, sum, distance);
    }
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

extern "C" __global__ __launch_bounds__(THREADS)
void block_scan(const unsigned* __restrict__ from, unsigned* __restrict__ to, int n) {
    __shared__ unsigned shared[THREADS / 32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned mine = i < n ? from[i] : 0;
    unsigned up_to = mine;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned other = __shfl_up_sync(FULL, up_to, distance);
        if (lane >= distance) up_to += other;
    }
    if (lane == 31) shared[warp] = up_to;
    __syncthreads();
    if (warp == 0) {
        unsigned sum = lane < THREADS / 32 ? shared[lane] : 0;
        for (int distance = 1; distance < THREADS / 32; distance *= 2) {
            unsigned other = __shfl_up_sync(FULL, sum, distance);
            if (lane >= distance) sum += other;
        }
        if (lane < THREADS / 32) shared[lane] = sum;
    }
    __syncthreads();
    unsigned before = warp == 0 ? 0 : shared[warp - 1];
    if (i < n) to[i] = before + up_to - mine;
}

template <typename Combine>
__device__ __forceinline__ float all_of_block(float value, float* shared, Combine combine) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(FULL, value, distance));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < THREADS / 32; i++) value = combine(value, shared[i]);
    __syncthreads();
    return value;
}

extern "C" __global__ __launch_bounds__(THREADS)
void softmax(const float* __restrict__ from, float* __restrict__ to) {
    __shared__ float shared[THREADS / 32];
    from += size_t(blockIdx.x) * WIDTH;
    to += size_t(blockIdx.x) * WIDTH;
    float largest = -__int_as_float(0x7f800000);
    for (int i = threadIdx.x; i < WIDTH; i += THREADS) largest = fmaxf(largest, from[i]);
    largest = all_of_block(largest, shared, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0.0f;
    for (int i = threadIdx.x; i < WIDTH; i += THREADS) sum += expf(from[i] - largest);
    float scale = 1.0f / all_of_block(sum, shared, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < WIDTH; i += THREADS) to[i] = expf(from[i] - largest) * scale;
}

constexpr int NORM = 1024;
constexpr float EPSILON = 1e-5f;

extern "C" __global__ __launch_bounds__(THREADS)
void layer_norm(const float* __restrict__ from, const float* __restrict__ gamma,
                const float* __restrict__ beta, float* __restrict__ to) {
    __shared__ float shared[THREADS / 32];
    auto add = [](float a, float b) { return a + b; };
    from += size_t(blockIdx.x) * NORM;
    to += size_t(blockIdx.x) * NORM;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < NORM; i += THREADS) sum += from[i];
    float mean = all_of_block(sum, shared, add) / NORM;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < NORM; i += THREADS)
        squares += (from[i] - mean) * (from[i] - mean);
    float variance = all_of_block(squares, shared, add) / NORM;
    float scale = rsqrtf(variance + EPSILON);
    for (int i = threadIdx.x; i < NORM; i += THREADS)
        to[i] = (from[i] - mean) * scale * gamma[i] + beta[i];
}

extern "C" __global__ __launch_bounds__(SORTED / 2)
void bitonic(const unsigned* __restrict__ from, unsigned* __restrict__ to) {
    __shared__ unsigned keys[SORTED];
    int start = blockIdx.x * SORTED;
    keys[threadIdx.x] = from[start + threadIdx.x];
    keys[threadIdx.x + SORTED / 2] = from[start + threadIdx.x + SORTED / 2];
    __syncthreads();
    for (int size = 2; size <= SORTED; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            unsigned a = keys[low], b = keys[low + stride];
            if ((a > b) == ((low & size) == 0)) {
                keys[low] = b;
                keys[low + stride] = a;
            }
            __syncthreads();
        }
    }
    to[start + threadIdx.x] = keys[threadIdx.x];
    to[start + threadIdx.x + SORTED / 2] = keys[threadIdx.x + SORTED / 2];
}
