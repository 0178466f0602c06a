// Worlds: the game of life, noise for terrain, and rays through voxels.

struct Cells {
    unsigned left, own, right;
    __device__ unsigned west() const { return own << 1 | left >> 31; }
    __device__ unsigned east() const { return own >> 1 | right << 31; }
};

__device__ __forceinline__ void full_add(unsigned a, unsigned b, unsigned c, unsigned& low,
                                         unsigned& high) {
    low = a ^ b ^ c;
    high = (a & b) | (c & (a ^ b));
}

__device__ __forceinline__ Cells cells(const unsigned* __restrict__ row, int left, int x,
                                       int right) {
    return {row[left], row[x], row[right]};
}

extern "C" __global__ __launch_bounds__(256)
void game_of_life(const unsigned* __restrict__ from, unsigned* __restrict__ to, int width,
                  int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int left = x == 0 ? width - 1 : x - 1;
    int right = x + 1 == width ? 0 : x + 1;
    int up = y == 0 ? height - 1 : y - 1;
    int down = y + 1 == height ? 0 : y + 1;
    Cells above = cells(from + up * width, left, x, right);
    Cells own = cells(from + y * width, left, x, right);
    Cells below = cells(from + down * width, left, x, right);
    unsigned above_low, above_high, below_low, below_high, ones, carry, twos, fours;
    full_add(above.west(), above.own, above.east(), above_low, above_high);
    full_add(below.west(), below.own, below.east(), below_low, below_high);
    unsigned west = own.west(), east = own.east();
    full_add(above_low, below_low, west ^ east, ones, carry);
    full_add(above_high, below_high, west & east, twos, fours);
    to[y * width + x] = (twos ^ carry) & ~fours & ~(twos & carry) & (ones | own.own);
}

__device__ __forceinline__ float gradient(int hash, float x, float y) {
    switch (hash & 7) {
        case 0: return x + y;
        case 1: return x - y;
        case 2: return y - x;
        case 3: return -x - y;
        case 4: return x;
        case 5: return -x;
        case 6: return y;
        default: return -y;
    }
}

__device__ __forceinline__ float fade(float t) {
    return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f);
}

__device__ __forceinline__ float mix(float a, float b, float t) { return a + (b - a) * t; }

__device__ __forceinline__ float noise(const unsigned char* __restrict__ permutation, float x,
                                       float y) {
    float column = floorf(x), row = floorf(y);
    float dx = x - column, dy = y - row;
    int i = (int)column, j = (int)row;
    int left = permutation[i & 255], right = permutation[(i + 1) & 255];
    float u = fade(dx), v = fade(dy);
    float above = mix(gradient(permutation[(left + j) & 255], dx, dy),
                      gradient(permutation[(right + j) & 255], dx - 1.0f, dy), u);
    float below = mix(gradient(permutation[(left + j + 1) & 255], dx, dy - 1.0f),
                      gradient(permutation[(right + j + 1) & 255], dx - 1.0f, dy - 1.0f), u);
    return mix(above, below, v);
}

extern "C" __global__ __launch_bounds__(256)
void perlin_noise(const unsigned char* __restrict__ permutation, float scale, int octaves,
                  float* __restrict__ to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f, frequency = 1.0f, amplitude = 1.0f;
    for (int octave = 0; octave < octaves; octave++) {
        sum += amplitude * noise(permutation, x * scale * frequency, y * scale * frequency);
        frequency *= 2.0f;
        amplitude *= 0.5f;
    }
    to[y * width + x] = sum;
}

struct Axis {
    int cell, step;
    float next, delta;
    __device__ __forceinline__ Axis(float start, float direction) {
        float low = floorf(start);
        cell = (int)low;
        step = direction < 0.0f ? -1 : 1;
        next = ((direction < 0.0f ? low : low + 1.0f) - start) / direction;
        delta = fabsf(1.0f / direction);
    }
    __device__ __forceinline__ float advance() {
        float distance = next;
        next += delta;
        cell += step;
        return distance;
    }
    __device__ __forceinline__ bool inside(int size) const { return cell >= 0 && cell < size; }
};

extern "C" __global__ __launch_bounds__(128)
void voxel_traversal(const unsigned char* __restrict__ voxels, int size, float3 eye,
                     const float3* __restrict__ directions, float* __restrict__ depths, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 direction = directions[i];
    Axis x(eye.x, direction.x), y(eye.y, direction.y), z(eye.z, direction.z);
    float distance = 0.0f;
    while (true) {
        if (!x.inside(size) || !y.inside(size) || !z.inside(size)) {
            distance = -1.0f;
            break;
        }
        if (voxels[(z.cell * size + y.cell) * size + x.cell]) break;
        if (x.next <= y.next && x.next <= z.next) distance = x.advance();
        else if (y.next <= z.next) distance = y.advance();
        else distance = z.advance();
    }
    depths[i] = distance;
}
