// Sequences: differences, sums of segments, a filter that reduces the sample rate, a pass of a radix
// sort, maxima of windows, and counts of short sequences of DNA.

constexpr unsigned FULL = 0xffffffff;
constexpr int VALUES = 4;
constexpr int PAGE = 256 * VALUES;

__device__ __forceinline__ unsigned from_zigzag(unsigned short code) {
    return (unsigned)(code >> 1) ^ -(unsigned)(code & 1);
}

extern "C" __global__ __launch_bounds__(256)
void delta_decode(const unsigned* __restrict__ firsts, const unsigned short* __restrict__ codes,
                  unsigned* __restrict__ to) {
    __shared__ unsigned sums[8];
    int thread = threadIdx.x, lane = thread % 32;
    int start = blockIdx.x * PAGE + thread * VALUES;
    unsigned differences[VALUES];
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < VALUES; k++) {
        differences[k] = from_zigzag(codes[start + k]);
        sum += differences[k];
    }
    unsigned up_to = sum;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned other = __shfl_up_sync(FULL, up_to, distance);
        if (lane >= distance) up_to += other;
    }
    if (lane == 31) sums[thread / 32] = up_to;
    __syncthreads();
    unsigned value = firsts[blockIdx.x] + up_to - sum;
    for (int warp = 0; warp < thread / 32; warp++) value += sums[warp];
#pragma unroll
    for (int k = 0; k < VALUES; k++) {
        value += differences[k];
        to[start + k] = value;
    }
}

extern "C" __global__ __launch_bounds__(256)
void segmented_sum(const unsigned* __restrict__ keys, const float* __restrict__ values,
                   float* __restrict__ sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    unsigned key = i < n ? keys[i] : FULL;
    float sum = i < n ? values[i] : 0.0f;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned other_key = __shfl_up_sync(FULL, key, distance);
        float other = __shfl_up_sync(FULL, sum, distance);
        if (lane >= distance && other_key == key) sum += other;
    }
    unsigned next = __shfl_down_sync(FULL, key, 1);
    if (key != FULL && (lane == 31 || next != key)) atomicAdd(&sums[key], sum);
}

constexpr int FACTOR = 4;

extern "C" __global__ __launch_bounds__(256)
void fir_decimate(const float* __restrict__ from, const float* __restrict__ taps, int count,
                  float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < count; k++) sum += from[i * FACTOR + k] * taps[k];
    to[i] = sum;
}

constexpr int DIGIT_BITS = 2;

__device__ __forceinline__ int digit(unsigned key, int shift) {
    return (key >> shift) & ((1 << DIGIT_BITS) - 1);
}

extern "C" __global__ __launch_bounds__(256)
void radix_scatter(const unsigned* __restrict__ keys, const unsigned* __restrict__ starts,
                   int shift, unsigned* __restrict__ to, int n) {
    __shared__ unsigned long long sums[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    unsigned key = 0;
    unsigned long long count = 0;
    if (i < n) {
        key = keys[i];
        count = 1ull << (16 * digit(key, shift));
    }
    unsigned long long up_to = count;
    for (int distance = 1; distance < 32; distance *= 2) {
        unsigned long long other = __shfl_up_sync(FULL, up_to, distance);
        if (lane >= distance) up_to += other;
    }
    if (lane == 31) sums[threadIdx.x / 32] = up_to;
    __syncthreads();
    if (i >= n) return;
    unsigned long long before = up_to - count;
    for (int warp = 0; warp < threadIdx.x / 32; warp++) before += sums[warp];
    int own = digit(key, shift);
    int rank = (unsigned short)(before >> (16 * own));
    to[starts[own * gridDim.x + blockIdx.x] + rank] = key;
}

constexpr int WINDOW = 32;

extern "C" __global__ __launch_bounds__(256)
void sliding_max(const float* __restrict__ from, int len, float* __restrict__ to, int n) {
    __shared__ float tile[256 + WINDOW - 1];
    int start = blockIdx.x * 256;
    for (int k = threadIdx.x; k < 256 + WINDOW - 1; k += 256)
        tile[k] = start + k < len ? from[start + k] : -INFINITY;
    __syncthreads();
    if (start + threadIdx.x >= n) return;
    float most = -INFINITY;
#pragma unroll
    for (int k = 0; k < WINDOW; k++) most = fmaxf(most, tile[threadIdx.x + k]);
    to[start + threadIdx.x] = most;
}

constexpr int BASES = 9;

extern "C" __global__ __launch_bounds__(256)
void kmer_count(const unsigned* __restrict__ words, unsigned* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 >= n) return;
    unsigned long long bits = words[i] | (unsigned long long)words[i + 1] << 32;
    unsigned forward = 0, reverse = 0;
#pragma unroll
    for (int k = 0; k < 16 + BASES - 1; k++) {
        unsigned base = bits >> (2 * k) & 3;
        forward = (forward << 2 | base) & ((1 << (2 * BASES)) - 1);
        reverse = reverse >> 2 | (3 - base) << (2 * (BASES - 1));
        if (k >= BASES - 1) atomicAdd(&counts[min(forward, reverse)], 1u);
    }
}
