// Volumes: interpolated samples, and the cells that a surface crosses.

__device__ __forceinline__ bool cell(float at, int size, int& low, float& t) {
    float floor = floorf(at);
    low = (int)floor;
    t = at - floor;
    return low >= 0 && low + 1 < size;
}

__device__ __forceinline__ float mix(float a, float b, float t) { return a + (b - a) * t; }

extern "C" __global__ __launch_bounds__(256)
void volume_sample(const float* __restrict__ voxels, int width, int height, int depth,
                   const float3* __restrict__ points, float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 point = points[i];
    int x, y, z;
    float tx, ty, tz;
    float value = 0.0f;
    if (cell(point.x, width, x, tx) && cell(point.y, height, y, ty) &&
        cell(point.z, depth, z, tz)) {
        float planes[2];
#pragma unroll
        for (int dz = 0; dz < 2; dz++) {
            const float* near = voxels + ((z + dz) * height + y) * width + x;
            const float* far = near + width;
            planes[dz] = mix(mix(near[0], near[1], tx), mix(far[0], far[1], tx), ty);
        }
        value = mix(planes[0], planes[1], tz);
    }
    to[i] = value;
}

__device__ constexpr int CORNERS[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                          {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};

extern "C" __global__ __launch_bounds__(256)
void marching_cubes(const float* __restrict__ field, float level,
                    const unsigned char* __restrict__ counts, unsigned char* __restrict__ to,
                    int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height) return;
    int below = 0;
#pragma unroll
    for (int corner = 0; corner < 8; corner++) {
        int cx = x + CORNERS[corner][0], cy = y + CORNERS[corner][1], cz = z + CORNERS[corner][2];
        if (field[(cz * (height + 1) + cy) * (width + 1) + cx] < level) below |= 1 << corner;
    }
    to[(z * height + y) * width + x] = counts[below];
}
