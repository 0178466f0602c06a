// The five kernels of BabelStream, with its block size.

constexpr double SCALAR = 0.4;
constexpr int BLOCK = 1024;

extern "C" __global__ __launch_bounds__(BLOCK)
void stream_copy(const double* __restrict__ a, double* __restrict__ c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i];
}

extern "C" __global__ __launch_bounds__(BLOCK)
void stream_mul(const double* __restrict__ c, double* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = SCALAR * c[i];
}

extern "C" __global__ __launch_bounds__(BLOCK)
void stream_add(const double* __restrict__ a, const double* __restrict__ b,
                double* __restrict__ c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ __launch_bounds__(BLOCK)
void stream_triad(const double* __restrict__ b, const double* __restrict__ c,
                  double* __restrict__ a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] + SCALAR * c[i];
}

extern "C" __global__ __launch_bounds__(BLOCK)
void stream_dot(const double* __restrict__ a, const double* __restrict__ b,
                double* __restrict__ sums, int n) {
    __shared__ double shared[BLOCK];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += a[i] * b[i];
    shared[threadIdx.x] = sum;
    for (int offset = BLOCK / 2; offset > 0; offset /= 2) {
        __syncthreads();
        if (threadIdx.x < offset) shared[threadIdx.x] += shared[threadIdx.x + offset];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = shared[0];
}
