// Kernels after those of other suites of benchmarks (Parboil, PolyBench, Rodinia): grids,
// statistics, samples of k-space, cells, and particles.

extern "C" __global__ __launch_bounds__(256)
void hotspot3d(const float* __restrict__ temp, const float* __restrict__ power, float cc, float cn,
               float ct, float ambient, float* __restrict__ to, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    int c = (z * ny + y) * nx + x;
    float w = temp[x == 0 ? c : c - 1], e = temp[x == nx - 1 ? c : c + 1];
    float n = temp[y == 0 ? c : c - nx], s = temp[y == ny - 1 ? c : c + nx];
    float b = temp[z == 0 ? c : c - nx * ny], t = temp[z == nz - 1 ? c : c + nx * ny];
    to[c] = cc * temp[c] + cn * (n + s + e + w) + ct * (t + b) + ct * ambient + power[c] * 0.1f;
}

extern "C" __global__ __launch_bounds__(256)
void srad(const float* __restrict__ image, float q0, float* __restrict__ to, int width,
          int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float j = image[y * width + x];
    int up = y == 0 ? 0 : y - 1, down = y == height - 1 ? height - 1 : y + 1;
    int left = x == 0 ? 0 : x - 1, right = x == width - 1 ? width - 1 : x + 1;
    float dn = image[up * width + x] - j, ds = image[down * width + x] - j;
    float dw = image[y * width + left] - j, de = image[y * width + right] - j;
    float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (j * j);
    float l = (dn + ds + dw + de) / j;
    float num = 0.5f * g2 - 1.0f / 16.0f * (l * l), den = 1.0f + 0.25f * l;
    float q = num / (den * den);
    den = (q - q0) / (q0 * (1.0f + q0));
    float c = 1.0f / (1.0f + den);
    to[y * width + x] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}

extern "C" __global__ __launch_bounds__(256)
void covariance(const float* __restrict__ data, const float* __restrict__ means, int rows,
                float* __restrict__ to, int m) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= m || y >= m) return;
    float sum = 0.0f;
    for (int i = 0; i < rows; i++) {
        sum += (data[i * m + x] - means[x]) * (data[i * m + y] - means[y]);
    }
    to[y * m + x] = sum / (rows - 1.0f);
}

struct Sample {
    float kx, ky, kz, phi;
};

extern "C" __global__ __launch_bounds__(256)
void mriq(const float* __restrict__ xs, const float* __restrict__ ys, const float* __restrict__ zs,
          const Sample* __restrict__ samples, int count, float* __restrict__ real,
          float* __restrict__ imag, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = xs[i], y = ys[i], z = zs[i], re = 0.0f, im = 0.0f;
    for (int k = 0; k < count; k++) {
        Sample s = samples[k];
        float arg = 2.0f * 3.14159265358979f * (s.kx * x + s.ky * y + s.kz * z);
        re += s.phi * cosf(arg);
        im += s.phi * sinf(arg);
    }
    real[i] = re;
    imag[i] = im;
}

constexpr int ANGLES = 32;

extern "C" __global__ __launch_bounds__(256)
void tpacf(const float (*__restrict__ points)[3], int n, const float (*__restrict__ others)[3],
           int m, const float* __restrict__ bounds, unsigned* __restrict__ to) {
    __shared__ unsigned counts[ANGLES];
    if (threadIdx.x < ANGLES) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float px = points[i][0], py = points[i][1], pz = points[i][2];
        for (int j = 0; j < m; j++) {
            float dot = px * others[j][0] + py * others[j][1] + pz * others[j][2];
            int low = 0, high = ANGLES - 1;
            while (low < high) {
                int middle = (low + high) / 2;
                if (dot >= bounds[middle]) high = middle;
                else low = middle + 1;
            }
            atomicAdd(&counts[low], 1);
        }
    }
    __syncthreads();
    if (threadIdx.x < ANGLES) atomicAdd(&to[threadIdx.x], counts[threadIdx.x]);
}

extern "C" __global__ __launch_bounds__(128)
void cfd(const int* __restrict__ neighbors, const float* __restrict__ normals,
         const float* __restrict__ vars, int cells, float2* __restrict__ to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells) return;
    float rho = vars[i], mx = vars[cells + i], my = vars[2 * cells + i], e = vars[3 * cells + i];
    float p = 0.4f * (e - 0.5f * (mx * mx + my * my) / rho), f0 = 0.0f, f1 = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float nx = normals[2 * k * cells + i], ny = normals[(2 * k + 1) * cells + i];
        int j = neighbors[k * cells + i];
        if (j >= 0) {
            float rho_j = vars[j], mx_j = vars[cells + j];
            float my_j = vars[2 * cells + j], e_j = vars[3 * cells + j];
            float p_j = 0.4f * (e_j - 0.5f * (mx_j * mx_j + my_j * my_j) / rho_j);
            f0 += nx * (mx + mx_j) + ny * (my + my_j) - 0.2f * (rho - rho_j);
            f1 += (nx + ny) * (p + p_j);
        } else if (j == -1) {
            f1 += nx * p;
        } else {
            f0 += nx * mx + ny * my;
        }
    }
    to[i] = make_float2(f0, f1);
}

extern "C" __global__ __launch_bounds__(128)
void resample(const float* __restrict__ cdf, int count, const float* __restrict__ u,
              const float* __restrict__ xs, const float* __restrict__ ys, float2* __restrict__ to,
              int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = u[i];
    int index = count - 1;
    for (int k = 0; k < count; k++) {
        if (cdf[k] >= v) {
            index = k;
            break;
        }
    }
    to[i] = make_float2(xs[index], ys[index]);
}

extern "C" __global__ __launch_bounds__(256)
void cluster(const float* __restrict__ coords, const float* __restrict__ weights,
             const float* __restrict__ center, int dims, const float* __restrict__ costs,
             float* __restrict__ to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float distance = 0.0f;
    for (int d = 0; d < dims; d++) {
        float x = coords[d * n + i] - center[d];
        distance += x * x;
    }
    to[i] = fminf(distance * weights[i] - costs[i], 0.0f);
}
