// Shapes: points in a polygon, and lines in an image.

__device__ __forceinline__ bool crosses(float2 point, float2 a, float2 b) {
    return (a.y > point.y) != (b.y > point.y) &&
           point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x;
}

extern "C" __global__ __launch_bounds__(256)
void point_in_polygon(const float2* __restrict__ points, const float2* __restrict__ polygon,
                      int corners, unsigned char* __restrict__ inside, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float2 point = points[i];
    int crossed = 0;
    for (int k = 1; k < corners; k++) {
        if (crosses(point, polygon[k - 1], polygon[k])) crossed++;
    }
    inside[i] = crossed % 2;
}

constexpr int DISTANCES = 1280;
constexpr float OFFSET = 1024.0f;

extern "C" __global__ __launch_bounds__(256)
void hough_lines(const ushort2* __restrict__ pixels, const float2* __restrict__ directions,
                 unsigned* __restrict__ to, int n) {
    __shared__ unsigned votes[DISTANCES];
    float2 direction = directions[blockIdx.x];
    for (int i = threadIdx.x; i < DISTANCES; i += blockDim.x) votes[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        ushort2 pixel = pixels[i];
        float distance = pixel.x * direction.x + pixel.y * direction.y;
        int line = (distance + OFFSET) * 0.5f;
        atomicAdd(&votes[line], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < DISTANCES; i += blockDim.x)
        to[blockIdx.x * DISTANCES + i] = votes[i];
}
