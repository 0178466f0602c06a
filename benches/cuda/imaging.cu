// Images: gradients, box filters, colors of videos, resampling, and connected components.

extern "C" __global__ __launch_bounds__(256)
void sobel(const unsigned char* __restrict__ from, unsigned char* __restrict__ to, int width,
           int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned char result = 0;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        const unsigned char* above = from + (y - 1) * width + x;
        const unsigned char* middle = above + width;
        const unsigned char* below = middle + width;
        int gx = above[1] + 2 * middle[1] + below[1] - (above[-1] + 2 * middle[-1] + below[-1]);
        int gy = below[-1] + 2 * below[0] + below[1] - (above[-1] + 2 * above[0] + above[1]);
        result = fminf(sqrtf(gx * gx + gy * gy), 255.0f);
    }
    to[y * width + x] = result;
}

extern "C" __global__ __launch_bounds__(128)
void box_rows(const float* __restrict__ from, int radius, float* __restrict__ to, int width,
              int height) {
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    from += y * width;
    to += y * width;
    float scale = 1.0f / (2 * radius + 1);
    float first = from[0], last = from[width - 1];
    float sum = first * radius;
    for (int x = 0; x <= radius; x++) sum += from[x];
    to[0] = sum * scale;
    for (int x = 1; x <= radius; x++) {
        sum += from[x + radius] - first;
        to[x] = sum * scale;
    }
    for (int x = radius + 1; x < width - radius; x++) {
        sum += from[x + radius] - from[x - radius - 1];
        to[x] = sum * scale;
    }
    for (int x = width - radius; x < width; x++) {
        sum += last - from[x - radius - 1];
        to[x] = sum * scale;
    }
}

__device__ __forceinline__ unsigned char to_byte(int x) { return min(max(x >> 8, 0), 255); }

extern "C" __global__ __launch_bounds__(256)
void yuv_to_rgb(const unsigned char* __restrict__ luma, const unsigned char* __restrict__ u,
                const unsigned char* __restrict__ v, uchar3* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int chroma = y / 2 * (width / 2) + x / 2;
    int c = 298 * (luma[y * width + x] - 16) + 128;
    int d = u[chroma] - 128, e = v[chroma] - 128;
    to[y * width + x] =
        make_uchar3(to_byte(c + 409 * e), to_byte(c - 100 * d - 208 * e), to_byte(c + 516 * d));
}

__device__ __forceinline__ void cubic(float t, float* weights) {
    constexpr float A = -0.75f;
    auto near = [](float x) { return ((A + 2.0f) * x - (A + 3.0f)) * x * x + 1.0f; };
    auto far = [](float x) { return ((A * x - 5.0f * A) * x + 8.0f * A) * x - 4.0f * A; };
    weights[0] = far(t + 1.0f);
    weights[1] = near(t);
    weights[2] = near(1.0f - t);
    weights[3] = far(2.0f - t);
}

extern "C" __global__ __launch_bounds__(256)
void resize_bicubic(const float* __restrict__ from, int width, int height, float scale_x,
                    float scale_y, float* __restrict__ to, int to_width, int to_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= to_width || y >= to_height) return;
    float position_x = (x + 0.5f) * scale_x - 0.5f, position_y = (y + 0.5f) * scale_y - 0.5f;
    float left = floorf(position_x), up = floorf(position_y);
    float weights_x[4], weights_y[4];
    cubic(position_x - left, weights_x);
    cubic(position_y - up, weights_y);
    float sum = 0.0f;
#pragma unroll
    for (int dy = 0; dy < 4; dy++) {
        const float* row = from + min(max((int)up + dy - 1, 0), height - 1) * width;
        float along = 0.0f;
#pragma unroll
        for (int dx = 0; dx < 4; dx++)
            along += weights_x[dx] * row[min(max((int)left + dx - 1, 0), width - 1)];
        sum += weights_y[dy] * along;
    }
    to[y * to_width + x] = sum;
}

__device__ __forceinline__ void spline(float t, float* weights) {
    float s = 1.0f - t;
    weights[0] = s * s * s / 6.0f;
    weights[1] = (3.0f * t - 6.0f) * t * t / 6.0f + 2.0f / 3.0f;
    weights[2] = (3.0f * s - 6.0f) * s * s / 6.0f + 2.0f / 3.0f;
    weights[3] = t * t * t / 6.0f;
}

__device__ __forceinline__ void around(float position, int len, int& low, int& high,
                                       float& weight) {
    position = fminf(fmaxf(position, 0.0f), len - 1);
    low = position;
    high = min(low + 1, len - 1);
    weight = position - low;
}

extern "C" __global__ __launch_bounds__(256)
void warp_spline(const float* __restrict__ from, const float2* __restrict__ control, int columns,
                 int spacing, float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float weights_x[4], weights_y[4];
    spline((float)(x % spacing) / spacing, weights_x);
    spline((float)(y % spacing) / spacing, weights_y);
    control += y / spacing * columns + x / spacing;
    float dx = 0.0f, dy = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 point = control[j * columns + i];
            dx += weights_x[i] * weights_y[j] * point.x;
            dy += weights_x[i] * weights_y[j] * point.y;
        }
    }
    int left, right, up, down;
    float fx, fy;
    around(x + dx, width, left, right, fx);
    around(y + dy, height, up, down, fy);
    float a = from[up * width + left], b = from[up * width + right];
    float c = from[down * width + left], d = from[down * width + right];
    float above = a + (b - a) * fx, below = c + (d - c) * fx;
    to[y * width + x] = above + (below - above) * fy;
}

constexpr unsigned ROOT = 0xffffffff;

__device__ __forceinline__ unsigned root(const unsigned* parents, unsigned pixel) {
    for (unsigned parent; (parent = parents[pixel]) != ROOT; pixel = parent);
    return pixel;
}

__device__ __forceinline__ void unite(unsigned* parents, unsigned a, unsigned b) {
    while (true) {
        a = root(parents, a);
        b = root(parents, b);
        if (a == b) return;
        unsigned low = min(a, b), high = max(a, b);
        unsigned old = atomicMin(&parents[high], low);
        if (old == ROOT) return;
        a = low;
        b = old;
    }
}

extern "C" __global__ __launch_bounds__(256)
void unite_pixels(const unsigned char* __restrict__ image, int width, int height,
                  unsigned* parents) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int i = y * width + x;
    if (image[i] != 0) {
        if (x > 0 && image[i - 1] != 0) unite(parents, i, i - 1);
        if (y > 0 && image[i - width] != 0) unite(parents, i, i - width);
    }
}
