// Vision: histograms of oriented gradients, and optical flow.

constexpr int CELL = 8;
constexpr int BINS = 9;
constexpr float PI = 3.14159265f;

__device__ __forceinline__ float at(const unsigned char* __restrict__ image, int x, int y,
                                    int width, int height) {
    return x >= 0 && x < width && y >= 0 && y < height ? image[y * width + x] : 0.0f;
}

__device__ __forceinline__ int bin(float x, float y) {
    float angle = atan2f(y, x);
    float half_turn = angle < 0.0f ? angle + PI : angle;
    return (int)(half_turn * (BINS / PI)) % BINS;
}

extern "C" __global__ __launch_bounds__(128)
void hog_cells(const unsigned char* __restrict__ image, float* __restrict__ cells, int columns,
               int rows) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    int width = columns * CELL, height = rows * CELL;
    float bins[BINS] = {};
    for (int y = row * CELL; y < (row + 1) * CELL; y++) {
        for (int x = column * CELL; x < (column + 1) * CELL; x++) {
            float dx = at(image, x + 1, y, width, height) - at(image, x - 1, y, width, height);
            float dy = at(image, x, y + 1, width, height) - at(image, x, y - 1, width, height);
            bins[bin(dx, dy)] += sqrtf(dx * dx + dy * dy);
        }
    }
    float* cell = cells + (row * columns + column) * BINS;
    for (int i = 0; i < BINS; i++) cell[i] = bins[i];
}

constexpr int RADIUS = 2;
constexpr int MARGIN = RADIUS + 1;

struct Structure {
    float xx = 0.0f, xy = 0.0f, yy = 0.0f, xt = 0.0f, yt = 0.0f;

    __device__ void add(float x, float y, float t) {
        xx += x * x;
        xy += x * y;
        yy += y * y;
        xt += x * t;
        yt += y * t;
    }

    __device__ float2 motion() const {
        float determinant = xx * yy - xy * xy;
        if (determinant < 1e-3f) return make_float2(0.0f, 0.0f);
        float scale = 1.0f / determinant;
        return make_float2((xy * yt - yy * xt) * scale, (xy * xt - xx * yt) * scale);
    }
};

extern "C" __global__ __launch_bounds__(256)
void optical_flow(const float* __restrict__ before, const float* __restrict__ after,
                  float2* __restrict__ flow, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float2 motion = make_float2(0.0f, 0.0f);
    if (x >= MARGIN && y >= MARGIN && x + MARGIN < width && y + MARGIN < height) {
        Structure structure;
        for (int row = y - RADIUS; row <= y + RADIUS; row++) {
            for (int column = x - RADIUS; column <= x + RADIUS; column++) {
                int i = row * width + column;
                structure.add(0.5f * (before[i + 1] - before[i - 1]),
                              0.5f * (before[i + width] - before[i - width]),
                              after[i] - before[i]);
            }
        }
        motion = structure.motion();
    }
    flow[y * width + x] = motion;
}
