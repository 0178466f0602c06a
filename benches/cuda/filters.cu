// Filters: the median of bytes, and a wavelet transform.

__device__ __forceinline__ void sort(int& a, int& b) {
    int smaller = min(a, b);
    b = max(a, b);
    a = smaller;
}

extern "C" __global__ __launch_bounds__(256)
void median3x3(const unsigned char* __restrict__ from, unsigned char* __restrict__ to, int width,
               int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int p[9];
#pragma unroll
    for (int dy = -1; dy <= 1; dy++) {
        int row = min(max(y + dy, 0), height - 1);
#pragma unroll
        for (int dx = -1; dx <= 1; dx++) {
            int column = min(max(x + dx, 0), width - 1);
            p[(dy + 1) * 3 + dx + 1] = from[row * width + column];
        }
    }
    sort(p[1], p[2]); sort(p[4], p[5]); sort(p[7], p[8]);
    sort(p[0], p[1]); sort(p[3], p[4]); sort(p[6], p[7]);
    sort(p[1], p[2]); sort(p[4], p[5]); sort(p[7], p[8]);
    sort(p[0], p[3]); sort(p[5], p[8]); sort(p[4], p[7]);
    sort(p[3], p[6]); sort(p[1], p[4]); sort(p[2], p[5]);
    sort(p[4], p[7]); sort(p[4], p[2]); sort(p[6], p[4]);
    sort(p[4], p[2]);
    to[y * width + x] = p[4];
}

constexpr int ROW = 1024;
constexpr int HALF = ROW / 2;

extern "C" __global__ __launch_bounds__(256)
void wavelet53(const short* __restrict__ from, short* __restrict__ to) {
    __shared__ short samples[ROW], differences[HALF];
    int start = blockIdx.x * ROW;
    for (int i = threadIdx.x; i < ROW; i += 256) samples[i] = from[start + i];
    __syncthreads();
    for (int i = threadIdx.x; i < HALF; i += 256) {
        int left = samples[2 * i];
        int right = i + 1 < HALF ? samples[2 * i + 2] : left;
        differences[i] = samples[2 * i + 1] - ((left + right) >> 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < HALF; i += 256) {
        int left = differences[max(i - 1, 0)], right = differences[i];
        to[start + i] = samples[2 * i] + ((left + right + 2) >> 2);
        to[start + HALF + i] = right;
    }
}
