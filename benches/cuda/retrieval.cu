// Retrieval: distances of compressed vectors, and the similarity of rows.

constexpr unsigned FULL = 0xffffffff;
constexpr int PARTS = 16;
constexpr int CENTROIDS = 256;

struct __align__(16) Code {
    unsigned char parts[PARTS];
};

extern "C" __global__ __launch_bounds__(256)
void pq_distance(const float* __restrict__ tables, const Code* __restrict__ codes,
                 float* __restrict__ distances, int n) {
    __shared__ float shared[PARTS * CENTROIDS];
    for (int i = threadIdx.x; i < PARTS * CENTROIDS; i += blockDim.x) shared[i] = tables[i];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        Code code = codes[i];
        float sum = 0.0f;
#pragma unroll
        for (int part = 0; part < PARTS; part++) sum += shared[part * CENTROIDS + code.parts[part]];
        distances[i] = sum;
    }
}

struct Products {
    float ab, aa, bb;
};

extern "C" __global__ __launch_bounds__(256)
void cosine_rows(const float* __restrict__ a, const float* __restrict__ b, int width,
                 float* __restrict__ to, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    a += row * width;
    b += row * width;
    Products products = {};
    for (int i = lane; i < width; i += 32) {
        products.ab += a[i] * b[i];
        products.aa += a[i] * a[i];
        products.bb += b[i] * b[i];
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        products.ab += __shfl_xor_sync(FULL, products.ab, distance);
        products.aa += __shfl_xor_sync(FULL, products.aa, distance);
        products.bb += __shfl_xor_sync(FULL, products.bb, distance);
    }
    if (lane == 0) to[row] = products.ab / fmaxf(sqrtf(products.aa * products.bb), 1e-8f);
}
