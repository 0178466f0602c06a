// Inference with language models: gated activations, 8-bit weights, and the choice of experts.

#include <cuda_fp16.h>

__device__ __forceinline__ float swish(float x) { return x / (1.0f + expf(-x)); }

extern "C" __global__ __launch_bounds__(256)
void swiglu(const uint4* __restrict__ from, uint4* __restrict__ to, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= width) return;
    // Eight numbers each.
    uint4 gate = from[y * 2 * width + x], value = from[y * 2 * width + width + x], result;
    const __half2* gates = reinterpret_cast<const __half2*>(&gate);
    const __half2* values = reinterpret_cast<const __half2*>(&value);
    __half2* results = reinterpret_cast<__half2*>(&result);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 a = __half22float2(gates[i]), b = __half22float2(values[i]);
        results[i] = __floats2half2_rn(swish(a.x) * b.x, swish(a.y) * b.y);
    }
    to[y * width + x] = result;
}

extern "C" __global__ __launch_bounds__(256)
void int8_gemv(const int4* __restrict__ weights, const float* __restrict__ scales,
               const int4* __restrict__ x, float scale, float* __restrict__ y, int vectors,
               int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    int sum = 0;
    for (int i = lane; i < vectors; i += 32) {
        int4 a = weights[row * vectors + i], b = x[i];
        sum = __dp4a(a.x, b.x, sum);
        sum = __dp4a(a.y, b.y, sum);
        sum = __dp4a(a.z, b.z, sum);
        sum = __dp4a(a.w, b.w, sum);
    }
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (lane == 0) y[row] = sum * (scales[row] * scale);
}

constexpr int CHOSEN = 8;

__device__ __forceinline__ void improve(float& logit, int& expert, float other_logit,
                                        int other_expert) {
    if (other_logit > logit || (other_logit == logit && other_expert < expert)) {
        logit = other_logit;
        expert = other_expert;
    }
}

extern "C" __global__ __launch_bounds__(256)
void top_experts(const float4* __restrict__ logits, int* __restrict__ experts,
                 float* __restrict__ weights, int tokens) {
    const float NONE = __int_as_float(0xff800000);
    int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (token >= tokens) return;
    float4 vector = logits[token * 32 + lane];
    float mine[4] = {vector.x, vector.y, vector.z, vector.w};
    float chosen_logit = NONE;
    int chosen_expert = 0;
#pragma unroll
    for (int rank = 0; rank < CHOSEN; rank++) {
        float logit = mine[0];
        int expert = 4 * lane;
#pragma unroll
        for (int i = 1; i < 4; i++) improve(logit, expert, mine[i], 4 * lane + i);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            float other_logit = __shfl_xor_sync(0xffffffff, logit, distance);
            int other_expert = __shfl_xor_sync(0xffffffff, expert, distance);
            improve(logit, expert, other_logit, other_expert);
        }
        if (lane == rank) {
            chosen_logit = logit;
            chosen_expert = expert;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (4 * lane + i == expert) mine[i] = NONE;
    }
    float exponential = expf(chosen_logit - __shfl_sync(0xffffffff, chosen_logit, 0));
    float sum = exponential;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (lane < CHOSEN) {
        experts[token * CHOSEN + lane] = chosen_expert;
        weights[token * CHOSEN + lane] = exponential / sum;
    }
}
