// Layers of neural networks: convolutions, normalization, positions, and the choice of a token.

#include <cuda_fp16.h>

constexpr unsigned FULL = 0xffffffff;
constexpr int FILTER = 3;
constexpr int AREA = FILTER * FILTER;

extern "C" __global__ __launch_bounds__(256)
void depthwise3x3(const float* __restrict__ from, const float* __restrict__ filters,
                  const float* __restrict__ biases, float* __restrict__ to, int width, int height,
                  int channels) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int plane = blockIdx.z;
    if (x >= width || y >= height) return;
    int channel = plane % channels;
    const float* pixels = from + plane * width * height;
    const float* filter = filters + channel * AREA;
    float sum = biases[channel];
#pragma unroll
    for (int dy = 0; dy < FILTER; dy++) {
#pragma unroll
        for (int dx = 0; dx < FILTER; dx++) {
            int column = x + dx - 1, row = y + dy - 1;
            if (column >= 0 && column < width && row >= 0 && row < height)
                sum += pixels[row * width + column] * filter[dy * FILTER + dx];
        }
    }
    to[(plane * height + y) * width + x] = sum;
}

extern "C" __global__ __launch_bounds__(256)
void im2col(const float* __restrict__ from, int channels, int width, int height, int to_width,
            int to_height, int stride, int padding, float* __restrict__ to) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    int image = blockIdx.z;
    int pixels = to_width * to_height;
    if (pixel >= pixels) return;
    int channel = row / AREA, element = row % AREA;
    int dx = element % FILTER, dy = element / FILTER;
    int to_x = pixel % to_width, to_y = pixel / to_width;
    const float* plane = from + (image * channels + channel) * width * height;
    int x = to_x * stride + dx - padding;
    int y = to_y * stride + dy - padding;
    bool inside = x >= 0 && x < width && y >= 0 && y < height;
    to[(image * channels * AREA + row) * pixels + pixel] = inside ? plane[y * width + x] : 0.0f;
}

constexpr int GROUPS = 32;
constexpr int MEMBERS = 10;
constexpr int PIXELS = 64 * 64;
constexpr int GROUP = MEMBERS * PIXELS;
constexpr int NORMALIZERS = 512;
constexpr float EPSILON = 1e-5f;

extern "C" __global__ __launch_bounds__(NORMALIZERS)
void group_norm(const float* __restrict__ from, const float* __restrict__ gamma,
                const float* __restrict__ beta, float* __restrict__ to) {
    __shared__ float2 shared[NORMALIZERS / 32];
    from += size_t(blockIdx.x) * GROUP;
    to += size_t(blockIdx.x) * GROUP;
    int first = blockIdx.x % GROUPS * MEMBERS;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < GROUP; i += NORMALIZERS) {
        float number = from[i];
        sum += number;
        squares += number * number;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(FULL, sum, distance);
        squares += __shfl_xor_sync(FULL, squares, distance);
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = shared[0].x;
    squares = shared[0].y;
    for (int i = 1; i < NORMALIZERS / 32; i++) {
        sum += shared[i].x;
        squares += shared[i].y;
    }
    float mean = sum / GROUP;
    float variance = squares / GROUP - mean * mean;
    float scale = rsqrtf(variance + EPSILON);
    for (int i = threadIdx.x; i < GROUP; i += NORMALIZERS) {
        int channel = first + i / PIXELS;
        to[i] = (from[i] - mean) * scale * gamma[channel] + beta[channel];
    }
}

constexpr int PAIRS = 64;

extern "C" __global__ __launch_bounds__(256)
void rope(const __half2* __restrict__ from, const int* __restrict__ positions, float base,
          __half2* __restrict__ to, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int token = blockIdx.y;
    if (x >= width) return;
    float angle = positions[token] * powf(base, x % PAIRS);
    float sin, cos;
    sincosf(angle, &sin, &cos);
    float2 pair = __half22float2(from[token * width + x]);
    to[token * width + x] =
        __floats2half2_rn(pair.x * cos - pair.y * sin, pair.x * sin + pair.y * cos);
}

constexpr int CHOOSERS = 256;
constexpr int BISECTIONS = 16;

template <typename T, typename Combine>
__device__ __forceinline__ T all_of_block(T value, T* shared, Combine combine) {
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(FULL, value, distance));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < CHOOSERS / 32; i++) value = combine(value, shared[i]);
    __syncthreads();
    return value;
}

__device__ __forceinline__ float inclusive_scan(float value, float* shared, float& total) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        float other = __shfl_up_sync(FULL, value, distance);
        if (lane >= distance) value += other;
    }
    if (lane == 31) shared[warp] = value;
    __syncthreads();
    float before = 0.0f;
    total = 0.0f;
    for (int i = 0; i < CHOOSERS / 32; i++) {
        if (i == warp) before = total;
        total += shared[i];
    }
    __syncthreads();
    return before + value;
}

extern "C" __global__ __launch_bounds__(CHOOSERS)
void top_p(const float* __restrict__ logits, int vocabulary, const float* __restrict__ draws, float p,
           int* __restrict__ tokens) {
    __shared__ float shared[CHOOSERS / 32];
    __shared__ int candidates[CHOOSERS / 32];
    auto add = [](float a, float b) { return a + b; };
    logits += blockIdx.x * vocabulary;
    float largest = __int_as_float(0xff800000);
    for (int i = threadIdx.x; i < vocabulary; i += CHOOSERS) largest = fmaxf(largest, logits[i]);
    largest = all_of_block(largest, shared, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0.0f;
    for (int i = threadIdx.x; i < vocabulary; i += CHOOSERS) sum += expf(logits[i] - largest);
    sum = all_of_block(sum, shared, add);

    float low = 0.0f, high = 1.0f, mass = sum;
    for (int step = 0; step < BISECTIONS; step++) {
        float middle = 0.5f * (low + high);
        float kept = 0.0f;
        for (int i = threadIdx.x; i < vocabulary; i += CHOOSERS) {
            float weight = expf(logits[i] - largest);
            if (weight >= middle) kept += weight;
        }
        kept = all_of_block(kept, shared, add);
        if (kept >= p * sum) {
            low = middle;
            mass = kept;
        } else {
            high = middle;
        }
    }

    float target = draws[blockIdx.x] * mass;
    float before = 0.0f;
    int token = vocabulary - 1;
    for (int start = 0; start < vocabulary && before <= target; start += CHOOSERS) {
        int i = start + threadIdx.x;
        float weight = i < vocabulary ? expf(logits[i] - largest) : 0.0f;
        if (weight < low) weight = 0.0f;
        float total;
        float up_to = inclusive_scan(weight, shared, total);
        if (weight > 0.0f && before + up_to > target) token = min(token, i);
        before += total;
    }
    token = all_of_block(token, candidates, [](int a, int b) { return min(a, b); });
    if (threadIdx.x == 0) tokens[blockIdx.x] = token;
}
