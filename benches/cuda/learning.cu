// Machine learning: nearest neighbors, attention, and quantized weights.

#include <cuda_fp16.h>

constexpr int NEIGHBORS = 8;
constexpr int POINTS = 256;

extern "C" __global__ __launch_bounds__(POINTS)
void knn(const float3* __restrict__ points, const float3* __restrict__ queries,
         unsigned* __restrict__ to, int point_count, int n) {
    __shared__ float3 tile[POINTS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 query = i < n ? queries[i] : make_float3(0.0f, 0.0f, 0.0f);
    float distances[NEIGHBORS];
    unsigned indices[NEIGHBORS];
#pragma unroll
    for (int k = 0; k < NEIGHBORS; k++) {
        distances[k] = __int_as_float(0x7f800000);
        indices[k] = 0xffffffff;
    }
    for (int start = 0; start < point_count; start += POINTS) {
        if (start + threadIdx.x < point_count) tile[threadIdx.x] = points[start + threadIdx.x];
        __syncthreads();
        int count = min(POINTS, point_count - start);
        for (int k = 0; k < count; k++) {
            float dx = query.x - tile[k].x, dy = query.y - tile[k].y, dz = query.z - tile[k].z;
            float distance = dx * dx + dy * dy + dz * dz;
            if (distance < distances[NEIGHBORS - 1]) {
                int at = NEIGHBORS - 1;
                while (at > 0 && distances[at - 1] > distance) {
                    distances[at] = distances[at - 1];
                    indices[at] = indices[at - 1];
                    at--;
                }
                distances[at] = distance;
                indices[at] = start + k;
            }
        }
        __syncthreads();
    }
    if (i < n) {
#pragma unroll
        for (int k = 0; k < NEIGHBORS; k++) to[i * NEIGHBORS + k] = indices[k];
    }
}

constexpr int HEAD = 64;
constexpr int QUERIES = 64;
constexpr int KEYS = 32;
constexpr float SCALE = 0.125f;

extern "C" __global__ __launch_bounds__(QUERIES)
void attention(const float* __restrict__ queries, const float* __restrict__ keys,
               const float* __restrict__ values, int n, float* __restrict__ to) {
    __shared__ float tile_keys[KEYS][HEAD], tile_values[KEYS][HEAD];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int head = i / n * n * HEAD;
    float query[HEAD], average[HEAD];
#pragma unroll
    for (int k = 0; k < HEAD; k++) {
        query[k] = queries[i * HEAD + k];
        average[k] = 0.0f;
    }
    float largest = __int_as_float(0xff800000), sum = 0.0f;
    for (int start = 0; start < n; start += KEYS) {
        for (int row = 0; row < KEYS; row++) {
            tile_keys[row][threadIdx.x] = keys[head + (start + row) * HEAD + threadIdx.x];
            tile_values[row][threadIdx.x] = values[head + (start + row) * HEAD + threadIdx.x];
        }
        __syncthreads();
        for (int row = 0; row < KEYS; row++) {
            float score = 0.0f;
#pragma unroll
            for (int k = 0; k < HEAD; k++) score += query[k] * tile_keys[row][k];
            score *= SCALE;
            float old_largest = largest;
            largest = fmaxf(largest, score);
            float old = expf(old_largest - largest), now = expf(score - largest);
            sum = sum * old + now;
#pragma unroll
            for (int k = 0; k < HEAD; k++) average[k] = average[k] * old + now * tile_values[row][k];
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < HEAD; k++) to[i * HEAD + k] = average[k] / sum;
}

constexpr int GROUP = 128;
constexpr int PACKED = 8;

extern "C" __global__ __launch_bounds__(256)
void int4_gemv(const unsigned* __restrict__ weights, const __half* __restrict__ scales,
               const float* __restrict__ x, float* __restrict__ y, int columns, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    int words = columns / PACKED;
    float sum = 0.0f;
    for (int i = lane; i < words; i += 32) {
        unsigned word = weights[row * words + i];
        float products = 0.0f;
#pragma unroll
        for (int k = 0; k < PACKED; k++)
            products += ((int)(word >> (4 * k) & 15) - 8) * x[i * PACKED + k];
        sum += __half2float(scales[row * (columns / GROUP) + i * PACKED / GROUP]) * products;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (lane == 0) y[row] = sum;
}
