// Audio and images: a FIR filter, cosine transforms, and bilinear interpolation.

constexpr int TAPS = 64;
constexpr int SAMPLES = 256;

extern "C" __global__ __launch_bounds__(SAMPLES)
void fir_i16(const short* __restrict__ from, const short* __restrict__ taps, short* __restrict__ to,
             int n) {
    __shared__ short samples[SAMPLES + TAPS - 1];
    int start = blockIdx.x * SAMPLES;
    for (int i = threadIdx.x; i < SAMPLES + TAPS - 1; i += SAMPLES) {
        int at = start + i - (TAPS - 1);
        samples[i] = at >= 0 && at < n ? from[at] : 0;
    }
    __syncthreads();
    int i = start + threadIdx.x;
    if (i < n) {
        int sum = 0;
#pragma unroll
        for (int k = 0; k < TAPS; k++) sum += samples[threadIdx.x + k] * taps[k];
        to[i] = min(max((sum + (1 << 14)) >> 15, -32768), 32767);
    }
}

constexpr int SIDE = 8;
constexpr float C0 = 0.3535534f, C1 = 0.49039265f, C2 = 0.46193977f, C3 = 0.4157348f;
constexpr float C5 = 0.27778512f, C6 = 0.19134171f, C7 = 0.09754516f;

__constant__ float COSINES[SIDE][SIDE] = {
    {C0, C0, C0, C0, C0, C0, C0, C0},     {C1, C3, C5, C7, -C7, -C5, -C3, -C1},
    {C2, C6, -C6, -C2, -C2, -C6, C6, C2}, {C3, -C7, -C1, -C5, C5, C1, C7, -C3},
    {C0, -C0, -C0, C0, C0, -C0, -C0, C0}, {C5, -C1, C7, C3, -C3, -C7, C1, -C5},
    {C6, -C2, C2, -C6, -C6, C2, -C2, C6}, {C7, -C5, C3, -C1, C1, -C3, C5, -C7}};

extern "C" __global__ __launch_bounds__(256)
void dct8x8(const unsigned char* __restrict__ from, const float* __restrict__ steps,
            short* __restrict__ to, int width, int height) {
    __shared__ float pixels[SIDE][32], rows[SIDE][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 32 + tx, y = blockIdx.y * SIDE + ty;
    bool inside = x < width && y < height;
    pixels[ty][tx] = (inside ? from[y * width + x] : 0) - 128.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < SIDE; k++) sum += pixels[ty][tx / SIDE * SIDE + k] * COSINES[tx % SIDE][k];
    rows[ty][tx] = sum;
    __syncthreads();
    if (inside) {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < SIDE; k++) sum += rows[k][tx] * COSINES[ty][k];
        to[y * width + x] = rintf(sum / steps[ty * SIDE + tx % SIDE]);
    }
}

__device__ __forceinline__ void between(int i, float scale, int len, int& low, int& high,
                                        float& weight) {
    float position = fmaxf((i + 0.5f) * scale - 0.5f, 0.0f);
    low = min((int)position, len - 1);
    high = min(low + 1, len - 1);
    weight = position - low;
}

__device__ __forceinline__ unsigned char mix(unsigned char a, unsigned char b, unsigned char c,
                                             unsigned char d, float fx, float fy) {
    float above = a + ((float)b - a) * fx, below = c + ((float)d - c) * fx;
    return above + (below - above) * fy + 0.5f;
}

extern "C" __global__ __launch_bounds__(256)
void resize_bilinear(const uchar4* __restrict__ from, int width, int height, float scale_x,
                     float scale_y, uchar4* __restrict__ to, int to_width, int to_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= to_width || y >= to_height) return;
    int left, right, up, down;
    float fx, fy;
    between(x, scale_x, width, left, right, fx);
    between(y, scale_y, height, up, down, fy);
    uchar4 a = from[up * width + left], b = from[up * width + right];
    uchar4 c = from[down * width + left], d = from[down * width + right];
    to[y * to_width + x] =
        make_uchar4(mix(a.x, b.x, c.x, d.x, fx, fy), mix(a.y, b.y, c.y, d.y, fx, fy),
                    mix(a.z, b.z, c.z, d.z, fx, fy), mix(a.w, b.w, c.w, d.w, fx, fy));
}
