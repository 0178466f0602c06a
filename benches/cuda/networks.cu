// Networks: a normalization with a residual, the cell of a recurrent network, and an activation.

#include <cuda_bf16.h>

constexpr unsigned FULL = 0xffffffff;
constexpr int HIDDEN = 4096;
constexpr int WARPS = 512 / 32;
constexpr float EPSILON = 1e-6f;

extern "C" __global__ __launch_bounds__(512)
void rms_norm(const float* __restrict__ from, const float* __restrict__ residual,
              const float* __restrict__ weights, float* __restrict__ sums,
              float* __restrict__ to) {
    __shared__ float shared[WARPS];
    int row = blockIdx.x * HIDDEN;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < HIDDEN; i += 512) {
        float sum = from[row + i] + residual[row + i];
        sums[row + i] = sum;
        squares += sum * sum;
    }
    for (int distance = 16; distance > 0; distance /= 2)
        squares += __shfl_xor_sync(FULL, squares, distance);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.0f;
    for (int i = 0; i < WARPS; i++) squares += shared[i];
    float scale = rsqrtf(squares / HIDDEN + EPSILON);
    for (int i = threadIdx.x; i < HIDDEN; i += 512)
        to[row + i] = sums[row + i] * scale * weights[i];
}

constexpr int GATES = 4;

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

extern "C" __global__ __launch_bounds__(256)
void lstm_cell(const float* __restrict__ from_input, const float* __restrict__ from_hidden,
               const float* __restrict__ biases, const float* __restrict__ old,
               float* __restrict__ cells, float* __restrict__ hidden, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y;
    if (x >= width) return;
    int start = row * GATES * width;
    float gates[GATES];
#pragma unroll
    for (int gate = 0; gate < GATES; gate++) {
        int column = gate * width + x;
        gates[gate] = from_input[start + column] + from_hidden[start + column] + biases[column];
    }
    int i = row * width + x;
    float cell = sigmoid(gates[1]) * old[i] + sigmoid(gates[0]) * tanhf(gates[2]);
    cells[i] = cell;
    hidden[i] = sigmoid(gates[3]) * tanhf(cell);
}

__device__ __forceinline__ float gelu(float x) {
    float inner = 0.7978846f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(inner));
}

extern "C" __global__ __launch_bounds__(256)
void gelu_residual(const __nv_bfloat162* __restrict__ from,
                   const __nv_bfloat162* __restrict__ biases,
                   const __nv_bfloat162* __restrict__ residual, __nv_bfloat162* __restrict__ to,
                   int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= width) return;
    int i = blockIdx.y * width + x;
    float2 pair = __bfloat1622float2(from[i]);
    float2 bias = __bfloat1622float2(biases[x]);
    float2 rest = __bfloat1622float2(residual[i]);
    to[i] = __floats2bfloat162_rn(gelu(pair.x + bias.x) + rest.x, gelu(pair.y + bias.y) + rest.y);
}
