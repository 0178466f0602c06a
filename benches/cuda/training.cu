// Training of networks: an optimizer's step, the loss of classifiers, and quantized rows.

constexpr float BETA1 = 0.9f;
constexpr float BETA2 = 0.999f;
constexpr float EPSILON = 1e-8f;
constexpr float DECAY = 0.01f;

extern "C" __global__ __launch_bounds__(256)
void adam_step(const float* __restrict__ gradients, float rate, float correction1,
               float correction2, float* __restrict__ means, float* __restrict__ squares,
               float* __restrict__ weights, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gradient = gradients[i];
    float mean = BETA1 * means[i] + (1.0f - BETA1) * gradient;
    float square = BETA2 * squares[i] + (1.0f - BETA2) * gradient * gradient;
    means[i] = mean;
    squares[i] = square;
    float step = rate * (mean / correction1) / (sqrtf(square / correction2) + EPSILON);
    weights[i] -= rate * DECAY * weights[i] + step;
}

struct LogSum {
    float largest, sum;

    __device__ __forceinline__ void push(float logit) {
        if (logit > largest) {
            sum *= expf(largest - logit);
            largest = logit;
        }
        sum += expf(logit - largest);
    }

    __device__ __forceinline__ LogSum merge(LogSum other) const {
        float most = fmaxf(largest, other.largest);
        return {most, sum * expf(largest - most) + other.sum * expf(other.largest - most)};
    }

    __device__ __forceinline__ float value() const { return largest + logf(sum); }
};

extern "C" __global__ __launch_bounds__(256)
void cross_entropy(const float* __restrict__ logits, int classes, const int* __restrict__ labels,
                   float* __restrict__ losses) {
    __shared__ LogSum shared[8];
    int row = blockIdx.x;
    int label = labels[row];
    if (label < 0) {
        if (threadIdx.x == 0) losses[row] = 0.0f;
        return;
    }
    logits += row * classes;
    LogSum sum = {-3.402823466e+38f, 0.0f};
    for (int i = threadIdx.x; i < classes; i += blockDim.x) sum.push(logits[i]);
    for (int distance = 16; distance > 0; distance /= 2) {
        LogSum other = {__shfl_down_sync(0xffffffff, sum.largest, distance),
                        __shfl_down_sync(0xffffffff, sum.sum, distance)};
        sum = sum.merge(other);
    }
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; warp++) sum = sum.merge(shared[warp]);
        losses[row] = sum.value() - logits[label];
    }
}

__device__ __forceinline__ signed char to_byte(float x) { return __float2int_rn(x); }

extern "C" __global__ __launch_bounds__(256)
void quantize_rows(const float4* __restrict__ from, float* __restrict__ scales,
                   char4* __restrict__ to, int vectors) {
    __shared__ float shared[8];
    from += blockIdx.x * vectors;
    to += blockIdx.x * vectors;
    float largest = 0.0f;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        float4 vector = from[i];
        largest = fmaxf(fmaxf(largest, fabsf(vector.x)), fabsf(vector.y));
        largest = fmaxf(fmaxf(largest, fabsf(vector.z)), fabsf(vector.w));
    }
    for (int distance = 16; distance > 0; distance /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, distance));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = largest;
    __syncthreads();
    for (int warp = 0; warp < 8; warp++) largest = fmaxf(largest, shared[warp]);
    float factor = largest > 0.0f ? 127.0f / largest : 0.0f;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        float4 vector = from[i];
        to[i] = make_char4(to_byte(vector.x * factor), to_byte(vector.y * factor),
                           to_byte(vector.z * factor), to_byte(vector.w * factor));
    }
    if (threadIdx.x == 0) scales[blockIdx.x] = largest / 127.0f;
}
