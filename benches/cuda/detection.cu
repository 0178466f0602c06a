// Detection: pooled maxima, overlapping boxes, and the motion of blocks.

extern "C" __global__ __launch_bounds__(256)
void max_pool(const float* __restrict__ from, int width, int height, float* __restrict__ values,
              int* __restrict__ indices, int pooled_width, int pooled_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int plane = blockIdx.z;
    if (x >= pooled_width || y >= pooled_height) return;
    from += plane * height * width;
    int first_row = max(2 * y - 1, 0), last_row = min(2 * y + 2, height);
    int first_column = max(2 * x - 1, 0), last_column = min(2 * x + 2, width);
    float most = -INFINITY;
    int at = 0;
    for (int row = first_row; row < last_row; row++) {
        for (int column = first_column; column < last_column; column++) {
            float value = from[row * width + column];
            if (value > most) {
                most = value;
                at = row * width + column;
            }
        }
    }
    int to = (plane * pooled_height + y) * pooled_width + x;
    values[to] = most;
    indices[to] = at;
}

constexpr int GROUP = 64;

__device__ __forceinline__ float overlap(float4 a, float4 b) {
    float width = fminf(a.z, b.z) - fmaxf(a.x, b.x);
    float height = fminf(a.w, b.w) - fmaxf(a.y, b.y);
    float common = fmaxf(width, 0.0f) * fmaxf(height, 0.0f);
    float area_a = (a.z - a.x) * (a.w - a.y);
    float area_b = (b.z - b.x) * (b.w - b.y);
    return common / (area_a + area_b - common);
}

extern "C" __global__ __launch_bounds__(64)
void nms_masks(const float4* __restrict__ boxes, float threshold,
               unsigned long long* __restrict__ masks, int n) {
    __shared__ float4 others[GROUP];
    int start = blockIdx.y * GROUP;
    int count = min(n - start, GROUP);
    if (threadIdx.x < count) others[threadIdx.x] = boxes[start + threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * GROUP + threadIdx.x;
    if (i >= n) return;
    float4 own = boxes[i];
    unsigned long long mask = 0;
    for (int j = 0; j < count; j++) {
        if (start + j > i && overlap(own, others[j]) > threshold) mask |= 1ull << j;
    }
    masks[blockIdx.y * n + i] = mask;
}

constexpr int BLOCK = 8;
constexpr int RANGE = 4;

extern "C" __global__ __launch_bounds__(128)
void block_match(const unsigned char* __restrict__ before, const unsigned char* __restrict__ after,
                 short2* __restrict__ motions, int columns, int rows) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int width = columns * BLOCK;
    int padded = width + 2 * RANGE;
    const unsigned char* block = after + y * BLOCK * width + x * BLOCK;
    const unsigned char* area = before + y * BLOCK * padded + x * BLOCK;
    unsigned least = 0xffffffff;
    short2 motion = make_short2(0, 0);
    for (int dy = 0; dy <= 2 * RANGE; dy++) {
        for (int dx = 0; dx <= 2 * RANGE; dx++) {
            unsigned sum = 0;
            for (int row = 0; row < BLOCK; row++) {
                for (int column = 0; column < BLOCK; column++) {
                    int difference = block[row * width + column] -
                                     area[(row + dy) * padded + column + dx];
                    sum += difference * difference;
                }
            }
            if (sum < least) {
                least = sum;
                motion = make_short2(RANGE - dx, RANGE - dy);
            }
        }
    }
    motions[y * columns + x] = motion;
}
